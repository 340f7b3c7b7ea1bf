#pragma once
/// \file simulate.hpp
/// An oracle for schedules: ranks that really hand tagged blocks to each other, step by step. It shares no code with the model.
///
/// A rank has slots. A slot holds the set of ranks whose contribution is in it, as a mask (64 ranks at most); for all_to_all
/// there is one slot for each (from, to), filled or not. A step is a set of sends that happen at once: what is sent is what the
/// sender held before the step. Adding a contribution twice, sending an empty slot or writing over other data is an error, so
/// that an algorithm that ends with the right masks has done the work of the collective, and the counters say what it moved.

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace oracle {

using Mask = std::uint64_t;
inline Mask only(int rank) { return Mask{1} << rank; }
inline Mask all(int ranks) { return ranks == 64 ? ~Mask{0} : only(ranks) - 1; }

struct Send {
  int from = 0, to = 0;
  std::vector<int> slots;
  bool adds = false;  ///< the receiver combines; otherwise it stores
};
using Step = std::vector<Send>;

class World {
 public:
  /// \param sizes       how ranks are grouped, inside out: {8, 4} is 4 groups of 8
  /// \param slot_bytes  of one slot, as a share of the operation's size S
  World(std::vector<int> sizes, int slots, double slot_bytes) : sizes_(std::move(sizes)), slots_(slots), slot_bytes_(slot_bytes) {
    ranks_ = 1;
    for (const int s : sizes_) ranks_ *= s;
    if (ranks_ > 64) throw std::invalid_argument("the oracle has masks for 64 ranks");
    cells_.assign(static_cast<std::size_t>(ranks_) * static_cast<std::size_t>(slots_), 0);
    totals_.assign(sizes_.size(), std::vector<double>(static_cast<std::size_t>(ranks_), 0.0));
    own_ = totals_;
    serial_.assign(sizes_.size(), 0.0);
    crossed_.assign(sizes_.size(), 0);
  }

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int slots() const { return slots_; }
  [[nodiscard]] Mask& at(int rank, int slot) { return cells_[index(rank, slot)]; }
  [[nodiscard]] Mask at(int rank, int slot) const { return cells_[index(rank, slot)]; }

  /// All sends at once.
  void run(const Step& step) {
    if (step.empty()) return;
    std::vector<Mask> before = cells_;
    std::vector<std::vector<double>> leaving(sizes_.size(), std::vector<double>(static_cast<std::size_t>(ranks_), 0.0));
    std::vector<bool> crosses(sizes_.size(), false);
    for (const Send& send : step) {
      if (send.from == send.to) throw std::logic_error("a rank sends to itself");
      for (const int slot : send.slots) {
        const Mask sent = before[index(send.from, slot)];
        Mask& kept = at(send.to, slot);
        if (sent == 0) throw std::logic_error("rank " + std::to_string(send.from) + " sends slot " + std::to_string(slot) + ", which it does not have");
        if (send.adds) {
          if ((kept & sent) != 0) throw std::logic_error("a contribution to slot " + std::to_string(slot) + " is added twice");
          kept |= sent;
        } else {
          if ((kept & ~sent) != 0) throw std::logic_error("slot " + std::to_string(slot) + " is overwritten with less");
          kept = sent;
        }
      }
      count(send, leaving, crosses);
    }
    ++steps_;
    for (std::size_t level = 0; level < sizes_.size(); ++level) {
      serial_[level] += *std::max_element(leaving[level].begin(), leaving[level].end());
      crossed_[level] += crosses[level] ? 1 : 0;
    }
  }
  /// A slot leaves its holder (all_to_all): what was sent is no longer there.
  void drop(int rank, int slot) { at(rank, slot) = 0; }

  [[nodiscard]] int steps() const { return steps_; }
  /// Steps in which some send goes exactly as far out as this level.
  [[nodiscard]] int steps(int level) const { return crossed_[static_cast<std::size_t>(level)]; }
  /// Bytes that left the busiest endpoint of a level: a rank's to its own group (level 0), a group's to other groups (above).
  [[nodiscard]] double bytes(int level) const {
    return *std::max_element(totals_[static_cast<std::size_t>(level)].begin(), totals_[static_cast<std::size_t>(level)].end());
  }
  /// The same without what is bound further out than to a neighbour of this level.
  [[nodiscard]] double own_bytes(int level) const {
    return *std::max_element(own_[static_cast<std::size_t>(level)].begin(), own_[static_cast<std::size_t>(level)].end());
  }
  /// As bytes(), averaged over the endpoints.
  [[nodiscard]] double mean_bytes(int level) const {
    double sum = 0;
    for (const double b : totals_[static_cast<std::size_t>(level)]) sum += b;
    return sum / (ranks_ / below(level));
  }
  /// As own_bytes() when every step waits for its busiest endpoint: the sum over steps of the most that leaves any.
  [[nodiscard]] double serial_bytes(int level) const { return serial_[static_cast<std::size_t>(level)]; }

  /// Ranks below one endpoint of a level.
  [[nodiscard]] int below(int level) const {
    int n = 1;
    for (int i = 0; i < level; ++i) n *= sizes_[static_cast<std::size_t>(i)];
    return n;
  }
  /// The outermost level at which two ranks sit in different endpoints.
  [[nodiscard]] int distance(int a, int b) const {
    int furthest = 0;
    for (int level = 0; level < static_cast<int>(sizes_.size()); ++level)
      if (a / below(level) != b / below(level)) furthest = level;
    return furthest;
  }

 private:
  [[nodiscard]] std::size_t index(int rank, int slot) const {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(slots_) + static_cast<std::size_t>(slot);
  }
  void count(const Send& send, std::vector<std::vector<double>>& leaving, std::vector<bool>& crosses) {
    const double bytes = slot_bytes_ * static_cast<double>(send.slots.size());
    const int furthest = distance(send.from, send.to);
    crosses[static_cast<std::size_t>(furthest)] = true;
    // outer levels see what is bound further out too; a rank's own links only what stays in its group
    const int first = furthest == 0 ? 0 : 1;
    for (int level = first; level <= furthest; ++level)
      totals_[static_cast<std::size_t>(level)][static_cast<std::size_t>(send.from / below(level))] += bytes;
    const auto endpoint = static_cast<std::size_t>(send.from / below(furthest));
    own_[static_cast<std::size_t>(furthest)][endpoint] += bytes;
    leaving[static_cast<std::size_t>(furthest)][endpoint] += bytes;
  }

  std::vector<int> sizes_;
  int ranks_ = 1;
  int slots_ = 0;
  double slot_bytes_ = 0;
  std::vector<Mask> cells_;
  int steps_ = 0;
  std::vector<std::vector<double>> totals_, own_;
  std::vector<double> serial_;
  std::vector<int> crossed_;
};

// ---- how ranks start, and what they must end with -----------------------------------------------------------------------

/// Every rank has its own contribution to every slot.
inline World everyone_contributes(const std::vector<int>& sizes, int slots) {
  World w(sizes, slots, 1.0 / slots);
  for (int r = 0; r < w.ranks(); ++r)
    for (int s = 0; s < slots; ++s) w.at(r, s) = only(r);
  return w;
}
/// Rank r has slot r.
inline World everyone_has_its_own(const std::vector<int>& sizes) {
  int n = 1;
  for (const int s : sizes) n *= s;
  World w(sizes, n, 1.0 / n);
  for (int r = 0; r < n; ++r) w.at(r, r) = only(r);
  return w;
}
/// Rank r has (r, t) for every t; slot r n + t.
inline World everyone_has_one_for_each(const std::vector<int>& sizes) {
  int n = 1;
  for (const int s : sizes) n *= s;
  World w(sizes, n * n, 1.0 / n);
  for (int r = 0; r < n; ++r)
    for (int t = 0; t < n; ++t) w.at(r, r * n + t) = only(r);
  return w;
}

inline bool all_reduced(const World& w) {
  for (int r = 0; r < w.ranks(); ++r)
    for (int s = 0; s < w.slots(); ++s)
      if (w.at(r, s) != all(w.ranks())) return false;
  return true;
}
/// Rank r has the whole sum of slot r.
inline bool reduce_scattered(const World& w) {
  for (int r = 0; r < w.ranks(); ++r)
    if (w.at(r, r) != all(w.ranks())) return false;
  return true;
}
inline bool all_gathered(const World& w) {
  for (int r = 0; r < w.ranks(); ++r)
    for (int s = 0; s < w.slots(); ++s)
      if (w.at(r, s) != only(s)) return false;
  return true;
}
inline bool exchanged(const World& w) {
  const int n = w.ranks();
  for (int r = 0; r < n; ++r)
    for (int from = 0; from < n; ++from)
      if (w.at(r, from * n + r) != only(from)) return false;
  return true;
}

inline int wrapped(int i, int n) { return ((i % n) + n) % n; }

// ---- rings: `members` in order, each part of the slots is one block of the ring ----------------------------------------------

/// One step of several rings at once: (members, blocks) where blocks[i] are the slots that member i ends with.
struct Ring {
  std::vector<int> members;
  std::vector<std::vector<int>> blocks;
};

inline void ring_reduce_scatter(World& w, const std::vector<Ring>& rings) {
  const int m = static_cast<int>(rings.front().members.size());
  for (int s = 0; s < m - 1; ++s) {
    Step step;
    for (const Ring& ring : rings)
      for (int i = 0; i < m; ++i)
        step.push_back({ring.members[static_cast<std::size_t>(i)], ring.members[static_cast<std::size_t>(wrapped(i + 1, m))],
                        ring.blocks[static_cast<std::size_t>(wrapped(i - s - 1, m))], true});
    w.run(step);
  }
}
inline void ring_all_gather(World& w, const std::vector<Ring>& rings) {
  const int m = static_cast<int>(rings.front().members.size());
  for (int s = 0; s < m - 1; ++s) {
    Step step;
    for (const Ring& ring : rings)
      for (int i = 0; i < m; ++i)
        step.push_back({ring.members[static_cast<std::size_t>(i)], ring.members[static_cast<std::size_t>(wrapped(i + 1, m))],
                        ring.blocks[static_cast<std::size_t>(wrapped(i - s, m))], false});
    w.run(step);
  }
}
/// All ranks in order, one slot each.
inline Ring whole_ring(int ranks) {
  Ring ring;
  for (int r = 0; r < ranks; ++r) {
    ring.members.push_back(r);
    ring.blocks.push_back({r});
  }
  return ring;
}
/// From rank 0 around the circle, `chunks` slots one behind the other.
inline void ring_broadcast(World& w) {
  const int n = w.ranks(), chunks = w.slots();
  for (int s = 0; s < n - 1 + chunks - 1; ++s) {
    Step step;
    for (int r = 0; r < n - 1; ++r)
      if (s - r >= 0 && s - r < chunks) step.push_back({r, r + 1, {s - r}, false});
    w.run(step);
  }
}
/// Around the circle to rank n-1, adding up.
inline void ring_reduce(World& w) {
  const int n = w.ranks(), chunks = w.slots();
  for (int s = 0; s < n - 1 + chunks - 1; ++s) {
    Step step;
    for (int r = 0; r < n - 1; ++r)
      if (s - r >= 0 && s - r < chunks) step.push_back({r, r + 1, {s - r}, true});
    w.run(step);
  }
}

// ---- level by level: rings inside, then among equal ranks of all groups -------------------------------------------------------

namespace detail {
/// The rings of a level: ranks that differ in that digit only. After the halves below, a rank is left with the slots that
/// agree with it in the digits below; member i of the ring ends with those that have digit i here.
inline std::vector<Ring> rings_of_level(const std::vector<int>& sizes, int level) {
  int n = 1, below = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    n *= sizes[i];
    if (static_cast<int>(i) < level) below *= sizes[i];
  }
  const int m = sizes[static_cast<std::size_t>(level)];
  std::vector<Ring> rings;
  for (int r = 0; r < n; ++r) {
    if (r / below % m != 0) continue;
    Ring ring;
    for (int i = 0; i < m; ++i) {
      ring.members.push_back(r + i * below);
      std::vector<int> block;
      for (int slot = 0; slot < n; ++slot)
        if (slot % below == r % below && slot / below % m == i) block.push_back(slot);
      ring.blocks.push_back(block);
    }
    rings.push_back(ring);
  }
  return rings;
}
}  // namespace detail

