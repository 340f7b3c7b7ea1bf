#pragma once
/// \file binomial-inl.hpp
/// Bodies of binomial.hpp.

#include <fabricost/algorithms/binomial.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core::algorithms {

FABRICOST_BODY void Binomial::add_phases(Schedule& out, const Connectivity& at) {
  const bool adds = reduces(out.collective);
  for (int level = 0; level < at.levels.count; ++level) {
    const double steps = steps_among(at.levels.sizes[static_cast<std::size_t>(level)]);
    if (steps > 0)
      out.add({.level = level,
               .stage = level,
               .steps = steps,
               .bytes = steps,
               .message = 1,
               .forwards = adds ? 0 : steps,
               .reduces = adds ? steps : 0});
  }
}

FABRICOST_BODY int Binomial::steps(Collective, const Levels& levels) {
  int all = 0;
  for (int level = 0; level < levels.count; ++level) all += steps_among(levels.sizes[static_cast<std::size_t>(level)]);
  return all;
}

FABRICOST_BODY Message Binomial::partner(Collective op, const Levels& levels, int step, int rank) {
  const bool adds = reduces(op);
  int left = adds ? step : steps(op, levels) - 1 - step;  // as if it went inwards, the own domain first
  for (int level = 0, below = 1; level < levels.count; ++level) {
    const int size = levels.sizes[static_cast<std::size_t>(level)], here = steps_among(size);
    if (left < here) {
      const int distance = 1 << (here - 1 - left), place = rank / below;
      if (rank % below != 0) return {};  // another rank speaks for it
      const int own = place % size;
      if (adds) return own >= distance && own < 2 * distance ? Message{.to = rank - distance * below, .bytes = 1} : Message{};
      return own < distance && own + distance < size ? Message{.to = rank + distance * below, .bytes = 1} : Message{};
    }
    left -= here;
    below *= size;
  }
  return {};
}

}  // namespace fabricost::core::algorithms
