#pragma once
/// Days of a plan, as people write them: 2027-03-31, or 2027-03 and 2027-Q1 for their last day.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace fabricost::plan {

inline constexpr double day_seconds = 86400;

using Day = std::chrono::sys_days;

/// The day that a text names; nothing for other texts, and for years outside 2000 to 2199.
[[nodiscard]] std::optional<Day> parse_day(std::string_view text);

/// "2027-03-31"
[[nodiscard]] std::string day_text(Day when);

/// The day so many seconds after the morning of another, begun days counted whole.
[[nodiscard]] Day after(Day start, double seconds);

}  // namespace fabricost::plan
