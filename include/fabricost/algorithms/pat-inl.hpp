#pragma once
/// \file pat-inl.hpp
/// Bodies of pat.hpp.

#include <fabricost/algorithms/pat.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core::algorithms {

FABRICOST_BODY const char* Pat::why_not(const Case& p) {
  if (const char* why = not_for(p.collective)) return why;
  if (p.at.local() > 1 || p.at.domains() <= 1) return "PAT needs one rank per node";
  return p.simple ? nullptr : "PAT runs Simple only";
}

FABRICOST_BODY void Pat::add_phases(Schedule& out, const Connectivity& at) {
  const Levels& levels = at.levels;
  const Collective collective = out.collective;
  const double n = levels.ranks();
  const double steps = detail::log2_ceil(n);
  out.add({.level = levels.count - 1,
           .steps = steps,
           .bytes = (n - 1) / n,
           .message = 1 / n,
           .forwards = collective == Collective::all_gather ? steps : 0,
           .reduces = reduces(collective) ? steps : 0});
}

FABRICOST_BODY Message Pat::partner(Collective op, const Levels& levels, int step, int rank) {
  const int n = static_cast<int>(levels.ranks());
  const bool back = op == Collective::reduce_scatter;
  const int distance = 1 << (back ? step : steps(op, levels) - 1 - step);
  const int blocks = (n - 1 - distance) / (2 * distance) + 1;
  return {.to = (back ? rank + n - distance : rank + distance) % n, .bytes = static_cast<double>(blocks) / n};
}

}  // namespace fabricost::core::algorithms
