#pragma once
/// \file at_once_answer-inl.hpp
/// Bodies of at_once_answer.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/network/at_once_answer.hpp>

namespace fabricost::core {

FABRICOST_BODY const ContendedLink* held_by(const ConcurrentGroups& all, const GroupedOutcome& one) {
  const int at = all.contention.outcomes[static_cast<std::size_t>(one.worst)].bottleneck;
  return at < 0 ? nullptr : &all.contention.links[static_cast<std::size_t>(at)];
}

FABRICOST_BODY std::vector<int> groups_on(const ConcurrentGroups& all, const ContendedLink& link) {
  std::vector<int> out(all.outcomes.size(), 0);
  for (const int f : link.sharers) ++out[static_cast<std::size_t>(all.of[static_cast<std::size_t>(f)])];
  return out;
}

FABRICOST_BODY SharpTurns sharp_turns_of(const System& system, int nodes, const ConcurrentGroups& all, const RouteOptions& routes) {
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
