#pragma once
/// Initial state of ranks for a collective, and the required result.

#include "world.hpp"

namespace oracle {

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

}  // namespace oracle
