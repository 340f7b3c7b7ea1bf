#pragma once
/// All-to-all in two levels, one partner at a time or all at once; and other algorithms that send to all at
/// once, including one-shot and two-shot all-reduce.

#include "world.hpp"

namespace oracle {

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
/// One step in which every rank sends slots(from, to) to every other.
template <class Slots>
void all_at_once(World& w, bool adds, Slots&& slots) {
  Step step;
  for (int r = 0; r < w.ranks(); ++r)
    for (int to = 0; to < w.ranks(); ++to)
      if (to != r) step.push_back({r, to, slots(r, to), adds});
  w.run(step);
}
inline void direct_all_to_all(World& w) {
  all_at_once(w, false, [n = w.ranks()](int from, int to) { return std::vector<int>{from * n + to}; });
}
inline void direct_all_gather(World& w) {
  all_at_once(w, false, [](int from, int) { return std::vector<int>{from}; });
}
inline void direct_reduce_scatter(World& w) {
  all_at_once(w, true, [](int, int to) { return std::vector<int>{to}; });
}
/// Every rank reads everything of every other.
inline void one_shot(World& w) {
  all_at_once(w, true, [everything = every_slot(w)](int, int) { return everything; });
}
/// Every rank reduces its part, then reads every part.
inline void two_shot(World& w) {
  direct_reduce_scatter(w);
  direct_all_gather(w);
}

}  // namespace oracle
