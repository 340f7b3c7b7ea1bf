#pragma once
/// Bodies of plugin.hpp.

#include <fabricost/choice/plugin.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core::detail {

FABRICOST_BODY bool holds(const PluginRegion& region, double x, double y) {
  constexpr double on_border = 1e-13;
  bool border = false, above = false, below = false;
  each_crossing(region, y, [&](double at, bool crosses_above, bool crosses_below) {
    border |= std::fabs(at - x) < on_border;
    above ^= crosses_above && at < x;
    below ^= crosses_below && at < x;
  });
  return border || above || below;
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY std::optional<Candidate> PluginRegions::pick(double bytes) const {
  const double x = bytes > 1 ? fast_log2(bytes) : 0;
  for (const PluginRegion* region : regions_)
    if (detail::holds(*region, x, ranks_)) return region->candidate;
  return std::nullopt;
}

}  // namespace fabricost::core
