#pragma once
/// Data movement of an algorithm without hardware: phases of (level, serial steps, bytes per endpoint, one
/// way).
///
/// Bytes are multiples of the operation's size S. Level 0 is the innermost (GPUs of a scale-up domain,
/// endpoint: a GPU); level i joins `sizes[i]` groups of the level below (endpoint: one such group, so bytes
/// are those leaving the group). Phases of one stage stream through each other: their latencies add, the
/// slowest determines the volume. Stages run one after another and add up.

#include <fabricost/collective.hpp>
#include <fabricost/fixed_list.hpp>

#include <array>
#include <cmath>

namespace fabricost::core {

enum class Algorithm : unsigned char;  // names: registry.hpp

inline constexpr int max_levels = 4;

/// Grouping of ranks, innermost first: {8, 4} is 4 nodes of 8.
struct Levels {
  std::array<int, max_levels> sizes{1, 1, 1, 1};
  int count = 1;

  constexpr Levels() = default;
  explicit constexpr Levels(int ranks) : sizes{ranks, 1, 1, 1} {}
  constexpr Levels(int inner, int outer) : sizes{inner, outer, 1, 1}, count(outer > 1 ? 2 : 1) {}

  [[nodiscard]] constexpr double ranks() const {
    return static_cast<double>(sizes[0]) * sizes[1] * sizes[2] * sizes[3];  // those beyond `count` are 1
  }
  /// Ranks below one endpoint of `level`.
  [[nodiscard]] constexpr double below(int level) const {
    double n = 1;
    for (int i = 0; i < level; ++i) n *= sizes[static_cast<std::size_t>(i)];
    return n;
  }
  [[nodiscard]] constexpr double size(int level) const { return sizes[static_cast<std::size_t>(level)]; }
};

struct Phase {
  int level = 0;
  int stage = 0;
  double steps = 0;     ///< serial steps that cross this level
  double bytes = 0;     ///< leaving one endpoint of the level, one direction, as a multiple of S
  double message = 0;   ///< one step's message, as a multiple of S
  double forwards = 0;  ///< steps that store and pass on
  double reduces = 0;   ///< steps that reduce
};

struct Schedule {
  static constexpr int capacity = 12;

  Algorithm algorithm;
  Collective collective;
  Levels levels;
  FixedList<Phase, capacity> phases;

  /// No phases yet. (A constructor, because aggregate initialisation would write all of `phases`.)
  Schedule(Algorithm algorithm_, Collective collective_, const Levels& levels_)
      : algorithm(algorithm_), collective(collective_), levels(levels_) {}

  constexpr void add(const Phase& phase) {
    if (phase.steps > 0 || phase.bytes > 0) phases.add(phase);
  }
  [[nodiscard]] constexpr bool empty() const { return phases.empty(); }
  [[nodiscard]] constexpr const Phase* begin() const { return phases.begin(); }
  [[nodiscard]] constexpr const Phase* end() const { return phases.end(); }

  /// Serial steps over all levels.
  [[nodiscard]] constexpr double steps() const {
    double k = 0;
    for (const Phase& p : *this) k += p.steps;
    return k;
  }
  /// Serial steps that cross a level.
  [[nodiscard]] constexpr double steps(int level) const {
    double k = 0;
    for (const Phase& p : *this) k += p.level == level ? p.steps : 0;
    return k;
  }
  /// Bytes that leave one endpoint of a level, one direction, as a multiple of S.
  [[nodiscard]] constexpr double bytes(int level) const {
    double b = 0;
    for (const Phase& p : *this) b += p.level == level ? p.bytes : 0;
    return b;
  }
};

namespace detail {
[[nodiscard]] inline double log2_ceil(double n) { return n <= 1 ? 0 : std::ceil(std::log2(n) - 1e-12); }
}  // namespace detail

}  // namespace fabricost::core

namespace fabricost {
using core::Levels;
using core::Phase;
using core::Schedule;
}  // namespace fabricost
