#pragma once
/// \file schedule_of.hpp
/// The schedule of any algorithm by name.

#include <fabricost/algorithms/point_to_point.hpp>
#include <fabricost/algorithms/registry.hpp>

namespace fabricost::core {

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
