#pragma once
/// Errors of predictions as text, for points and for tables of published results.

#include "cli/page.hpp"
#include "text/text_table.hpp"

#include <fabricost/validation/validate.hpp>

#include <string>
#include <vector>

namespace fabricost::cli {

inline constexpr const char* validate_footer = "Example: fabricost validate all_reduce.log --system dgx-h100";

/// Errors of all rows and of groups of them, with common columns.
class ErrorTable {
 public:
  explicit ErrorTable(const ErrorSummary& all) { row("all", all); }
  /// A grouping under its heading; none that has one member.
  void groups(const char* heading, const std::vector<ErrorGroup>& groups) {
    if (groups.size() < 2) return;
    rows_.row({heading});
    for (const ErrorGroup& group : groups) row("  " + group.name, group.errors);
  }
  [[nodiscard]] const TextTable& rows() const { return rows_; }

 private:
  void row(const std::string& label, const ErrorSummary& e) {
    rows_.row(label, e.points, fmt::format("{:.2f}", e.median_ape), fmt::format("{:.2f}", e.mape), fmt::format("{:.3f}", e.p90_abs_log2),
              percent(e.within_10pct, 0), percent(e.within_25pct, 0), percent(e.interval_coverage, 0));
  }

  TextTable rows_{"", ">points", ">median %", ">mean %", ">p90 |log2|", ">within 10 %", ">within 25 %", ">in interval"};
};

/// \param counts whether a row does
template <class Rows, class Counts>
void add_histogram(Page& page, const Rows& rows, const Counts& counts) {
  std::vector<double> errors;
  for (const auto& row : rows)
    if (counts(row)) errors.push_back(row.error());
  page.section("Errors: predicted / measured - 1");
  page.add(error_histogram(errors));
}

/// Rows that were left out, by reason; nothing where there are none.
inline void add_reasons(Page& page, const char* title, const std::vector<Skipped>& reasons) {
  if (reasons.empty()) return;
  page.section(title);
  page.table({">rows", "reason"}, reasons, [](const Skipped& s) { return cells(s.rows, s.reason); });
}

void text_of(Page& page, const ValidationReport& report);
/// One line a point: the columns of a point CSV, then the prediction.
[[nodiscard]] std::string csv_of(const ValidationReport& report);

}  // namespace fabricost::cli
