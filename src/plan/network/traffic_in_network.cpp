/// Collectives reduced or multicast in switches: every link carries a part once, for all ranks below it.
///
///   nvls             each GPU its part into the switches of the domain and the result back; of two stages the first adds up before the
///                    trunk
///   collnet_direct   inside, all ranks to all; rank i of every domain then has the i-th part, which its NIC hands the network's
///                    switches (SHARP) and takes back reduced
///   collnet_chain    inside, a chain that ends at the GPU whose NIC hands the part over; one chain for each NIC
///
/// In the network a part is a tree: the switches below one child of a tier add the data from below, so one
/// copy goes up and one comes down, as far as the part's ranks reach. all_reduce moves a part up and down;
/// reduce_scatter moves all parts up and only each domain's own down, all_gather the reverse. Between the
/// groups of a dragonfly with minimal routes the first group is the root.

#include <fabricost/plan/network/traffic.hpp>

#include <bit>
#include <utility>

namespace fabricost::plan {

/// On a two-stage trunk a group of m of n ranks reduces others' parts, (n-m)/n S, before they go up; its
/// own parts come down reduced, m/n S. Distributing results is the reverse.
void TrafficCounter::in_switch(const Domains& domains, Collective collective, double bytes) {
  if (t_.gpu_out < 0) refuse("nvls needs a domain joined by switches");
  const auto sink = add(bytes);
  for (const Group& d : domains.members) {
    std::map<int, double> below;
    for (const int gpu : d) {
      sink(t_.link(t_.gpu_out, gpu), 1);
      sink(t_.link(t_.gpu_in, gpu), 1);
      if (t_.trunk_up >= 0) ++below[t_.stage_of(gpu)];
    }
    if (below.size() < 2) continue;
    for (const auto& [stage, m] : below) {
      const double own = m / static_cast<double>(d.size());
      const double up = (reduces(collective) ? 1 - own : 0) + (collective != Collective::reduce_scatter ? own : 0);
      const double down = (reduces(collective) ? own : 0) + (collective != Collective::reduce_scatter ? 1 - own : 0);
      add(up)(t_.link(t_.trunk_up, stage), 1);
      add(down)(t_.link(t_.trunk_down, stage), 1);
    }
  }
}

/// One part, from one GPU of each domain: per byte of size, `up` bytes enter the network and `down` bytes
/// leave.
void TrafficCounter::aggregated(std::span<const int> heads, double up, double down) {
  if (t_.nic_out < 0) refuse("no NIC tier to leave a domain by");
  for (const int gpu : heads) {
    detail::nic_leg(t_, gpu, true, 1, add(up));
    detail::nic_leg(t_, gpu, false, 1, add(down));
  }
  for (const NetworkLevel& level : t_.levels) {
    std::map<std::pair<int, int>, double> below;  // child and lane: the share of the part there
    std::map<int, bool> children;
    for (const int gpu : heads) {
      const int child = t_.node_of(gpu) / level.span;
      children[child] = true;
      if (level.lanes == 1) {
        below[{child, 0}] = 1;
        continue;
      }
      detail::for_nics(t_, gpu, [&](int n, double share) { below[{child, n}] = std::max(below[{child, n}], share); });
    }
    if (children.size() < 2) return;  // all of them meet below
    if (level.up < 0) continue;
    if (level.pairs >= 0 && !options_.adaptive) {
      const int root = children.begin()->first;
      for (const auto& one : children) {
        if (one.first == root) continue;
        add(up)(t_.link(level.pairs, one.first * level.children + root), 1);
        add(down)(t_.link(level.pairs, root * level.children + one.first), 1);
      }
      continue;
    }
    for (const auto& [at, share] : below) {
      add(up)(t_.link(level.up, at.first * level.lanes + at.second), share);
      add(down)(t_.link(level.down, at.first * level.lanes + at.second), share);
    }
  }
}

TorusBlock block_of(const Topology& t, std::span<const int> ranks) {
  if (t.shape != TierKind::torus || ranks.empty()) return {};
  if (std::any_of(ranks.begin(), ranks.end(), [&](int rank) { return t.domain_of(rank) != t.domain_of(ranks[0]); })) return {};
  TorusBlock out;
  std::size_t chips = 1;
  for (int axis = 0, stride = 1; axis < static_cast<int>(t.dims.size()); stride *= t.dims[static_cast<std::size_t>(axis++)]) {
    int low = t.domain, high = 0;
    for (const int rank : ranks) {
      const int at = rank % t.domain / stride % t.dims[static_cast<std::size_t>(axis)];
      low = std::min(low, at);
      high = std::max(high, at);
    }
    out.first.push_back(low);
    out.length.push_back(high - low + 1);
    chips *= static_cast<std::size_t>(out.length.back());
  }
  return chips == ranks.size() ? out : TorusBlock{};  // ranks differ, so that as many as the block has chips are all of these
}

/// Loads every wire of the block that the ranks fill equally, along its axes. \throws RequestError for ranks that fill no two axes
void TrafficCounter::every_wire(std::span<const int> ranks, double bytes, std::string_view what) {
  const TorusBlock block = block_of(t_, ranks);
  const int axes = block.axes();
  if (axes < 2)
    refuse(std::string(what) + " runs on chips that fill two or three axes of one torus, or a block of it, which these " +
           std::to_string(ranks.size()) + " do not; write by ring, or place the group along whole axes");
  const int ways = 2 * static_cast<int>(t_.dims.size());
  const auto sink = add(bytes / (2 * axes));
  for (const int rank : ranks)
    for (int axis = 0, stride = 1; axis < static_cast<int>(t_.dims.size()); stride *= t_.dims[static_cast<std::size_t>(axis++)]) {
      const auto a = static_cast<std::size_t>(axis);
      if (block.length[a] < 2) continue;
      const int at = rank % t_.domain / stride % t_.dims[a];
      const bool closed = block.length[a] == t_.dims[a] && t_.wrap && (t_.open_axes >> axis & 1U) == 0;
      if (closed || at + 1 < block.first[a] + block.length[a]) sink(t_.link(t_.wire, rank * ways + 2 * axis), 1);
      if (closed || at > block.first[a]) sink(t_.link(t_.wire, rank * ways + 2 * axis + 1), 1);
    }
}

}  // namespace fabricost::plan
