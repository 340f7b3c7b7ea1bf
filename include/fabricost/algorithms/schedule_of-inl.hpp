#pragma once
/// Bodies of schedule_of.hpp.

#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core {

FABRICOST_BODY Schedule schedule_of(Algorithm algorithm, Collective op, const Connectivity& at) {
  if (op == Collective::send_recv) return send_recv_schedule(at.levels, at.domains() > 1 ? 1 : 0);
  return with_algorithm(algorithm, [&](auto a) { return schedule_by<decltype(a)>(op, at); });
}

}  // namespace fabricost::core
