#pragma once
/// \file ring-inl.hpp
/// Bodies of ring.hpp.

#include <fabricost/algorithms/ring.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core::algorithms {

FABRICOST_BODY void Ring::add_phases(Schedule& out, const Connectivity& at) {
  const Levels& levels = at.levels;
  const Collective collective = out.collective;
  const double n = levels.ranks();
  const bool whole = is_rooted(collective);
  const double sweeps = collective == Collective::all_reduce ? 2 : 1;
  const double bytes = whole ? 1 : sweeps * (n - 1) / n;
  // steps that cross the borders of groups of `below` ranks, at this level or further out
  const auto crossings = [&](double below) {
    if (below >= n) return 0.0;
    return whole ? n / below - 1 : sweeps * n / below - std::fmax(0, sweeps - (below - 1));
  };
  for (int level = 0; level < levels.count; ++level) {
    if (levels.size(level) <= 1) continue;
    const double steps = crossings(levels.below(level)) - crossings(levels.below(level + 1));
    const double forwards = collective == Collective::reduce_scatter || collective == Collective::reduce ? 0 : steps / sweeps;
    const double reducing = reduces(collective) ? steps / sweeps : 0;
    out.add({.level = level, .steps = steps, .bytes = bytes, .message = 1 / n, .forwards = forwards, .reduces = reducing});
  }
}

}  // namespace fabricost::core::algorithms
