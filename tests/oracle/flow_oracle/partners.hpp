#pragma once
/// Step algorithms: in each step a rank exchanges with one partner and waits for both messages before the
/// next. Halving and doubling (with ranks beyond a power of two folded into a neighbour), Bruck, PAT,
/// pairwise; and those that post all messages at once.

#include "rings.hpp"

namespace flow {

inline int power_of_two_below(int n) {
  int p = 1;
  while (2 * p <= n) p *= 2;
  return p;
}

/// Halving and doubling over levels (innermost first, {g, N}). The ranks of a level are paired at distances
/// of a power of two; those beyond fold into the rank p below first and are idle until the end. `near_first`
/// handles the inner level before the outer and small distances before large.
class HalvingDoubling {
 public:
  HalvingDoubling(Program& p, std::vector<int> sizes, bool near_first, Op op) : p_(p), sizes_(std::move(sizes)), op_(op) {
    for (int level = 0; level < static_cast<int>(sizes_.size()); ++level)
      order_.push_back(near_first ? level : static_cast<int>(sizes_.size()) - 1 - level);
    near_ = near_first;
    for (int r = 0; r < p_.ranks(); ++r) {
      live_.push_back(true);
      std::vector<int> all(static_cast<std::size_t>(p_.slots()));
      std::iota(all.begin(), all.end(), 0);
      mine_.push_back(all);
    }
  }
  void operator()() {
    std::vector<std::vector<Send>> log;  // of the reducing half, for the reverse
    for (const int level : order_) half(level, log);
    if (op_ == Op::reduce_scatter) {
      for (auto step = log.begin(); step != log.end(); ++step) p_.step(*step);
      // the data of folded ranks returns to them, in reverse order of folding
      for (auto fold = folds_.rbegin(); fold != folds_.rend(); ++fold) {
        std::vector<Send> back;
        for (const auto& [extra, host, slots] : *fold) back.push_back({{host, extra, slots, false}, 0, {}, {}});
        p_.step(back);
      }
      return;
    }
    if (op_ == Op::all_reduce)
      for (const auto& step : log) p_.step(step);
    else
      for (const auto& fold : folds_) {  // all_gather: the extra ranks' own parts first
        std::vector<Send> in;
        for (const auto& [extra, host, slots] : fold) in.push_back({{extra, host, slots, false}, 0, {}, {}});
        p_.step(in);
      }
    for (auto step = log.rbegin(); step != log.rend(); ++step) {
      std::vector<Send> back;
      for (const Send& s : *step) back.push_back({{s.to, s.from, s.slots, false}, 0, {}, {}});
      p_.step(back);
    }
  }

