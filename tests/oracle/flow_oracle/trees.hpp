#pragma once
/// Pipelined trees and switches that reduce and multicast. The message is sent in chunks; a rank limits its
/// chunks in flight.

#include "rings.hpp"

namespace flow {

/// Parents in NCCL's binary tree over a power of two of nodes, whose leaves are the odd ones: node 0 has one
/// child. The second tree counts from the other end, so that its leaves are the first one's inner nodes.
inline std::vector<int> tree_parents(int nodes, bool from_other_end) {
  std::vector<int> parent(static_cast<std::size_t>(nodes), -1);
  const auto name = [&](int i) { return from_other_end ? nodes - 1 - i : i; };
  const std::function<void(int, int, int)> split = [&](int first, int span, int above) {
    if (span < 2) return;
    const int node = first + span / 2;
    parent[static_cast<std::size_t>(name(node))] = name(above);
    split(first, span / 2, node);
    split(node, span / 2, node);
  };
  split(0, nodes, 0);
  return parent;
}
/// Nodes so that children come before parents.
inline std::vector<int> leaves_first(const std::vector<int>& parent) {
  std::vector<std::pair<int, int>> depth;
  for (std::size_t i = 0; i < parent.size(); ++i) {
    int d = 0;
    for (int at = static_cast<int>(i); parent[static_cast<std::size_t>(at)] >= 0; at = parent[static_cast<std::size_t>(at)]) ++d;
    depth.push_back({-d, static_cast<int>(i)});
  }
  std::sort(depth.begin(), depth.end());
  std::vector<int> out;
  for (const auto& d : depth) out.push_back(d.second);
  return out;
}

/// All-reduce: a chain inside each group of g up to its first rank, two trees with half the message each over
/// the groups, and back. Slot tree x chunks + chunk. A group has at most `window` chunks of a tree in flight.
inline void double_tree(Program& p, Op op, int g, int chunks, int window) {
  const int N = p.ranks() / g;
  std::vector<std::vector<int>> last(2, std::vector<int>(static_cast<std::size_t>(N * chunks), -1));  // flow that ends (tree, group, chunk)
  for (int c = 0; c < chunks; ++c)
    for (int t = 0; t < 2; ++t) {
      const std::vector<int> parent = tree_parents(N, t == 1);
      const std::vector<int> order = leaves_first(parent);
      const int slot = t * chunks + c;
      const auto ends = [&](int group, int chunk) -> int& {
        return last[static_cast<std::size_t>(t)][static_cast<std::size_t>(group * chunks + chunk)];
      };
      const auto credit = [&](int group) {
        return c >= window && ends(group, c - window) >= 0 ? std::vector<int>{ends(group, c - window)} : std::vector<int>{};
      };
      if (op != Op::broadcast) {
        for (const int group : order) {
          for (int i = g - 1; i > 0; --i)
            p.send({{group * g + i, group * g + i - 1, {slot}, true}, 2 * t, {}, i == g - 1 ? credit(group) : std::vector<int>{}});
          const int up = parent[static_cast<std::size_t>(group)];
          if (up >= 0) p.send({{group * g, up * g, {slot}, true}, 2 * t, {}, g == 1 ? credit(group) : std::vector<int>{}});
        }
      }
      if (op != Op::reduce) {
        for (auto group = order.rbegin(); group != order.rend(); ++group) {
          const int up = parent[static_cast<std::size_t>(*group)];
          if (up >= 0) ends(*group, c) = p.send({{up * g, *group * g, {slot}, false}, 2 * t + 1, {}, {}});
          for (int i = 1; i < g; ++i) ends(*group, c) = p.send({{*group * g + i - 1, *group * g + i, {slot}, false}, 2 * t + 1, {}, {}});
        }
      }
    }
}

/// A domain's switches add what all ranks send and give it to the rank that owns the part; a rank's multicast
/// reaches all, including the sender. Links 2 r and 2 r + 1 are rank r's ports out and in.
class Switches {
 public:
  Switches(Program& p, double latency, double share) : p_(p), latency_(latency), share_(share) {}
  /// Adds `slot` of ranks first..first+g-1 into `owner`'s.
  int gather(int first, int g, int owner, int slot, const std::vector<int>& after_sent) {
    std::vector<Use> uses;
    std::vector<Move> moves;
    for (int r = first; r < first + g; ++r) {
      uses.push_back({2 * r, 1});
      if (r != owner) moves.push_back({r, owner, {slot}, true});
    }
    uses.push_back({2 * owner + 1, 1});
    return p_.in_switch(share_, latency_, uses, moves, after_sent);
  }
  int multicast(int first, int g, int owner, int slot, const std::vector<int>& after_sent) {
    std::vector<Use> uses{{2 * owner, 1}};
    std::vector<Move> moves;
    for (int r = first; r < first + g; ++r) {
      uses.push_back({2 * r + 1, 1});
      if (r != owner) moves.push_back({owner, r, {slot}, false});
    }
    return p_.in_switch(share_, latency_, uses, moves, after_sent);
  }

