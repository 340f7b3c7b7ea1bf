#pragma once
/// \file direct_reduce.hpp
/// The all-reduce kernels of inference engines: every rank reads its peers' memory.
///
///   one_shot   each rank sends all of S to every other and adds up by itself: 1 step, (n-1) S
///   two_shot   each rank reduces its n-th, then everybody reads everybody's n-th: 2 steps, 2 (n-1)/n S

#include <fabricost/schedule/schedule.hpp>

namespace fabricost {

namespace detail {
inline Schedule direct_reduce(Algorithm algorithm, const Levels& levels, double steps, double share) {
  Schedule out{algorithm, Collective::all_reduce, levels};
  const double n = levels.ranks();
  for (int level = 0; level < levels.count; ++level) {
    const double below = levels.below(level);
    const double leaving = level == 0 ? levels.size(0) - 1 : below * (n - below);  // messages that leave one endpoint
    if (levels.size(level) > 1) out.add({.level = level, .steps = steps, .bytes = leaving * share, .message = share, .reduces = 1});
  }
  return out;
}
}  // namespace detail

[[nodiscard]] inline Schedule one_shot_schedule(const Levels& levels) { return detail::direct_reduce(Algorithm::one_shot, levels, 1, 1); }
[[nodiscard]] inline Schedule two_shot_schedule(const Levels& levels) {
  return detail::direct_reduce(Algorithm::two_shot, levels, 2, 2 / levels.ranks());
}

}  // namespace fabricost
