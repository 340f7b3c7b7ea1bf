#pragma once
/// Partners at distances that double or halve: log2 n steps instead of n-1 for the same volume (Thakur,
/// Rabenseifner, Gropp 2005).
///
///   reduce_scatter by halving, all_gather by doubling   log2 n steps, (n-1)/n S
///   all_reduce = both                                   2 log2 n steps, 2(n-1)/n S
///
/// Order matters on several levels. `halving_doubling` meets far partners first with the largest messages: a domain of g
/// ranks sends g (N-1)/N S out per half. `rabenseifner` meets near partners first: (N-1)/N S.
///
/// When a level joins m groups and p = 2^floor(log2 m) < m, the e = m - p surplus ranks fold their buffer
/// into a neighbour and get the result back: two more steps and
///
///   all_reduce                    2 S more; the p that are left divide S evenly
///   reduce_scatter, all_gather    S more on one side, the folded rank's own block on the other; in between that block stays with its
///                                 host: the larger side of a halving to x hosts has x + min(e, x) blocks of S/m (far first),
///                                 x + ceil(e x / p) (near first)

#include <fabricost/algorithms/definition.hpp>
#include <fabricost/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace fabricost::core::algorithms {

/// Halving among `m` groups of one level, as shares of a rank's data before it.
struct Halving {
  double steps = 0;
  double bytes = 0;  ///< sent in these steps
  double held = 1;   ///< share of a rank at the end
  bool folds = false;
};
[[nodiscard]] inline Halving halving_of(double m, bool all_reduce, bool near_first) {
  Halving out;
  out.steps = std::floor(std::log2(m) + 1e-12);
  const double p = std::exp2(out.steps);
  const double extra = m - p;
  out.folds = extra > 0;
  if (all_reduce || extra == 0) {
    out.bytes = (p - 1) / p;
    out.held = 1 / p;
    return out;
  }
  for (int step = static_cast<int>(out.steps) - 1; step >= 0; --step) {
    const double hosts = std::exp2(step);
    out.bytes += (hosts + (near_first ? std::ceil(extra * hosts / p - 1e-12) : std::fmin(extra, hosts))) / m;
  }
  out.held = 2 / m;
  return out;
}

/// Common part of the two orders.
template <bool near_first>
struct HalvingDoublingOrder : Defaults {
  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return is_all_reduce_or_half(op) ? nullptr : "halving and doubling exist for all_reduce, all_gather and reduce_scatter";
  }

  static void add_phases(Schedule& out, const Connectivity& at) {
    const Levels& levels = at.levels;
    const Collective collective = out.collective;
    const bool all_reduce = collective == Collective::all_reduce;
    const double halves = all_reduce ? 2 : 1;
    const double reducing = reduces(collective) ? 1 : 0;
    std::array<Halving, max_levels> half{};
    for (int level = 0; level < std::min(levels.count, max_levels); ++level)  // bounded in sight of the compiler, which warns otherwise
      half[static_cast<std::size_t>(level)] = halving_of(levels.size(level), all_reduce, near_first);
    for (int level = 0; level < levels.count; ++level) {
      if (levels.size(level) <= 1) continue;
      const Halving& h = half[static_cast<std::size_t>(level)];
      // near first: the ranks of a group have divided S among themselves; far first: each has the share left
      // by the levels above
      double held_above = 1;
      for (int above = level + 1; above < levels.count; ++above) held_above *= half[static_cast<std::size_t>(above)].held;
      const double share = near_first ? 1 : levels.below(level) * held_above;
      out.add({.level = level,
               .stage = level,
               .steps = halves * h.steps,
               .bytes = halves * share * h.bytes,
               .message = 1 / levels.ranks(),
               .forwards = h.steps,
               .reduces = reducing * h.steps});
      if (h.folds)  // ranks beyond the power of two fold in before and get the result after
        out.add({.level = level,
                 .stage = levels.count + level,
                 .steps = 2,
                 .bytes = share + (all_reduce ? share : held_above / levels.size(level)),
                 .message = 1,
                 .reduces = reducing});
    }
  }

  /// \throws RequestError where ranks are folded, whose partners are not modelled
  static void check_partners(int ranks) {
    if (!std::has_single_bit(static_cast<unsigned>(ranks)))
      throw RequestError("halving and doubling over " + std::to_string(ranks) + " ranks has no routes here; take a power of two");
  }
  [[nodiscard]] static int steps(Collective op, const Levels& levels) {
    return static_cast<int>(detail::log2_ceil(levels.ranks())) * (op == Collective::all_reduce ? 2 : 1);
  }
  [[nodiscard]] static Message partner(Collective op, const Levels& levels, int step, int rank) {
    const int each = static_cast<int>(detail::log2_ceil(levels.ranks()));
    const bool doubling = op == Collective::all_gather || step >= each;  // the way back
    const int halved = doubling ? (op == Collective::all_gather ? each : 2 * each) - 1 - step : step;
    return {.to = rank ^ (1 << (near_first ? halved : each - 1 - halved)), .bytes = std::exp2(-1 - halved)};
  }
};

struct HalvingDoubling : HalvingDoublingOrder<false> {
  static constexpr std::string_view name = "halving_doubling";
};
struct Rabenseifner : HalvingDoublingOrder<true> {
  static constexpr std::string_view name = "rabenseifner";
};

}  // namespace fabricost::core::algorithms