 private:
  struct Folded {
    int extra = 0, host = 0;
    std::vector<int> slots;  ///< returned to it reduced, or contributed by it to a gather
  };
  [[nodiscard]] int below(int level) const {
    int b = 1;
    for (int i = 0; i < level; ++i) b *= sizes_[static_cast<std::size_t>(i)];
    return b;
  }
  [[nodiscard]] int place(int rank, int level) const { return rank / below(level) % sizes_[static_cast<std::size_t>(level)]; }
  /// The place that does the work of a place of a level.
  [[nodiscard]] int host_place(int place, int level) const {
    const int p = power_of_two_below(sizes_[static_cast<std::size_t>(level)]);
    return place < p ? place : place - p;
  }
  /// Slots that a rank folded at this level has after later levels are unfolded: its own, and those of ranks
  /// folded into it before.
  [[nodiscard]] std::vector<int> left_to(int extra, int level) const {
    std::vector<int> out;
    for (int s = 0; s < p_.slots(); ++s) {
      bool mine = true, before = true;
      for (const int other : order_) {
        if (other == level) before = false;
        const int there = place(p_.home(s), other);
        mine = mine && (before ? host_place(there, other) : there) == place(extra, other);
      }
      if (mine) out.push_back(s);
    }
    return out;
  }
  void half(int level, std::vector<std::vector<Send>>& log) {
    const int m = sizes_[static_cast<std::size_t>(level)], p = power_of_two_below(m), stride = below(level);
    if (m == 1) return;
    if (p < m) {
      std::vector<Send> fold;
      std::vector<Folded> folded;
      for (int r = 0; r < p_.ranks(); ++r) {
        if (!live_[at(r)] || place(r, level) < p) continue;
        const int host = r - p * stride;
        fold.push_back({{r, host, mine_[at(r)], true}, 0, {}, {}});
        folded.push_back({r, host, left_to(r, level)});
      }
      for (const Folded& f : folded) live_[at(f.extra)] = false;
      log.push_back(fold);
      if (op_ != Op::all_reduce) folds_.push_back(folded);
    }
    std::vector<int> distances;
    for (int d = 1; d < p; d *= 2) distances.push_back(d);
    if (!near_) std::reverse(distances.begin(), distances.end());
    for (const int d : distances) {
      std::vector<Send> step;
      std::vector<std::vector<int>> kept = mine_;
      for (int r = 0; r < p_.ranks(); ++r) {
        if (!live_[at(r)]) continue;
        const int partner = r + ((place(r, level) ^ d) - place(r, level)) * stride;
        std::vector<int> gives, keeps;
        for (const int s : mine_[at(r)]) {
          const bool far = (host_place(place(p_.home(s), level), level) & d) != (place(r, level) & d);
          (far ? gives : keeps).push_back(s);
        }
        kept[at(r)] = keeps;
        if (!gives.empty()) step.push_back({{r, partner, gives, true}, 0, {}, {}});
      }
      mine_ = kept;
      log.push_back(step);
    }
  }
  [[nodiscard]] static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  Program& p_;
  std::vector<int> sizes_, order_;
  Op op_;
  bool near_ = false;
  std::vector<bool> live_;
  std::vector<std::vector<int>> mine_;  ///< slots a rank still works on
  std::vector<std::vector<Folded>> folds_;
};

/// Bruck: an item with i ranks to go moves by every power of two in i.
inline void bruck_exchange(Program& p) {
  const int n = p.ranks();
  for (int d = 1; d < n; d *= 2) {
    std::vector<Send> step;
    for (int r = 0; r < n; ++r) {
      Send send{{r, around(r + d, n), {}, false}, 0, {}, {}};
      for (int i = 0; i < n; ++i)
        if ((i & d) != 0) {
          const int from = around(r - (i & (d - 1)), n);
          send.slots.push_back(from * n + around(from + i, n));
        }
      step.push_back(send);
    }
    p.step(step);
  }
}
inline void bruck_gather(Program& p) {
  const int n = p.ranks();
  for (int d = 1; d < n; d *= 2) {
    std::vector<Send> step;
    for (int r = 0; r < n; ++r) {
      Send send{{r, around(r - d, n), {}, false}, 0, {}, {}};
      for (int i = 0; i < std::min(d, n - d); ++i) send.slots.push_back(around(r + i, n));
      step.push_back(send);
    }
    p.step(step);
  }
}
/// PAT: binomial trees of all ranks at once, far distances first when gathering, reversed when reducing.
inline void pat(Program& p, Op op) {
  const int n = p.ranks();
  std::vector<std::vector<Send>> steps;
  int far = 1;
  while (far * 2 < n) far *= 2;
  for (int d = far; d >= 1; d /= 2) {
    std::vector<Send> step;
    for (int r = 0; r < n; ++r) {
      Send send{{r, around(r + d, n), {}, false}, 0, {}, {}};
      for (int offset = 0; offset + d < n; offset += 2 * d) send.slots.push_back(around(r - offset, n));
      step.push_back(send);
    }
    steps.push_back(step);
  }
  if (op == Op::all_gather) {
    for (const auto& step : steps) p.step(step);
    return;
  }
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    std::vector<Send> back;
    for (const Send& s : *step) back.push_back({{s.to, s.from, s.slots, true}, 0, {}, {}});
    p.step(back);
  }
}
/// One partner at a time: `a` places further in the group, `b` groups further; the own group first. Slot from
/// x n + to.
inline void pairwise(Program& p, int g) {
  const int n = p.ranks(), N = n / g;
  for (int b = 0; b < N; ++b)
    for (int a = 0; a < g; ++a) {
      if (a == 0 && b == 0) continue;
      std::vector<Send> step;
      for (int r = 0; r < n; ++r) {
        const int to = around(r / g + b, N) * g + around(r % g + a, g);
        step.push_back({{r, to, {r * n + to}, false}, 0, {}, {}});
      }
      p.step(step);
    }
}
/// In two levels: to the rank of the own group in the receiver's place, then across to the receiver. Slot from x n + to.
inline void two_level_exchange(Program& p, int g) {
  const int n = p.ranks(), N = n / g;
  std::vector<Send> inside, across;
  for (int r = 0; r < n; ++r)
    for (int k = 1; k < g; ++k) {
      Send send{{r, r / g * g + around(r % g + k, g), {}, false}, 0, {}, {}};
      for (int d = 0; d < N; ++d) send.slots.push_back(r * n + d * g + send.to % g);
      inside.push_back(send);
    }
  for (int r = 0; r < n; ++r)
    for (int k = 1; k < N; ++k) {
      Send send{{r, around(r / g + k, N) * g + r % g, {}, false}, 0, {}, {}};
      for (int i = 0; i < g; ++i) send.slots.push_back((r / g * g + i) * n + send.to);
      across.push_back(send);
    }
  if (!inside.empty()) p.step(inside);
  if (!across.empty()) p.step(across);
}
/// Partners at doubling distances exchange all their data, level by level; places beyond a power of two give
/// theirs to one below and get the level's result back. One slot.
inline void recursive_doubling(Program& p, const std::vector<int>& sizes) {
  const int n = p.ranks();
  int stride = 1;
  for (const int m : sizes) {
    const int whole = power_of_two_below(m);
    const auto place = [&](int r) { return r / stride % m; };
    const auto fold = [&](bool in) {
      std::vector<Send> step;
      for (int r = 0; r < n; ++r)
        if (place(r) >= whole) step.push_back({{in ? r : r - whole * stride, in ? r - whole * stride : r, {0}, in}, 0, {}, {}});
      if (!step.empty()) p.step(step);
    };
    fold(true);
    for (int d = 1; d < whole; d *= 2) {
      std::vector<Send> step;
      for (int r = 0; r < n; ++r)
        if (place(r) < whole) step.push_back({{r, r + ((place(r) ^ d) - place(r)) * stride, {0}, true}, 0, {}, {}});
      p.step(step);
    }
    fold(false);
    stride *= m;
  }
}
/// Everything to every rank at once; slots as in the collective.
inline void direct(Program& p, Op op) {
  const int n = p.ranks();
  std::vector<Send> step;
  for (int r = 0; r < n; ++r)
    for (int k = 1; k < n; ++k) {
      const int to = around(r + k, n);
      step.push_back({{r, to, {op == Op::all_to_all ? r * n + to : op == Op::all_gather ? r : to}, op == Op::reduce_scatter}, 0, {}, {}});
    }
  p.step(step);
}

}  // namespace flow