inline void hierarchical_reduce_scatter(World& w, const std::vector<int>& sizes) {
  for (int level = 0; level < static_cast<int>(sizes.size()); ++level)
    if (sizes[static_cast<std::size_t>(level)] > 1) ring_reduce_scatter(w, detail::rings_of_level(sizes, level));
}
inline void hierarchical_all_gather(World& w, const std::vector<int>& sizes) {
  for (int level = static_cast<int>(sizes.size()) - 1; level >= 0; --level)
    if (sizes[static_cast<std::size_t>(level)] > 1) ring_all_gather(w, detail::rings_of_level(sizes, level));
}

// ---- partners at doubling distances ---------------------------------------------------------------------------------------------

inline int power_below(int n) {
  int p = 1;
  while (2 * p <= n) p *= 2;
  return p;
}

/// Distances between partners of a power-of-two number of ranks, in the order a reduce-scatter meets them.
inline std::vector<int> partner_distances(int ranks, bool near_first) {
  std::vector<int> d;
  for (int x = 1; x < ranks; x *= 2) d.push_back(x);
  if (!near_first) std::reverse(d.begin(), d.end());
  return d;
}
/// Every slot belongs to the rank of its number; a rank gives its partner all those that are on the partner's side.
inline void halving(World& w, bool near_first) {
  const int n = w.ranks();
  int settled = 0;  // bits already decided
  for (const int d : partner_distances(n, near_first)) {
    Step step;
    for (int r = 0; r < n; ++r) {
      std::vector<int> slots;
      for (int s = 0; s < n; ++s)
        if ((s & settled) == (r & settled) && (s & d) == ((r ^ d) & d)) slots.push_back(s);
      step.push_back({r, r ^ d, slots, true});
    }
    w.run(step);
    settled |= d;
  }
}
inline void doubling(World& w, bool near_first) {
  const int n = w.ranks();
  std::vector<int> distances = partner_distances(n, near_first);
  std::reverse(distances.begin(), distances.end());
  int settled = n - 1;
  for (const int d : distances) {
    Step step;
    for (int r = 0; r < n; ++r) {
      std::vector<int> slots;
      for (int s = 0; s < n; ++s)
        if ((s & settled) == (r & settled)) slots.push_back(s);
      step.push_back({r, r ^ d, slots, false});
    }
    w.run(step);
    settled &= ~d;
  }
}
/// All-reduce of any number of ranks: those beyond the power of two fold into a neighbour, and get the result back.
inline World folded_all_reduce(int ranks) {
  const int p = power_below(ranks);
  World w = everyone_contributes({ranks}, p);
  std::vector<int> everything;
  for (int s = 0; s < p; ++s) everything.push_back(s);
  Step in, out;
  for (int r = p; r < ranks; ++r) {
    in.push_back({r, r - p, everything, true});
    out.push_back({r - p, r, everything, false});
  }
  w.run(in);
  int settled = 0;
  for (int d = p / 2; d >= 1; d /= 2) {
    Step step;
    for (int r = 0; r < p; ++r) {
      std::vector<int> slots;
      for (int s = 0; s < p; ++s)
        if ((s & settled) == (r & settled) && (s & d) == ((r ^ d) & d)) slots.push_back(s);
      step.push_back({r, r ^ d, slots, true});
    }
    w.run(step);
    settled |= d;
  }
  for (int d = 1; d < p; d *= 2) {
    Step step;
    for (int r = 0; r < p; ++r) {
      std::vector<int> slots;
      for (int s = 0; s < p; ++s)
        if ((s & settled) == (r & settled)) slots.push_back(s);
      step.push_back({r, r ^ d, slots, false});
    }
    w.run(step);
    settled &= ~d;
  }
  w.run(out);
  return w;
}

