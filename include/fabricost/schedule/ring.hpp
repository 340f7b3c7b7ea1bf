#pragma once
/// \file ring.hpp
/// Ranks in a circle, each passing a part to the next: n-1 steps gather or reduce-scatter, twice that all-reduces.
///
///   all_reduce       k = 2(n-1), bytes = 2(n-1)/n S per rank and direction (Patarasuk & Yuan 2009)
///   all_gather, rs   k = n-1,    bytes = (n-1)/n S
///   broadcast, reduce  k = n-1,  bytes = S, passed on chunk by chunk
///
/// On several levels the same circle crosses a level once per group: of k steps, sweeps (G_i - G_i+1) cross level i, where
/// G_i counts the groups there; what passes a group's border is what passes any rank.

#include <fabricost/schedule/schedule.hpp>

namespace fabricost {

/// \throws nothing; one rank moves nothing.
[[nodiscard]] inline Schedule ring_schedule(Collective collective, const Levels& levels) {
  Schedule out{.algorithm = Algorithm::ring, .collective = collective, .levels = levels};
  const double n = levels.ranks();
  if (n <= 1) return out;
  const bool whole = collective == Collective::broadcast || collective == Collective::reduce;
  const double sweeps = collective == Collective::all_reduce ? 2 : 1;
  const double bytes = whole ? 1 : sweeps * (n - 1) / n;
  double groups = n;
  for (int level = 0; level < levels.count; ++level) {
    const double above = groups / levels.size(level);
    const bool top = level + 1 == levels.count;
    const double steps = sweeps * (groups - (top ? 1 : above));
    if (levels.size(level) > 1) {
      const double forwards = collective == Collective::reduce_scatter || collective == Collective::reduce ? 0 : steps / sweeps;
      const double reducing = reduces(collective) ? steps / sweeps : 0;
      out.add({.level = level, .steps = steps, .bytes = bytes, .message = 1 / n, .forwards = forwards, .reduces = reducing});
    }
    groups = above;
  }
  return out;
}

}  // namespace fabricost
