#pragma once
/// Lists of values as text: "8,16,32", "FIRST:LAST:xFACTOR" (each is FACTOR times the previous one), "FIRST:LAST:+STEP".

#include <fabricost/namespaces.hpp>

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// The parts of a list, which may be empty.
[[nodiscard]] inline std::vector<std::string_view> listed(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t from = 0;;) {
    const std::size_t end = text.find(',', from);
    out.push_back(text.substr(from, end - from));
    if (end == std::string_view::npos) return out;
    from = end + 1;
  }
}

/// One part of a list, cut at its colons.
struct RangeText {
  std::string_view first{}, last{}, step{};  ///< `last` and `step` are empty for a single value
  char by = 0;                               ///< x or +; 0 for a single value, ? where the step begins with neither
  [[nodiscard]] bool times() const { return by == 'x'; }
};
/// None where there are not two colons, or nothing between them.
[[nodiscard]] inline std::optional<RangeText> range_text(std::string_view part) {
  const std::size_t colon = part.find(':');
  if (colon == std::string_view::npos) return RangeText{.first = part};
  const std::size_t second = part.find(':', colon + 1);
  if (second == std::string_view::npos || colon == 0 || second == colon + 1 || part.find(':', second + 1) != std::string_view::npos)
    return std::nullopt;
  RangeText out{part.substr(0, colon), part.substr(colon + 1, second - colon - 1), part.substr(second + 1), '?'};
  while (out.step.starts_with(' ')) out.step.remove_prefix(1);
  if (out.step.empty()) return out;
  const char by = out.step.front() == '*' ? 'x' : out.step.front();
  if (by == 'x' || by == '+') {
    out.by = by;
    out.step.remove_prefix(1);
  }
  return out;
}

/// visit(value) from first to last; the step is above 0, a factor above 1.
template <class Visit>
void for_each_in_range(double first, double last, bool times, double step, Visit&& visit) {
  constexpr double rounding = 1e-12;
  double at = first;
  for (long long i = 1; at <= last * (1 + rounding); ++i) {
    visit(at);
    at = times ? at * step : first + static_cast<double>(i) * step;
  }
}

}  // namespace fabricost::core
