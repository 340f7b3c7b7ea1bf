#pragma once
/// \file pat.hpp
/// Parallel aggregated trees, NCCL's all_gather and reduce_scatter for one rank per node: log2 n steps, (n-1)/n S.

#include <fabricost/schedule/schedule.hpp>

namespace fabricost {

[[nodiscard]] inline Schedule pat_schedule(Collective collective, const Levels& levels) {
  Schedule out{Algorithm::pat, collective, levels};
  const double n = levels.ranks();
  if (n <= 1) return out;
  const double steps = detail::log2_ceil(n);
  out.add({.level = levels.count - 1,
           .steps = steps,
           .bytes = (n - 1) / n,
           .message = 1 / n,
           .forwards = collective == Collective::all_gather ? steps : 0,
           .reduces = reduces(collective) ? steps : 0});
  return out;
}

}  // namespace fabricost
