#pragma once
/// \file direct-inl.hpp
/// Bodies of direct.hpp.

#include <fabricost/algorithms/direct.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core::algorithms {

FABRICOST_BODY void add_exchange(Schedule& out, double steps_per_partner, bool staged) {
  const double n = out.levels.ranks();
  int furthest = 0;
  for (int level = 0; level < out.levels.count; ++level)
    if (out.levels.size(level) > 1) furthest = level;
  for (int level = 0; level < out.levels.count; ++level) {
    const double below = out.levels.below(level);
    const double partners = below * (out.levels.size(level) - 1);
    if (partners <= 0) continue;
    // at the outer levels, traffic leaving a group includes traffic bound further out
    const double leaving = n - below;
    const bool outer = level > 0;
    const double at_once = level == furthest ? 1 : 0;  // the furthest partner determines the wait
    out.add({.level = level,
             .stage = staged ? level : 0,
             .steps = steps_per_partner > 0 ? steps_per_partner * partners : at_once,
             .bytes = outer ? below * leaving / n : partners / n,
             .message = 1 / n,
             .reduces = out.collective == Collective::reduce_scatter ? partners : 0});
  }
}

FABRICOST_BODY Message Pairwise::partner(Collective, const Levels& levels, int step, int rank) {
  int to = 0, below = 1, further = step + 1;
  for (int level = 0; level < levels.count; ++level) {
    const int size = levels.sizes[static_cast<std::size_t>(level)];
    to += (rank / below + further / below) % size * below;
    below *= size;
  }
  return {.to = to, .bytes = 1 / levels.ranks()};
}

}  // namespace fabricost::core::algorithms
