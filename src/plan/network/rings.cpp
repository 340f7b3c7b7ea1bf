#include "network/rings.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace fabricost::plan {

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

  bool next_ring() {
    if (rings_.size() > best_.size()) best_ = rings_;
    if (static_cast<int>(best_.size()) == bound_) return true;
    rings_.push_back({0});
    seen_.assign(n_, false);
    seen_[0] = true;
    const bool done = extend();
    rings_.pop_back();
    return done;
  }

  bool extend() {
    if (++steps_ > patience) return true;
    std::vector<int>& ring = rings_.back();
    const int here = ring.back();
    if (ring.size() == n_) {
      if (left_[at(here, 0)] == 0) return false;
      --left_[at(here, 0)];
      const std::vector<bool> seen = seen_;
      const bool done = next_ring();
      seen_ = seen;
      ++left_[at(here, 0)];
      return done;
    }
    std::vector<int> order;
    for (int to = 1; to < static_cast<int>(n_); ++to)
      if (!seen_[static_cast<std::size_t>(to)] && left_[at(here, to)] > 0) order.push_back(to);
    // the thickest bundles first, so that the remaining wires stay even
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return left_[at(here, a)] > left_[at(here, b)]; });
    for (const int to : order) {
      --left_[at(here, to)];
      seen_[static_cast<std::size_t>(to)] = true;
      rings_.back().push_back(to);
      const bool done = extend();
      rings_.back().pop_back();
      seen_[static_cast<std::size_t>(to)] = false;
      ++left_[at(here, to)];
      if (done) return true;
    }
    return false;
  }

  std::size_t n_;
  std::vector<int> left_;
  int bound_ = 0;
  int steps_ = 0;
  std::vector<std::vector<int>> rings_, best_;
  std::vector<bool> seen_;
};

}  // namespace detail

std::vector<std::vector<int>> disjoint_rings(int endpoints, const std::vector<Wire>& wires) {
  return detail::RingSearch{endpoints, wires}.run();
}

std::vector<std::vector<int>> disjoint_rings(const Topology& t, const std::vector<int>& members) {
  std::vector<Wire> among;
  for (const Wire& w : t.wires) {
    const auto from = std::find(members.begin(), members.end(), w.from), to = std::find(members.begin(), members.end(), w.to);
    if (from != members.end() && to != members.end())
      among.push_back({static_cast<int>(from - members.begin()), static_cast<int>(to - members.begin()), w.links});
  }
  std::vector<std::vector<int>> rings = disjoint_rings(static_cast<int>(members.size()), among);
  for (std::vector<int>& ring : rings)
    for (int& place : ring) place = members[static_cast<std::size_t>(place)];
  return rings;
}

}  // namespace fabricost::plan
