#pragma once
/// Rows of error figures in Markdown.

#include <fabricost/validation/validate.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace accuracy {

inline std::string heading(std::string_view first) {
  return fmt::format("| {} | points | median % | mean % | within 10 % | in the interval |\n|---|---|---|---|---|---|\n", first);
}
inline std::string row(std::string_view name, const fabricost::core::ErrorSummary& e) {
  return fmt::format("| {} | {} | {:.1f} | {:.1f} | {:.0f} % | {:.0f} % |\n", name, e.points, e.median_ape, e.mape, 100 * e.within_10pct,
                     100 * e.interval_coverage);
}
/// The same with the mean interval score.
inline std::string scored_heading(std::string_view first) {
  return fmt::format("| {} | points | median % | mean % | in the interval | interval score |\n|---|---|---|---|---|---|\n", first);
}
inline std::string scored_row(std::string_view name, const fabricost::core::ErrorSummary& e) {
  return fmt::format("| {} | {} | {:.1f} | {:.1f} | {:.0f} % | {:.2f} |\n", name, e.points, e.median_ape, e.mape, 100 * e.interval_coverage,
                     e.interval_score);
}
/// "12.3 / 45.6"
inline std::string pair(const fabricost::core::ErrorSummary& e) { return fmt::format("{:.1f} / {:.1f}", e.median_ape, e.mape); }

}  // namespace accuracy