/// All-reduce of any number of ranks: partners give each other everything. Those beyond the power of two fold into one of the others first,
/// and get the result back.
inline void recursive_doubling(World& w) {
  const int p = power_below(w.ranks());
  std::vector<int> everything;
  for (int s = 0; s < w.slots(); ++s) everything.push_back(s);
  Step in, out;
  for (int r = p; r < w.ranks(); ++r) {
    in.push_back({r, r - p, everything, true});
    out.push_back({r - p, r, everything, false});
  }
  w.run(in);
  for (int d = 1; d < p; d *= 2) {
    Step step;
    for (int r = 0; r < p; ++r) step.push_back({r, r ^ d, everything, true});
    w.run(step);
  }
  w.run(out);
}

/// Bruck: the item of relative number i = to - from moves on by every power of two in i.
inline void bruck_all_to_all(World& w) {
  const int n = w.ranks();
  for (int d = 1; d < n; d *= 2) {
    Step step;
    for (int r = 0; r < n; ++r) {
      Send send{r, wrapped(r + d, n), {}, false};
      for (int i = 0; i < n; ++i) {
        if ((i & d) == 0) continue;
        const int from = wrapped(r - (i & (d - 1)), n);  // it has moved by the lower bits of i
        send.slots.push_back(from * n + wrapped(from + i, n));
      }
      if (!send.slots.empty()) step.push_back(send);
    }
    w.run(step);
    for (const Send& send : step)
      for (const int slot : send.slots) w.drop(send.from, slot);
  }
}
/// Bruck: after the step of distance d a rank has the slots of itself and the 2d - 1 ranks after it.
inline void bruck_all_gather(World& w) {
  const int n = w.ranks();
  for (int d = 1; d < n; d *= 2) {
    Step step;
    for (int r = 0; r < n; ++r) {
      Send send{r, wrapped(r - d, n), {}, false};
      for (int i = 0; i < std::min(d, n - d); ++i) send.slots.push_back(wrapped(r + i, n));
      step.push_back(send);
    }
    w.run(step);
  }
}

