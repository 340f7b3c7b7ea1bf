#pragma once
/// The schedule of any algorithm by name, and of one sender with one receiver.

#include <fabricost/algorithms/registry.hpp>

namespace fabricost::core {

/// S over one level: 1 step, S.
[[nodiscard]] inline Schedule send_recv_schedule(const Levels& levels, int level) {
  Schedule out{Algorithm::direct, Collective::send_recv, levels};
  out.add({.level = level, .steps = 1, .bytes = 1, .message = 1});
  return out;
}

/// Schedule of algorithm A; empty for one rank. (A function of its own, to build the schedule in place.)
template <class A>
[[nodiscard]] Schedule schedule_by(Collective op, const Connectivity& at) {
  Schedule out{Algorithm{place_of<A>}, op, at.levels};
  if (at.ranks() > 1) A::add_phases(out, at);
  return out;
}

/// Schedule of an algorithm for a collective among ranks joined like these; empty for one rank.
[[nodiscard]] Schedule schedule_of(Algorithm algorithm, Collective op, const Connectivity& at);

}  // namespace fabricost::core

namespace fabricost {
using core::schedule_by;
using core::schedule_of;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/algorithms/schedule_of-inl.hpp>
#endif
