#pragma once
/// All-reduce between partners at doubling distances that exchange and add all their data: few steps, each of
/// S. Used by MPI libraries for short messages (Thakur, Rabenseifner, Gropp 2005, section 4.5; Open MPI's
/// coll_tuned "recursive_doubling").
///
///   all_reduce   log2 n steps of S: log2 n S per rank and direction
///
/// Near partners come first; in a step that leaves a group all g of its ranks send at once: g S. If n is not
/// a power of two, the surplus ranks fold their buffer into a neighbour and get the result back: two more
/// steps, 2 S more.

#include <fabricost/algorithms/definition.hpp>

#include <bit>

namespace fabricost::core::algorithms {

struct RecursiveDoubling : Defaults {
  static constexpr std::string_view name = "recursive_doubling";
  static constexpr bool level_by_level = true;

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return op == Collective::all_reduce ? nullptr : "recursive doubling exists for all_reduce";
  }

  static void add_phases(Schedule& out, const Connectivity& at) {
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

  [[nodiscard]] static int steps(Collective, const Levels& levels) {
    int all = 0;
    for (int level = 0; level < levels.count; ++level) all += steps_among(static_cast<unsigned>(levels.size(level)));
    return all;
  }
  [[nodiscard]] static Message partner(Collective, const Levels& levels, int step, int rank) {
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

 private:
  [[nodiscard]] static constexpr int steps_among(unsigned size) {
    return static_cast<int>(std::bit_width(size)) - 1 + (std::has_single_bit(size) ? 0 : 2);
  }
  /// Partner among the places of one level. \return -1: idle
  [[nodiscard]] static constexpr int partner_place(int size, int steps_here, int step, int place) {
    const int whole = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
    const bool folds = whole < size;
    if (folds && step == 0) return place >= whole ? place - whole : -1;
    if (folds && step == steps_here - 1) return place + whole < size ? place + whole : -1;
    return place < whole ? place ^ (1 << (step - (folds ? 1 : 0))) : -1;
  }
};

}  // namespace fabricost::core::algorithms
