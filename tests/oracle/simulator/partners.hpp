#pragma once
/// Partners at doubling distances: halving and doubling (with ranks beyond a power of two folded into a neighbour), recursive doubling,
/// Bruck.

#include "collectives.hpp"

namespace oracle {

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
/// Every slot belongs to the rank of its number; ranks without a slot are idle. A rank gives its partner all
/// slots on the partner's side.
inline void halving(World& w, bool near_first) {
  const int n = w.slots();
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
/// The reverse: ranks that own a slot give their partners all they have gathered.
inline void doubling(World& w, bool near_first) {
  const int n = w.slots();
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
/// All-reduce of any number of ranks: those beyond the power of two fold into a neighbour and get the result
/// back.
inline World folded_all_reduce(int ranks) {
  const int p = power_below(ranks);
  World w = everyone_contributes({ranks}, p);
  const std::vector<int> everything = every_slot(w);
  Step in, out;
  for (int r = p; r < ranks; ++r) {
    in.push_back({r, r - p, everything, true});
    out.push_back({r - p, r, everything, false});
  }
  w.run(in);
  halving(w, false);
  doubling(w, false);
  w.run(out);
  return w;
}

/// All-reduce of any number of ranks: partners exchange everything. Those beyond the power of two first fold
/// into one of the others and get the result back.
inline void recursive_doubling(World& w) {
  const int p = power_below(w.ranks());
  const std::vector<int> everything = every_slot(w);
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

/// Bruck: the item of relative number i = to - from moves by every power of two in i.
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

}  // namespace oracle
