#pragma once
/// \file hierarchical.hpp
/// Level by level, any number of them: reduce-scatter inwards out, all-reduce at the top among equal ranks of all groups
/// (each on its own part, all at once), all-gather back in. Rings at every level.
///
///   all_reduce   at level i with m groups: 2(m-1) steps, 2(m-1)/m S per endpoint and direction
///
/// Every part is reduced where links are fastest first; what crosses level i has been divided by all ranks below, and all of
/// them send at once, so an endpoint of any level sends (m-1)/m S per half.

#include <fabricost/schedule/schedule.hpp>

namespace fabricost {

[[nodiscard]] inline Schedule hierarchical_schedule(Collective collective, const Levels& levels) {
  Schedule out{.algorithm = Algorithm::hierarchical, .collective = collective, .levels = levels};
  const double n = levels.ranks();
  if (n <= 1) return out;
  const bool down = collective == Collective::all_reduce || collective == Collective::reduce_scatter;
  const bool up = collective == Collective::all_reduce || collective == Collective::all_gather;
  int stage = 0;
  const auto half = [&](int level, bool reducing) {
    const double m = levels.size(level);
    if (m <= 1) return;
    out.add({.level = level, .stage = stage++, .steps = m - 1, .bytes = (m - 1) / m, .message = 1 / (m * levels.below(level)),
             .forwards = reducing ? 0 : m - 1, .reduces = reducing ? m - 1 : 0});
  };
  if (down)
    for (int level = 0; level < levels.count; ++level) half(level, true);
  if (up)
    for (int level = levels.count - 1; level >= 0; --level) half(level, false);
  return out;
}

}  // namespace fabricost
