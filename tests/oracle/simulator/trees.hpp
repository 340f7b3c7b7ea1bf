#pragma once
/// A chain inside each group, a double binary tree over the groups' heads.

#include "world.hpp"

namespace oracle {

/// Parents and depths of a binary tree over a power of two of nodes whose leaves are the odd ones: 0 has one
/// child, N/2, below which halves are split again. The second tree counts from the other end, so that its
/// leaves are inner nodes of the first.
struct Tree {
  std::vector<int> parent, depth;
};
inline Tree binary_tree(int nodes, bool from_other_end) {
  Tree t{std::vector<int>(static_cast<std::size_t>(nodes), -1), std::vector<int>(static_cast<std::size_t>(nodes), 0)};
  const auto name = [&](int i) { return static_cast<std::size_t>(from_other_end ? nodes - 1 - i : i); };
  struct Part {
    int first, span, parent, depth;
  };
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
