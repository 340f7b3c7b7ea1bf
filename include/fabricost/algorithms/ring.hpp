#pragma once
/// Ranks in a circle, each passing a part to the next: n-1 steps gather or reduce-scatter, 2(n-1) all-reduce.
///
///   all_reduce       k = 2(n-1), bytes = 2(n-1)/n S per rank and direction (Patarasuk & Yuan 2009)
///   all_gather, rs   k = n-1,    bytes = (n-1)/n S
///   broadcast, reduce  k = n-1,  bytes = S, passed on chunk by chunk
///
/// On several levels the same circle crosses a level once per group; every group's border passes as much as
/// every rank. The steps are those of the block with the longest path: of G_i groups of b_i ranks below level
/// i it crosses sweeps G_i borders, minus those among the `sweeps` neighbouring links that it leaves out
/// (none when groups have more ranks). A broadcast from the first rank or a reduction to the last: G_i - 1.

#include <fabricost/algorithms/definition.hpp>

namespace fabricost::core::algorithms {

struct Ring : Defaults {
  static constexpr std::string_view name = "ring", nccl_name = "Ring";
  static constexpr bool reaches_neighbours = true;

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return is_exchange(op) ? "a ring cannot exchange point to point" : nullptr;
  }

  static void add_phases(Schedule& out, const Connectivity& at) {
    const Levels& levels = at.levels;
    const Collective collective = out.collective;
    const double n = levels.ranks();
    const bool whole = is_rooted(collective);
    const double sweeps = collective == Collective::all_reduce ? 2 : 1;
    const double bytes = whole ? 1 : sweeps * (n - 1) / n;
    // steps that cross the borders of groups of `below` ranks, at this level or further out
    const auto crossings = [&](double below) {
      if (below >= n) return 0.0;
      return whole ? n / below - 1 : sweeps * n / below - std::fmax(0, sweeps - (below - 1));
    };
    for (int level = 0; level < levels.count; ++level) {
      if (levels.size(level) <= 1) continue;
      const double steps = crossings(levels.below(level)) - crossings(levels.below(level + 1));
      const double forwards = collective == Collective::reduce_scatter || collective == Collective::reduce ? 0 : steps / sweeps;
      const double reducing = reduces(collective) ? steps / sweeps : 0;
      out.add({.level = level, .steps = steps, .bytes = bytes, .message = 1 / n, .forwards = forwards, .reduces = reducing});
    }
  }

  /// Each rank to the next; between domains one channel per rank of a domain, each using another NIC.
  template <class Network>
  static void traffic(Network& net, Collective, std::span<const int> ranks, double sent) {
    net.ring(ranks, sent);
  }
};

}  // namespace fabricost::core::algorithms
