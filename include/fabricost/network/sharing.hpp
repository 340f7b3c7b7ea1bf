#pragma once
/// \file sharing.hpp
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
#include <fabricost/network/routes.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::core {

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

namespace detail {

/// Fills links in the order in which they become full.
class Filling {
 public:
  Filling(std::span<const double> capacities, std::span<const Flow> flows) : capacities_(capacities), flows_(flows) {
    const std::size_t links = capacities.size();
    out_ = {.rates = std::vector<double>(flows.size(), 0),
            .bottlenecks = std::vector<int>(flows.size(), -1),
            .loads = std::vector<double>(links, 0)};
    rising_.assign(links, 0);
    first_.assign(links + 1, 0);
    for (const Flow& flow : flows)
      for (const LinkUse& use : flow.uses) {
        rising_[index(use)] += use.share * flow.weight;
        ++first_[index(use) + 1];
      }
    unfrozen_.assign(first_.begin() + 1, first_.end());
    for (std::size_t l = 0; l < links; ++l) first_[l + 1] += first_[l];
    users_.resize(static_cast<std::size_t>(first_[links]));
    std::vector<int> at(first_.begin(), first_.end() - 1);
    for (std::size_t f = 0; f < flows.size(); ++f)
      for (const LinkUse& use : flows[f].uses) users_[static_cast<std::size_t>(at[index(use)]++)] = static_cast<int>(f);
    frozen_.assign(flows.size(), false);
  }

  [[nodiscard]] Sharing run();

 private:
  static std::size_t index(const LinkUse& use) { return static_cast<std::size_t>(use.link); }
  [[nodiscard]] double level(std::size_t l) const { return std::max(0.0, capacities_[l] - out_.loads[l]) / rising_[l]; }

  void freeze(std::size_t f, double t, int bottleneck);
  /// A use with share zero does not count.
  [[nodiscard]] bool crosses(std::size_t f, int link) const;

  std::span<const double> capacities_;
  std::span<const Flow> flows_;
  Sharing out_;
  std::vector<double> rising_;      // sum of share x weight of the flows still rising
  std::vector<int> unfrozen_;       // uses by flows still rising
  std::vector<int> first_, users_;  // flows of a link, from first_[l] to first_[l + 1]
  std::vector<bool> frozen_;
};

}  // namespace detail

/// The max-min fair rates of `flows` over links of `capacities` (bytes per second). O(uses x log links), exact to rounding.
/// \throws RequestError for a capacity or weight that is not above zero, a link that does not exist, or a flow that nothing bounds
[[nodiscard]] Sharing share_max_min(std::span<const double> capacities, std::span<const Flow> flows);

}  // namespace fabricost::core

namespace fabricost {
using core::Flow;
using core::share_max_min;
using core::Sharing;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/network/sharing-inl.hpp>
#endif
