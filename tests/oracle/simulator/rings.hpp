#pragma once
/// Rings: each rank forwards to the next. `members` in order, each part of the slots is one block of the
/// ring. Hierarchical: rings inside, then among equal ranks of all groups.

#include "world.hpp"

namespace oracle {

/// One step of several rings at once: (members, blocks) where blocks[i] are the slots that member i ends with.
struct Ring {
  std::vector<int> members;
  std::vector<std::vector<int>> blocks;
};

/// Around the ring except for one step: in step s member i forwards block i - behind - s.
inline void pass_around(World& w, const std::vector<Ring>& rings, int behind, bool adds) {
  const int m = static_cast<int>(rings.front().members.size());
  for (int s = 0; s < m - 1; ++s) {
    Step step;
    for (const Ring& ring : rings)
      for (int i = 0; i < m; ++i)
        step.push_back({ring.members[static_cast<std::size_t>(i)], ring.members[static_cast<std::size_t>(wrapped(i + 1, m))],
                        ring.blocks[static_cast<std::size_t>(wrapped(i - behind - s, m))], adds});
    w.run(step);
  }
}
inline void ring_reduce_scatter(World& w, const std::vector<Ring>& rings) { pass_around(w, rings, 1, true); }
inline void ring_all_gather(World& w, const std::vector<Ring>& rings) { pass_around(w, rings, 0, false); }
/// All ranks in order, one slot each.
inline Ring whole_ring(int ranks) {
  Ring ring;
  for (int r = 0; r < ranks; ++r) {
    ring.members.push_back(r);
    ring.blocks.push_back({r});
  }
  return ring;
}
/// From rank 0 around the circle, `chunks` slots one after the other.
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

namespace detail {
/// The rings of a level: ranks that differ only in that digit. After the halves of the lower levels, a rank
/// has the slots that agree with it in the lower digits; member i of the ring ends with those that have digit
/// i here.
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

}  // namespace oracle
