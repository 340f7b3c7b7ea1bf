#pragma once
/// Pairs that a tuner plugin chooses before NCCL's tuner does (data/plugins): polygons over message size and number of ranks, straight in
/// the logarithms of both. The first that contains a call and whose pair can run there decides; outside all of them NCCL does. A border
/// belongs to its polygon. A point is inside if a ray from it crosses an odd number of sides, as in the plugin.

#include <fabricost/choice/candidates.hpp>
#include <fabricost/elementary.hpp>
#include <fabricost/fixed_list.hpp>
#include <fabricost/hardware/transport.hpp>
#include <fabricost/hardware/tuner.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>
#include <span>

namespace fabricost::core {

/// A corner of a polygon: message size, and ranks of the communicator.
struct PluginCorner {
  double bytes = 0, ranks = 0;
};
/// One polygon: a range of plugin_corners.
struct PluginRegion {
  Candidate candidate;
  std::size_t first = 0, corners = 0;
};
/// The polygons for one collective and number of ranks on a node: a range of plugin_regions.
struct PluginCalls {
  TunerPlugin plugin;
  Collective collective;
  int ranks_per_node = 8;
  int fewest_nodes = 1;
  int library_from[2];  ///< the first release that asks the plugin: major, minor
  std::size_t first = 0, regions = 0;
};

}  // namespace fabricost::core

#include <fabricost/choice/shipped_plugins.inc>

namespace fabricost::core {

namespace detail {

/// The binary logarithm at compile time, exact for powers of two. \param x at least 1
[[nodiscard]] constexpr double constant_log2(double x) {
  double whole = 0;
  for (; x >= 2; x /= 2) whole += 1;
  const double s = (x - 1) / (x + 1);
  double term = s, sum = 0;
  for (int k = 1; k < 60; k += 2, term *= s * s) sum += term / k;
  return whole + 2 * std::numbers::log2e * sum;
}
inline constexpr auto plugin_logs = [] {
  auto out = plugin_corners;
  for (PluginCorner& corner : out) corner = {corner.bytes > 1 ? constant_log2(corner.bytes) : 0, constant_log2(corner.ranks)};
  return out;
}();

/// visit(x, above, below) where the line of `y` crosses a side: whether the line just above y does, and the one just below. All logarithms.
template <class Visit>
void each_crossing(const PluginRegion& region, double y, Visit&& visit) {
  const std::span corners(plugin_logs.data() + region.first, region.corners);
  const PluginCorner* from = &corners.back();
  for (const PluginCorner& to : corners) {
    const bool above = (from->ranks <= y) != (to.ranks <= y), below = (from->ranks < y) != (to.ranks < y);
    if (above || below) visit(from->bytes + (to.bytes - from->bytes) * ((y - from->ranks) / (to.ranks - from->ranks)), above, below);
    from = &to;
  }
}
[[nodiscard]] bool holds(const PluginRegion& region, double x, double y);

}  // namespace detail

/// Polygons of a plugin that decide a collective's calls on a fabric; none without a plugin.
class PluginRegions {
 public:
  /// \param allows whether the question allows a pair
  template <class Allows>
  PluginRegions(Collective op, const Fabric& f, bool byte_wide, Allows&& allows) {
    if (f.plugin == TunerPlugin::none || f.domains() <= 1 || f.library != Library::nccl) return;
    for (const PluginCalls& calls : plugin_calls) {
      if (calls.plugin != f.plugin || calls.collective != op || f.nodes < calls.fewest_nodes) continue;
      if (f.ranks() != static_cast<double>(calls.ranks_per_node) * f.nodes) continue;
      if (f.tuner < tuner_of_version(calls.library_from[0], calls.library_from[1])) continue;
      ranks_ = fast_log2(f.ranks());
      for (const PluginRegion& region : std::span(plugin_regions).subspan(calls.first, calls.regions))
        if (allows(region.candidate) && why_not(region.candidate, op, f, byte_wide) == nullptr) regions_.add(&region);
    }
  }
  [[nodiscard]] bool any() const { return !regions_.empty(); }
  /// The pair that the plugin chooses; empty where it leaves the choice to NCCL.
  [[nodiscard]] std::optional<Candidate> pick(double bytes) const;
  /// visit(bytes) for every size at which a polygon begins or ends.
  template <class Visit>
  void each_border(Visit&& visit) const {
    for (const PluginRegion* region : regions_)
      detail::each_crossing(*region, ranks_, [&](double x, bool, bool) { visit(std::exp2(x)); });
  }

 private:
  FixedList<const PluginRegion*, 8> regions_;
  double ranks_ = 0;
};

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/choice/plugin-inl.hpp>
#endif
