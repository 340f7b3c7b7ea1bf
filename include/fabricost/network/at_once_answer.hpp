#pragma once
/// \file at_once_answer.hpp
/// Derived answers about collectives that run at once: which link limits one, how many groups of each cross
/// it, and the turns of in-network reductions, since a fabric has a limited number of trees (balance.hpp).

#include <fabricost/network/at_once.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace fabricost::core {

/// The link that limits the most slowed-down group of a collective; null if it moves nothing.
[[nodiscard]] inline const ContendedLink* held_by(const ConcurrentGroups& all, const GroupedOutcome& one) {
  const int at = all.contention.outcomes[static_cast<std::size_t>(one.worst)].bottleneck;
  return at < 0 ? nullptr : &all.contention.links[static_cast<std::size_t>(at)];
}

/// Groups of each collective that cross a link, in the order of the collectives.
[[nodiscard]] inline std::vector<int> groups_on(const ConcurrentGroups& all, const ContendedLink& link) {
  std::vector<int> out(all.outcomes.size(), 0);
  for (const int f : link.sharers) ++out[static_cast<std::size_t>(all.of[static_cast<std::size_t>(f)])];
  return out;
}

struct SharpTurns {
  std::string switches;  ///< whose limits apply; empty: nothing is reduced in the network, or no limits are known
  int jobs = 0;          ///< groups that reduce in the network
  int turns = 1;
};
/// \throws RequestError as topology_of and TrafficCounter::count
[[nodiscard]] inline SharpTurns sharp_turns_of(const System& system, int nodes, const ConcurrentGroups& all, const RouteOptions& routes) {
  SharpTurns out;
  std::map<int, int> jobs_of_nic;
  const Topology t = topology_of(system, nodes);
  TrafficCounter counter{t, routes};
  int per_port = 0;
  for (const ConcurrentCollective& one : all.flat) {
    if (one.algorithm != Algorithm::collnet_chain && one.algorithm != Algorithm::collnet_direct) continue;
    ++out.jobs;
    for (const LinkLoad& l : counter.count(one.collective, one.algorithm, one.ranks).loads)
      if (t.block_of(l.link).kind == LinkKind::nic_out) per_port = std::max(per_port, ++jobs_of_nic[l.link]);
  }
  if (out.jobs == 0) return out;
  for (const Tier& tier : system.tiers)
    for (const SharpLimits& limits : sharp_limits)
      if (tier.role == TierRole::network && tier.switch_name == limits.switches) out.switches = limits.switches;
  if (!out.switches.empty()) out.turns = sharp_turns(out.switches, out.jobs, per_port);
  return out;
}

}  // namespace fabricost::core