// ---- everybody to everybody --------------------------------------------------------------------------------------------------

/// Two levels of {g, N}: first to the rank of the own group in the receiver's place, then across to the receiver.
inline void two_level_all_to_all(World& w, int g) {
  const int n = w.ranks(), N = n / g;
  Step inside, across;
  for (int r = 0; r < n; ++r)
    for (int place = 0; place < g; ++place) {
      if (place == r % g) continue;
      Send send{r, r / g * g + place, {}, false};
      for (int d = 0; d < N; ++d) send.slots.push_back(r * n + d * g + place);
      inside.push_back(send);
    }
  for (int r = 0; r < n; ++r)
    for (int d = 0; d < N; ++d) {
      if (d == r / g) continue;
      Send send{r, d * g + r % g, {}, false};
      for (int from = r / g * g; from < r / g * g + g; ++from) send.slots.push_back(from * n + send.to);
      across.push_back(send);
    }
  w.run(inside);
  w.run(across);
}

/// One partner at a time, those of the own group first: a positions further in the group, b groups further.
inline void pairwise_all_to_all(World& w, int group) {
  const int n = w.ranks(), groups = n / group;
  for (int b = 0; b < groups; ++b)
    for (int a = 0; a < group; ++a) {
      if (a == 0 && b == 0) continue;
      Step step;
      for (int r = 0; r < n; ++r) {
        const int to = wrapped(r / group + b, groups) * group + wrapped(r % group + a, group);
        step.push_back({r, to, {r * n + to}, false});
      }
      w.run(step);
    }
}
/// All at once.
inline void direct_all_to_all(World& w) {
  const int n = w.ranks();
  Step step;
  for (int r = 0; r < n; ++r)
    for (int to = 0; to < n; ++to)
      if (to != r) step.push_back({r, to, {r * n + to}, false});
  w.run(step);
}
inline void direct_all_gather(World& w) {
  Step step;
  for (int r = 0; r < w.ranks(); ++r)
    for (int to = 0; to < w.ranks(); ++to)
      if (to != r) step.push_back({r, to, {r}, false});
  w.run(step);
}
inline void direct_reduce_scatter(World& w) {
  Step step;
  for (int r = 0; r < w.ranks(); ++r)
    for (int to = 0; to < w.ranks(); ++to)
      if (to != r) step.push_back({r, to, {to}, true});
  w.run(step);
}
/// Everybody reads everything of everybody.
inline void one_shot(World& w) {
  std::vector<int> everything;
  for (int s = 0; s < w.slots(); ++s) everything.push_back(s);
  Step step;
  for (int r = 0; r < w.ranks(); ++r)
    for (int to = 0; to < w.ranks(); ++to)
      if (to != r) step.push_back({r, to, everything, true});
  w.run(step);
}
/// Everybody reduces its part, then everybody reads every part.
inline void two_shot(World& w) {
  direct_reduce_scatter(w);
  Step step;
  for (int r = 0; r < w.ranks(); ++r)
    for (int to = 0; to < w.ranks(); ++to)
      if (to != r) step.push_back({r, to, {r}, false});
  w.run(step);
}

