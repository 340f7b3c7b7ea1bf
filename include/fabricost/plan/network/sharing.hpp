#pragma once
/// Rates of flows that compete for the same links: max-min fairness by progressive filling.
///
/// All rates rise together (each in proportion to its weight) until a link is full; the flows that cross it
/// stop, the others go on (Bertsekas & Gallager, Data Networks, 1992, section 6.5.2). In the result no flow
/// can gain unless one that is no better off loses. A flow may load a link with a share or a multiple of its
/// rate: split routes, algorithms that pass a link twice.
///
///   rate_f = weight_f x min over its links of t_l,   t_l = (capacity_l - rates of the stopped) / sum over the others of share x weight
///
/// Switches that serve their inputs round-robin and fair congestion control divide a link that is kept full
/// in this way; bursts, start-up and lost packets are not modelled.

#include <fabricost/error.hpp>
#include <fabricost/plan/network/routes.hpp>

#include <limits>
#include <span>
#include <vector>

namespace fabricost::plan {

/// One flow: the links it crosses and how much of its rate each carries.
struct Flow {
  std::span<const LinkUse> uses;
  double weight = 1;                                       ///< relative to the others, above 0
  double limit = std::numeric_limits<double>::infinity();  ///< bytes per second it could use at most
};

struct Sharing {
  std::vector<double> rates;     ///< bytes per second of each flow
  std::vector<int> bottlenecks;  ///< the link that limits each; -1: its own limit
  std::vector<double> loads;     ///< bytes per second on each link

  /// Flows that cross a link, by index. Linear in the flows' links.
  [[nodiscard]] static std::vector<int> sharers(std::span<const Flow> flows, int link);
};

/// The max-min fair rates of `flows` over links of `capacities` (bytes per second). O(uses x log links), exact to rounding.
/// \throws RequestError for a capacity or weight that is not above zero, a link that does not exist, or a flow that nothing bounds
[[nodiscard]] Sharing share_max_min(std::span<const double> capacities, std::span<const Flow> flows);

}  // namespace fabricost::plan

namespace fabricost {
using plan::Flow;
using plan::share_max_min;
using plan::Sharing;
}  // namespace fabricost
