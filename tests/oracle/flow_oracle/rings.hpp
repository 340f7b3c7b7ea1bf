#pragma once
/// Rings, chains and the bucket algorithm, send by send. Each rank forwards data as soon as it has it.

#include "program.hpp"

#include <numeric>

namespace flow {

/// Blocks of slots that circulate among members; `links[i]` from member i to the next if the algorithm
/// chooses them.
struct Ring {
  std::vector<int> members;
  std::vector<std::vector<int>> blocks;  ///< of member i: the result of a reduce-scatter, the input of an all-gather
  std::vector<std::vector<int>> links;
  int stream = 0;
};

inline int around(int i, int n) { return ((i % n) + n) % n; }

/// One half of a ring's work. Steps of several rings interleave in program order; sends wait only for data.
inline void go_around(Program& p, const std::vector<Ring>& rings, bool reducing) {
  for (const Ring& ring : rings) {
    const int m = static_cast<int>(ring.members.size());
    for (int s = 0; s < m - 1; ++s)
      for (int i = 0; i < m; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const auto& block = ring.blocks[static_cast<std::size_t>(around(reducing ? i - s - 1 : i - s, m))];
        if (block.empty()) continue;
        Send send{{ring.members[at], ring.members[static_cast<std::size_t>(around(i + 1, m))], block, reducing}, ring.stream, {}, {}};
        if (!ring.links.empty()) send.links = ring.links[at];
        p.send(send);
      }
  }
}
inline void ring_collective(Program& p, Op op, const std::vector<Ring>& rings) {
  if (op != Op::all_gather) go_around(p, rings, true);
  if (op != Op::reduce_scatter) go_around(p, rings, false);
}
/// Ring number `copy` through `members`; its slots are copy x n + rank.
inline Ring ring_through(const std::vector<int>& members, int copy) {
  Ring ring{members, {}, {}, copy};
  for (const int r : members) ring.blocks.push_back({copy * static_cast<int>(members.size()) + r});
  return ring;
}

/// From members[0] along the list, chunk after chunk; `reducing`: adding up on the way.
inline void chain(Program& p, const std::vector<int>& members, bool reducing) {
  for (int s = 0; s < p.slots(); ++s)
    for (std::size_t i = 0; i + 1 < members.size(); ++i) p.send({{members[i], members[i + 1], {s}, reducing}, 0, {}, {}});
}

/// Rings inside groups of g, then among equal ranks of all groups; slot r belongs to rank r.
inline void hierarchical(Program& p, Op op, int g) {
  const int n = p.ranks(), N = n / g;
  std::vector<Ring> inside, across;
  for (int group = 0; group < N; ++group) {
    Ring ring;
    for (int i = 0; i < g; ++i) {
      ring.members.push_back(group * g + i);
      std::vector<int> block;
      for (int k = 0; k < N; ++k) block.push_back(k * g + i);
      ring.blocks.push_back(block);
    }
    inside.push_back(ring);
  }
  for (int i = 0; i < g; ++i) {
    Ring ring;
    for (int k = 0; k < N; ++k) {
      ring.members.push_back(k * g + i);
      ring.blocks.push_back({k * g + i});
    }
    across.push_back(ring);
  }
  if (op != Op::all_gather) {
    if (g > 1) go_around(p, inside, true);
    if (N > 1) go_around(p, across, true);
  }
  if (op != Op::reduce_scatter) {
    if (N > 1) go_around(p, across, false);
    if (g > 1) go_around(p, inside, false);
  }
}

/// The bucket algorithm (Sack & Gropp 2015): 2 d equal parts; part q begins along axis q mod d, forwards or
/// backwards; slot q n + chip. Each part proceeds at its own pace.
inline void bucket(Program& p, Op op, const Grid& grid) {
  const int n = grid.chips(), d = grid.axes();
  const auto run_axis = [&](int part, int phase, bool reducing) {
    const int axis = (part + phase) % d, m = grid.length(axis), sign = part < d ? 1 : -1;
    std::vector<Ring> rings;
    for (int first = 0; first < n; ++first) {
      if (grid.at(first, axis) != 0) continue;
      Ring ring;
      ring.stream = part;
      for (int i = 0, chip = first; i < m; ++i, chip = grid.next(chip, axis, sign)) {
        ring.members.push_back(chip);
        ring.links.push_back({grid.link(chip, axis, sign)});
        std::vector<int> block;
        for (int c = 0; c < n; ++c) {
          bool mine = grid.at(c, axis) == grid.at(chip, axis);
          for (int f = 0; f < phase; ++f) mine = mine && grid.at(c, (part + f) % d) == grid.at(chip, (part + f) % d);
          if (mine) block.push_back(part * n + c);
        }
        ring.blocks.push_back(block);
      }
      rings.push_back(ring);
    }
    go_around(p, rings, reducing);
  };
  for (int part = 0; part < 2 * d; ++part) {
    if (op != Op::all_gather)
      for (int f = 0; f < d; ++f)
        if (grid.length((part + f) % d) > 1) run_axis(part, f, true);
    if (op != Op::reduce_scatter)
      for (int f = d - 1; f >= 0; --f)
        if (grid.length((part + f) % d) > 1) run_axis(part, f, false);
  }
}

/// Directed circles through all n ranks that use every link (counted in `left`, n x n) exactly once: as many
/// as each rank has links. Found by backtracking; false if there are none.
inline bool split_into_circles(std::vector<int>& left, int n, int wanted, std::vector<std::vector<int>>& found) {
  if (static_cast<int>(found.size()) == wanted) return true;
  std::vector<int> path{0};
  std::vector<bool> seen(static_cast<std::size_t>(n), false);
  seen[0] = true;
  const auto link = [&](int a, int b) -> int& { return left[static_cast<std::size_t>(a * n + b)]; };
  const std::function<bool()> extend = [&]() -> bool {
    const int at = path.back();
    if (static_cast<int>(path.size()) == n) {
      if (link(at, 0) == 0) return false;
      --link(at, 0);
      found.push_back(path);
      if (split_into_circles(left, n, wanted, found)) return true;
      found.pop_back();
      ++link(at, 0);
      return false;
    }
    for (int next = 1; next < n; ++next) {
      if (seen[static_cast<std::size_t>(next)] || link(at, next) == 0) continue;
      --link(at, next);
      seen[static_cast<std::size_t>(next)] = true;
      path.push_back(next);
      if (extend()) return true;
      path.pop_back();
      seen[static_cast<std::size_t>(next)] = false;
      ++link(at, next);
    }
    return false;
  };
  return extend();
}

}  // namespace flow
