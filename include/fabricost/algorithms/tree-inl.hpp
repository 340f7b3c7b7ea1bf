#pragma once
/// \file tree-inl.hpp
/// Bodies of tree.hpp.

#include <fabricost/algorithms/tree.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core::algorithms {

FABRICOST_BODY void Tree::add_phases(Schedule& out, const Connectivity& at) {
  const Levels& levels = at.levels;
  const Collective collective = out.collective;
  const double n = levels.ranks();
  const bool both = collective == Collective::all_reduce;
  const double ways = both ? 2 : 1;
  const double g = levels.size(0);
  const double N = n / g;
  if (g > 1) {
    const double steps = ways * (g - 1);
    out.add({.level = 0,
             .steps = steps,
             .bytes = g > 2 ? ways : 1,
             .message = 1,
             .forwards = collective == Collective::reduce ? 0.0 : g - 1,
             .reduces = reduces(collective) ? g - 1 : 0.0});
  }
  for (int level = 1; level < levels.count; ++level) {
    const double steps = ways * fast_log2(levels.size(level));
    out.add({.level = level,
             .steps = steps,
             .bytes = both ? fullest_of_two_trees(N) : 1.0,
             .message = 1,
             .forwards = collective == Collective::reduce ? 0 : steps / ways,
             .reduces = reduces(collective) ? steps / ways : 0});
  }
}

}  // namespace fabricost::core::algorithms
