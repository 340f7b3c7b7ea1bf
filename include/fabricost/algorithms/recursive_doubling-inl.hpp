#pragma once
/// \file recursive_doubling-inl.hpp
/// Bodies of recursive_doubling.hpp.

#include <fabricost/algorithms/recursive_doubling.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core::algorithms {

FABRICOST_BODY void RecursiveDoubling::add_phases(Schedule& out, const Connectivity& at) {
  const Levels& levels = at.levels;
  for (int level = 0; level < levels.count; ++level) {
    const double size = levels.size(level);
    if (size <= 1) continue;
    const double steps = std::floor(std::log2(size) + 1e-12);
    const double below = levels.below(level);
    out.add({.level = level, .stage = level, .steps = steps, .bytes = steps * below, .message = 1, .reduces = steps});
    if (std::exp2(steps) < size)
      out.add({.level = level, .stage = levels.count + level, .steps = 2, .bytes = 2 * below, .message = 1, .forwards = 1, .reduces = 1});
  }
}

FABRICOST_BODY int RecursiveDoubling::steps(Collective, const Levels& levels) {
  int all = 0;
  for (int level = 0; level < levels.count; ++level) all += steps_among(static_cast<unsigned>(levels.size(level)));
  return all;
}

FABRICOST_BODY Message RecursiveDoubling::partner(Collective, const Levels& levels, int step, int rank) {
  int below = 1;
  for (int level = 0; level < levels.count; ++level) {
    const int size = levels.sizes[static_cast<std::size_t>(level)];
    const int steps_here = steps_among(static_cast<unsigned>(size));
    if (step < steps_here) {
      const int place = rank / below % size, other = partner_place(size, steps_here, step, place);
      return other < 0 ? Message{} : Message{.to = rank + (other - place) * below, .bytes = 1};
    }
    step -= steps_here;
    below *= size;
  }
  return {};
}

}  // namespace fabricost::core::algorithms
