#pragma once
/// \file recursive_doubling.hpp
/// All-reduce by partners at doubling distances who exchange and add everything they have: few steps, each of all of S. What MPI
/// libraries run on short messages (Thakur, Rabenseifner, Gropp 2005, section 4.5; Open MPI's coll_tuned "recursive_doubling").
///
///   all_reduce   log2 n steps of S: log2 n S per rank and direction
///
/// Near partners come first; in a step that leaves a group all g ranks of it send at once: g S. When n is no power of two the ranks too
/// many fold their buffer into a neighbour and get the result back: two more steps, 2 S more.

#include <fabricost/schedule/schedule.hpp>

namespace fabricost {

/// Steps and bytes as multiples of S (see the file's head). \throws nothing; one rank moves nothing.
[[nodiscard]] inline Schedule recursive_doubling_schedule(const Levels& levels) {
  Schedule out{Algorithm::recursive_doubling, Collective::all_reduce, levels};
  for (int level = 0; level < levels.count; ++level) {
    const double size = levels.size(level);
    if (size <= 1) continue;
    const double steps = std::floor(std::log2(size) + 1e-12);
    const double below = levels.below(level);
    out.add({.level = level, .stage = level, .steps = steps, .bytes = steps * below, .message = 1, .reduces = steps});
    if (std::exp2(steps) < size)
      out.add({.level = level, .stage = levels.count + level, .steps = 2, .bytes = 2 * below, .message = 1, .forwards = 1, .reduces = 1});
  }
  return out;
}

}  // namespace fabricost
