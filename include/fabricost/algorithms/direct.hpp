#pragma once
/// Every rank sends S/n to every other rank.
///
///   pairwise   n-1 steps with one partner each; (n-1)/n S
///   direct     all messages posted at once: one step, (n-1)/n S; also all_gather and reduce_scatter
///
/// g-1 of a rank's partners are inside its domain; the parts for the others leave it: g (n-g)/n S per domain.

#include <fabricost/algorithms/definition.hpp>

namespace fabricost::core::algorithms {

/// Adds the bytes of a full exchange level by level: an endpoint of level i sends to the other endpoints of its group there.
inline void add_exchange(Schedule& out, double steps_per_partner, bool staged) {
  const double n = out.levels.ranks();
  int furthest = 0;
  for (int level = 0; level < out.levels.count; ++level)
    if (out.levels.size(level) > 1) furthest = level;
  for (int level = 0; level < out.levels.count; ++level) {
    const double below = out.levels.below(level);
    const double partners = below * (out.levels.size(level) - 1);
    if (partners <= 0) continue;
    // at the outer levels, traffic leaving a group includes traffic bound further out
    const double leaving = n - below;
    const bool outer = level > 0;
    const double at_once = level == furthest ? 1 : 0;  // the furthest partner determines the wait
    out.add({.level = level,
             .stage = staged ? level : 0,
             .steps = steps_per_partner > 0 ? steps_per_partner * partners : at_once,
             .bytes = outer ? below * leaving / n : partners / n,
             .message = 1 / n,
             .reduces = out.collective == Collective::reduce_scatter ? partners : 0});
  }
}

/// Messages of S/n between all pairs, counted by groups instead of pairs.
struct AllPairs : Defaults {
  template <class Network>
  static void traffic(Network& net, Collective, std::span<const int> ranks, double) {
    net.exchange(ranks, 1 / static_cast<double>(ranks.size()));
  }
};

struct Pairwise : AllPairs {
  static constexpr std::string_view name = "pairwise";

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return op == Collective::all_to_all ? nullptr : "pairwise exists for all_to_all";
  }

  static void add_phases(Schedule& out, const Connectivity&) { add_exchange(out, 1, true); }

  /// The partner of step k is displaced on each level by the digit of k in mixed radix: the own group first.
  [[nodiscard]] static int steps(Collective, const Levels& levels) { return static_cast<int>(levels.ranks()) - 1; }
  [[nodiscard]] static Message partner(Collective, const Levels& levels, int step, int rank) {
    int to = 0, below = 1, further = step + 1;
    for (int level = 0; level < levels.count; ++level) {
      const int size = levels.sizes[static_cast<std::size_t>(level)];
      to += (rank / below + further / below) % size * below;
      below *= size;
    }
    return {.to = to, .bytes = 1 / levels.ranks()};
  }
};

/// all_to_all, all_gather and reduce_scatter: the same bytes between the same pairs.
struct Direct : AllPairs {
  static constexpr std::string_view name = "direct";

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return is_exchange(op) || gathers_or_scatters(op) ? nullptr : "direct exists for all_to_all, send_recv, all_gather and reduce_scatter";
  }
  [[nodiscard]] static constexpr bool exchanges_at_once(Collective op, int /*level*/) { return op != Collective::send_recv; }

  static void add_phases(Schedule& out, const Connectivity&) { add_exchange(out, 0, false); }
};

}  // namespace fabricost::core::algorithms
