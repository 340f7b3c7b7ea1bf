#pragma once
/// \file rings.hpp
/// Link-disjoint directed rings through a domain joined by wires: the rings an algorithm can run side by
/// side, each over its own part of the data.
///
///   ring bandwidth = rings x rate of one link          at most the links of the least connected endpoint
///
/// The hybrid cube mesh of a DGX-1V has 6 links of 25 GB/s at each GPU and 6 such rings: the double links
/// form one ring used twice, the single links one used once, each in both directions: 150 GB/s one way. A
/// complete graph has one ring per neighbour, except with 4 and 6 endpoints (Tillson, J. Combinatorial Theory
/// B 29, 1980).

#include <fabricost/network/topology.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace fabricost::core {

namespace detail {

/// Depth-first search for as many link-disjoint directed rings as the least connected endpoint allows.
class RingSearch {
 public:
  RingSearch(int endpoints, const std::vector<Wire>& wires) : n_(static_cast<std::size_t>(endpoints)), left_(n_ * n_, 0) {
    for (const Wire& w : wires) left_[at(w.from, w.to)] += static_cast<int>(std::floor(w.links + 1e-9));
    bound_ = n_ > 1 ? std::numeric_limits<int>::max() : 0;
    for (std::size_t v = 0; v < n_; ++v) {
      int out = 0, in = 0;
      for (std::size_t w = 0; w < n_; ++w) {
        out += left_[v * n_ + w];
        in += left_[w * n_ + v];
      }
      bound_ = std::min({bound_, out, in});
    }
  }

  [[nodiscard]] std::vector<std::vector<int>> run() {
    if (bound_ > 0) next_ring();
    return best_;
  }

 private:
  static constexpr int patience = 200000;  // steps; a domain of 8 needs some hundreds

  [[nodiscard]] std::size_t at(int from, int to) const { return static_cast<std::size_t>(from) * n_ + static_cast<std::size_t>(to); }

  bool next_ring();

  bool extend();

  std::size_t n_;
  std::vector<int> left_;
  int bound_ = 0;
  int steps_ = 0;
  std::vector<std::vector<int>> rings_, best_;
  std::vector<bool> seen_;
};

}  // namespace detail

/// Link-disjoint directed rings through all of `endpoints`, each as the order in which it visits them. As
/// many as the search finds, which is the maximum for the meshes that are built. Empty if there is none.
[[nodiscard]] std::vector<std::vector<int>> disjoint_rings(int endpoints, const std::vector<Wire>& wires);

/// The same for some endpoints of a wired domain, given by their numbers in it.
[[nodiscard]] std::vector<std::vector<int>> disjoint_rings(const Topology& t, const std::vector<int>& members);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/network/rings-inl.hpp>
#endif