// ---- chain inside, double binary tree outside -----------------------------------------------------------------------------------

/// Parents and depths of a binary tree over a power of two of nodes whose leaves are the odd ones: 0 has one child, N/2, below
/// which halves are split again. The second tree counts from the other end, so that leaves there are inner nodes here.
struct Tree {
  std::vector<int> parent, depth;
};
inline Tree binary_tree(int nodes, bool from_other_end) {
  Tree t{std::vector<int>(static_cast<std::size_t>(nodes), -1), std::vector<int>(static_cast<std::size_t>(nodes), 0)};
  const auto name = [&](int i) { return static_cast<std::size_t>(from_other_end ? nodes - 1 - i : i); };
  struct Part { int first, span, parent, depth; };
  std::vector<Part> open{{0, nodes, 0, 1}};
  while (!open.empty()) {
    const Part p = open.back();
    open.pop_back();
    if (p.span < 2) continue;
    const int node = p.first + p.span / 2;
    t.parent[name(node)] = static_cast<int>(name(p.parent));
    t.depth[name(node)] = p.depth;
    open.push_back({p.first, p.span / 2, node, p.depth + 1});
    open.push_back({node, p.span / 2, node, p.depth + 1});
  }
  return t;
}
/// Slot 0 goes through the first tree, slot 1 through the second. Rank 0 of a group is its head.
inline void tree_all_reduce(World& w, int group) {
  const int nodes = w.ranks() / group;
  const Tree trees[2] = {binary_tree(nodes, false), binary_tree(nodes, true)};
  int deepest = 0;
  for (const int d : trees[0].depth) deepest = std::max(deepest, d);
  for (int i = group - 1; i > 0; --i) {
    Step step;
    for (int node = 0; node < nodes; ++node) step.push_back({node * group + i, node * group + i - 1, {0, 1}, true});
    w.run(step);
  }
  for (int d = deepest; d > 0; --d) {
    Step step;
    for (int t = 0; t < 2; ++t)
      for (int node = 0; node < nodes; ++node)
        if (trees[t].depth[static_cast<std::size_t>(node)] == d)
          step.push_back({node * group, trees[t].parent[static_cast<std::size_t>(node)] * group, {t}, true});
    w.run(step);
  }
  for (int d = 1; d <= deepest; ++d) {
    Step step;
    for (int t = 0; t < 2; ++t)
      for (int node = 0; node < nodes; ++node)
        if (trees[t].depth[static_cast<std::size_t>(node)] == d)
          step.push_back({trees[t].parent[static_cast<std::size_t>(node)] * group, node * group, {t}, false});
    w.run(step);
  }
  for (int i = 1; i < group; ++i) {
    Step step;
    for (int node = 0; node < nodes; ++node) step.push_back({node * group + i - 1, node * group + i, {0, 1}, false});
    w.run(step);
  }
}

}  // namespace oracle
