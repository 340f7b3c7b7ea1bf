#pragma once
/// \file hierarchical.hpp
/// Level by level, any number of them: reduce-scatter inwards out, all-reduce at the top among equal ranks of all groups
/// (each on its own part, all at once), all-gather back in. Rings at every level.
///
///   all_reduce   at level i with m groups: 2(m-1) steps, 2(m-1)/m S per endpoint and direction
///
/// Every part is reduced where links are fastest first; what crosses level i has been divided by all ranks below, and all of
/// them send at once, so an endpoint of any level sends (m-1)/m S per half.
///
///   all_to_all   one step a level, all messages of it posted at once: inside, to the rank in the receiver's place, whatever is bound for
///                that place anywhere; then across to the same place of every other group, (m-1)/m S per rank
///
/// The same bytes leave a group as when everybody sends directly, in 1/g of the messages, each g times as large and on its own rail
/// (the 2DH of Tutel: Hwang et al., arXiv 2206.03382); what it costs is that (m-1)/m S passes inside first.

#include <fabricost/schedule/schedule.hpp>

namespace fabricost {

[[nodiscard]] inline Schedule hierarchical_schedule(Collective collective, const Levels& levels) {
  Schedule out{Algorithm::hierarchical, collective, levels};
  const double n = levels.ranks();
  if (n <= 1) return out;
  if (collective == Collective::all_to_all) {
    for (int level = 0; level < levels.count; ++level) {
      const double m = levels.size(level);
      if (m > 1) out.add({.level = level, .stage = level, .steps = 1, .bytes = levels.below(level) * (m - 1) / m, .message = 1 / m});
    }
    return out;
  }
  const bool down = collective == Collective::all_reduce || collective == Collective::reduce_scatter;
  const bool up = collective == Collective::all_reduce || collective == Collective::all_gather;
  int stage = 0;
  const auto half = [&](int level, bool reducing) {
    const double m = levels.size(level);
    if (m <= 1) return;
    out.add({.level = level,
             .stage = stage++,
             .steps = m - 1,
             .bytes = (m - 1) / m,
             .message = 1 / (m * levels.below(level)),
             .forwards = reducing ? 0 : m - 1,
             .reduces = reducing ? m - 1 : 0});
  };
  if (down)
    for (int level = 0; level < levels.count; ++level) half(level, true);
  if (up)
    for (int level = levels.count - 1; level >= 0; --level) half(level, false);
  return out;
}

}  // namespace fabricost
