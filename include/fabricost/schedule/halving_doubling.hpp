#pragma once
/// \file halving_doubling.hpp
/// Partners at distances that double or halve: log2 n steps instead of n-1 for the same volume (Thakur, Rabenseifner,
/// Gropp 2005).
///
///   reduce_scatter by halving, all_gather by doubling   log2 n steps, (n-1)/n S
///   all_reduce = both                                   2 log2 n steps, 2(n-1)/n S
///
/// Order matters on several levels. `halving_doubling` meets far partners first with the largest messages: a domain of g
/// ranks sends g (N-1)/N S out per half. `rabenseifner` meets near partners first: (N-1)/N S. When n is no power of two the
/// ranks too many fold their buffer into a neighbour and get the result back: two more steps, S more per half.

#include <fabricost/schedule/schedule.hpp>

namespace fabricost {

/// `near_first`: rabenseifner; otherwise halving_doubling.
[[nodiscard]] inline Schedule halving_doubling_schedule(Collective collective, const Levels& levels, bool near_first) {
  Schedule out{.algorithm = near_first ? Algorithm::rabenseifner : Algorithm::halving_doubling, .collective = collective, .levels = levels};
  const double n = levels.ranks();
  if (n <= 1) return out;
  const double halves = collective == Collective::all_reduce ? 2 : 1;
  const double reducing = reduces(collective) ? 1 : 0;
  double outer = n;  // ranks in groups of this level and above
  for (int level = 0; level < levels.count; ++level) {
    const double size = levels.size(level);
    if (size <= 1) continue;
    outer /= size;
    const double steps = std::floor(std::log2(size) + 1e-12);
    const double partners = std::exp2(steps);
    // near first: S is already divided by all ranks below; far first: by all ranks above
    const double share = near_first ? 1 : levels.below(level) / outer;
    out.add({.level = level,
             .stage = level,
             .steps = halves * steps,
             .bytes = halves * share * (partners - 1) / partners,
             .message = 1 / n,
             .forwards = steps,
             .reduces = reducing * steps});
    if (partners < size)  // ranks beyond the power of two fold in before and get the result after
      out.add({.level = level,
               .stage = levels.count + level,
               .steps = 2,
               .bytes = (near_first ? 1 : share) * halves,
               .message = 1,
               .reduces = reducing});
  }
  return out;
}

}  // namespace fabricost
