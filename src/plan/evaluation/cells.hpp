#pragma once
/// Reads rows of published results: cells by column name, with a fault for each malformed cell.

#include "text/ascii.hpp"
#include "text/csv.hpp"
#include "text/joined.hpp"

#include <fabricost/plan/evaluation/workload.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

[[nodiscard]] inline std::string folded(std::string text) { return lowered(std::move(text)); }

/// \throws SpecError naming the missing columns \param what description of the table: "a pipeline CSV"
inline void require_columns(CsvTable& table, std::span<const std::string_view> names, std::string_view what) {
  std::vector<std::string_view> missing;
  for (const std::string_view name : names)
    if (table.column(name) < 0) missing.push_back(name);
  if (missing.empty()) return;
  const bool several = missing.size() > 1;
  table.fault(-1, fmt::format("the column{} {} {} missing", several ? "s" : "", joined(missing), several ? "are" : "is"),
              fmt::format("{} has at least {}", what, joined(names, ",")));
  table.finish();
}

/// The cells of one row by column name.
class Cells {
 public:
  explicit Cells(CsvTable& table) : table_(table) {}

  [[nodiscard]] const std::string& text(std::string_view column) const { return table_.cell(at(column)); }
  /// A number from 0 to `max`; 0 for an empty cell, a fault for anything else.
  double number(std::string_view column, double max = std::numeric_limits<double>::infinity()) {
    const std::string& cell = text(column);
    const auto value = parse_number(cell);
    if (value && *value >= 0 && *value <= max) return *value;
    if (!cell.empty())
      fault(column, std::isfinite(max) ? fmt::format("not a number from 0 to {:g}", max) : "not a number of at least 0",
            "write a number with a point, or leave the cell empty");
    return 0;
  }
  /// A whole number from 0 to `max`; `otherwise` for an empty cell, a fault for anything else.
  int count(std::string_view column, int otherwise = 0, double max = 1e9) {
    const std::string& cell = text(column);
    const auto value = parse_number(cell);
    if (value && *value >= 0 && *value <= max && *value == std::floor(*value)) return static_cast<int>(*value);
    if (!cell.empty())
      fault(column, fmt::format("not a whole number from 0 to {:g}", max), "write a whole number, or leave the cell empty");
    return otherwise;
  }
  /// A figure; empty if the cell is a range or a word, a fault if it is negative.
  std::optional<double> figure(std::string_view column) {
    const auto value = parse_number(text(column));
    if (value && *value < 0) fault(column, "which is negative", "write a number of at least 0");
    return value;
  }
  void fault(std::string_view column, std::string_view what, std::string remedy) {
    table_.fault(at(column), fmt::format("{} is \"{}\", {}", column, text(column).substr(0, 40), what), std::move(remedy));
  }

  /// Such a fault, for a caller that refuses what others skip.
  [[nodiscard]] Issue issue(std::string_view column, std::string_view what, std::string remedy) const {
    return table_.issue(at(column), fmt::format("{} is \"{}\", {}", column, text(column).substr(0, 40), what), std::move(remedy));
  }

  /// The fields that every published row has. \param metric the column that names its figure
  [[nodiscard]] WorkloadRow row(std::string_view metric) const {
    WorkloadRow out;
    out.id = text("id");
    out.group = text("group");
    out.model = text("model");
    out.metric = text(metric);
    out.fully_specified = text("fully_specified") == "yes";
    out.line = table_.line();
    return out;
  }

 private:
  [[nodiscard]] int at(std::string_view column) const { return table_.column(column); }
  CsvTable& table_;
};

}  // namespace fabricost::plan
