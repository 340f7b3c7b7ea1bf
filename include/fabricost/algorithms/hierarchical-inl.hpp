#pragma once
/// \file hierarchical-inl.hpp
/// Bodies of hierarchical.hpp.

#include <fabricost/algorithms/hierarchical.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core::algorithms {

FABRICOST_BODY const char* Hierarchical::why_not(const Case& p) {
  if (p.collective != Collective::all_to_all) return not_for(p.collective);
  if (p.at.domains() <= 1 || p.at.local() <= 1) return "an all_to_all in two levels needs several domains of several ranks";
  if (p.at.neighbours_only) return "chips of a torus reach only their neighbours directly";
  return p.simple ? nullptr : "an all_to_all in two levels runs Simple only";
}

FABRICOST_BODY void Hierarchical::add_phases(Schedule& out, const Connectivity& at) {
  const Levels& levels = at.levels;
  const Collective collective = out.collective;
  if (collective == Collective::all_to_all) {
    for (int level = 0; level < levels.count; ++level) {
      const double m = levels.size(level);
      if (m > 1) out.add({.level = level, .stage = level, .steps = 1, .bytes = levels.below(level) * (m - 1) / m, .message = 1 / m});
    }
    return;
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
}

}  // namespace fabricost::core::algorithms
