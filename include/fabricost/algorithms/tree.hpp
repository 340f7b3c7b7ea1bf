#pragma once
/// The double binary tree of NCCL: a chain inside a domain, two complementary trees with half the data each
/// between domains (Sanders, Speck, Traeff 2009). Up, then down.
///
///   all_reduce   chain 2(g-1) steps, 2 S per GPU and direction; network 2 log2 N steps, S per domain when N = 2, 1.5 S of 3, 2 S of more
///   broadcast, reduce   half of the steps; S
///
/// A domain is interior in one tree (it sends half the data up and to two children) and a leaf in the other.

#include <fabricost/algorithms/definition.hpp>
#include <fabricost/elementary.hpp>

namespace fabricost::core::algorithms {

struct Tree : Defaults {
  static constexpr std::string_view name = "tree", nccl_name = "Tree";

  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return op == Collective::all_reduce || op == Collective::broadcast || op == Collective::reduce
               ? nullptr
               : "trees exist for all_reduce, broadcast and reduce";
  }

  static void add_phases(Schedule& out, const Connectivity& at) {
    const Levels& levels = at.levels;
    const Collective collective = out.collective;
    const double n = levels.ranks();
    const bool both = collective == Collective::all_reduce;
    const double ways = both ? 2 : 1;
    const double g = levels.size(0);
    const double N = n / g;
    if (g > 1) {
      const double steps = ways * (g - 1);
      out.add({.level = 0,
               .steps = steps,
               .bytes = g > 2 ? ways : 1,
               .message = 1,
               .forwards = collective == Collective::reduce ? 0.0 : g - 1,
               .reduces = reduces(collective) ? g - 1 : 0.0});
    }
    for (int level = 1; level < levels.count; ++level) {
      const double steps = ways * fast_log2(levels.size(level));
      out.add({.level = level,
               .steps = steps,
               .bytes = both ? fullest_of_two_trees(N) : 1.0,
               .message = 1,
               .forwards = collective == Collective::reduce ? 0 : steps / ways,
               .reduces = reduces(collective) ? steps / ways : 0});
    }
  }

  template <class Network>
  static void traffic(Network& net, Collective op, std::span<const int> ranks, double) {
    net.trees(net.by_domain(ranks), op, false);
  }
};

}  // namespace fabricost::core::algorithms
