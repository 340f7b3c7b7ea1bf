#pragma once
/// Broadcast and reduce along a binomial tree: every rank with the data sends all of it to one without, so that the number of
/// ranks with it doubles in every step (Thakur, Rabenseifner, Gropp 2005, section 4.3; Open MPI's coll_tuned "binomial").
///
///   broadcast, reduce   ceil(log2 n) steps of S: the root sends, or takes, S in each
///
/// A broadcast first reaches one rank of every domain, then spreads inside them. A reduce is a broadcast backwards.

#include <fabricost/algorithms/definition.hpp>

#include <bit>

namespace fabricost::core::algorithms {

struct Binomial : Defaults {
  static constexpr std::string_view name = "binomial";
  static constexpr bool level_by_level = true;

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return is_rooted(op) ? nullptr : "binomial exists for broadcast and reduce";
  }

  static void add_phases(Schedule& out, const Connectivity& at) {
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

  [[nodiscard]] static int steps(Collective, const Levels& levels) {
    int all = 0;
    for (int level = 0; level < levels.count; ++level) all += steps_among(levels.sizes[static_cast<std::size_t>(level)]);
    return all;
  }
  /// Rank 0 is the root.
  [[nodiscard]] static Message partner(Collective op, const Levels& levels, int step, int rank) {
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

 private:
  /// ceil(log2 size)
  [[nodiscard]] static constexpr int steps_among(int size) { return static_cast<int>(std::bit_width(static_cast<unsigned>(size - 1))); }
};

}  // namespace fabricost::core::algorithms