 private:
  Program& p_;
  double latency_, share_;
};

/// In-switch collective inside one domain of n ranks; slot chunk x n + owner, `share` of S each.
inline void in_switch(Program& p, Op op, int chunks, double latency, double share) {
  const int n = p.ranks();
  Switches switches(p, latency, share);
  std::vector<int> gathered(static_cast<std::size_t>(n), -1), cast(static_cast<std::size_t>(n), -1);
  const auto queue = [](int id) { return id < 0 ? std::vector<int>{} : std::vector<int>{id}; };
  for (int c = 0; c < chunks; ++c) {
    if (op != Op::all_gather)
      for (int r = 0; r < n; ++r)
        gathered[static_cast<std::size_t>(r)] = switches.gather(0, n, r, c * n + r, queue(gathered[static_cast<std::size_t>(r)]));
    if (op != Op::reduce_scatter)
      for (int r = 0; r < n; ++r)
        cast[static_cast<std::size_t>(r)] = switches.multicast(0, n, r, c * n + r, queue(cast[static_cast<std::size_t>(r)]));
  }
}

/// In-switch inside domains of g, double trees between equal ranks of the N domains. Slot (tree x chunks + chunk) x g + owner.
inline void in_switch_tree(Program& p, int g, int chunks, int window, double latency, double share) {
  const int N = p.ranks() / g;
  Switches switches(p, latency, share);
  std::map<std::tuple<int, int, int>, int> ends;  // (slot, domain): the multicast that ends it
  std::map<std::pair<int, int>, int> up_queue, down_queue;
  for (int c = 0; c < chunks; ++c)
    for (int t = 0; t < 2; ++t) {
      const std::vector<int> parent = tree_parents(N, t == 1), order = leaves_first(parent);
      for (int owner = 0; owner < g; ++owner) {
        const int slot = (t * chunks + c) * g + owner;
        for (const int d : order) {
          const int me = d * g + owner;
          std::vector<int> after;
          if (const auto q = up_queue.find({me, t}); q != up_queue.end()) after.push_back(q->second);
          if (c >= window) after.push_back(ends.at({slot - window * g, d, 0}));
          up_queue[{me, t}] = switches.gather(d * g, g, me, slot, after);
          if (const int up = parent[static_cast<std::size_t>(d)]; up >= 0) p.send({{me, up * g + owner, {slot}, true}, 2 * t, {}, {}});
        }
        for (auto d = order.rbegin(); d != order.rend(); ++d) {
          const int me = *d * g + owner, up = parent[static_cast<std::size_t>(*d)];
          if (up >= 0) p.send({{up * g + owner, me, {slot}, false}, 2 * t + 1, {}, {}});
          std::vector<int> after;
          if (const auto q = down_queue.find({me, t}); q != down_queue.end()) after.push_back(q->second);
          ends[{slot, *d, 0}] = down_queue[{me, t}] = switches.multicast(*d * g, g, me, slot, after);
        }
      }
    }
}

}  // namespace flow
