#pragma once
/// \file cells.hpp
/// The cells of one row of a table by the names of their columns, with a fault for each that cannot be meant.

#include "text/ascii.hpp"
#include "text/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace fabricost::io {

[[nodiscard]] inline std::string folded(std::string text) { return lowered(std::move(text)); }

/// One row's cells by the names of their columns.
class Cells {
 public:
  explicit Cells(CsvTable& table) : table_(table) {}

  [[nodiscard]] const std::string& text(std::string_view column) const { return table_.cell(at(column)); }
  /// A number that is not negative; `otherwise` for an empty cell, a fault for anything else.
  double number(std::string_view column, double otherwise = 0) {
    const std::string& cell = text(column);
    if (cell.empty()) return otherwise;
    const auto value = parse_number(cell);
    if (value && *value >= 0) return *value;
    table_.fault(at(column), fmt::format("{} \"{}\" is not a number of at least 0", column, cell.substr(0, 40)),
                 "write a number, or leave it empty");
    return otherwise;
  }
  /// A whole number that is not negative; `otherwise` for an empty cell, a fault for anything else.
  int count(std::string_view column, int otherwise = 0) {
    const std::string& cell = text(column);
    if (cell.empty()) return otherwise;
    const auto value = parse_number(cell);
    if (value && *value >= 0 && *value <= 1e9 && *value == std::floor(*value)) return static_cast<int>(*value);
    fault(column, "is not a whole number of at least 0", "write a whole number, or leave it empty");
    return otherwise;
  }
  /// A figure; nothing when the cell is a range or a word, a fault when it is negative.
  std::optional<double> figure(std::string_view column) {
    const auto value = parse_number(text(column));
    if (value && *value < 0) fault(column, "is negative", "write a number of at least 0");
    return value;
  }
  /// Which of some words a cell is; 0 for an empty one, a fault for another.
  int one_of(std::string_view column, std::initializer_list<std::string_view> words) {
    const std::string& cell = text(column);
    if (cell.empty()) return 0;
    const auto found = std::find(words.begin(), words.end(), folded(cell));
    if (found != words.end()) return static_cast<int>(found - words.begin());
    fault(column, "is not known", fmt::format("write one of {}, or leave it empty", fmt::join(words, ", ")));
    return 0;
  }
  void fault(std::string_view column, std::string_view what, std::string remedy) {
    table_.fault(at(column), fmt::format("{} \"{}\" {}", column, text(column).substr(0, 40), what), std::move(remedy));
  }

 private:
  [[nodiscard]] int at(std::string_view column) const { return table_.column(column); }
  CsvTable& table_;
};

}  // namespace fabricost::io
