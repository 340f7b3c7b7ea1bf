#pragma once
/// \file tree.hpp
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

  static void add_phases(Schedule& out, const Connectivity& at);

  template <class Network>
  static void traffic(Network& net, Collective op, std::span<const int> ranks, double) {
    net.trees(net.by_domain(ranks), op, false);
  }
};

}  // namespace fabricost::core::algorithms

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/algorithms/tree-inl.hpp>
#endif
