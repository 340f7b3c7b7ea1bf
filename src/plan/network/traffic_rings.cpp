/// Who sends to whom in rings and trees: chains through each domain, along its wires if it has any, with a
/// separate channel for every NIC.

#include <fabricost/plan/network/traffic.hpp>
#include "network/rings.hpp"

namespace fabricost::plan {

/// A ring through a block of a torus from neighbour to neighbour, both ways. The axes but the last make a path, every other row backwards;
/// path and last axis are a grid, of which a ring goes to and fro over all but one line and comes back along that one. A grid with both
/// lengths odd has none: there it is a path, whose ends meet where axes close.
std::vector<std::vector<int>> rings_of(const Topology& t, const TorusBlock& block) {
  std::vector<int> path{0}, last{0};  // distances from the block's first chip
  int stride = 1, place = 0;
  for (std::size_t axis = 0; axis < t.dims.size(); stride *= t.dims[axis++]) {
    place += block.first[axis] * stride;
    if (block.length[axis] < 2) continue;
    const std::vector<int> before = path;  // the axis before is part of the path now
    if (last.size() > 1) {
      path.clear();
      for (std::size_t i = 0; i < last.size(); ++i)
        for (std::size_t j = 0; j < before.size(); ++j) path.push_back(last[i] + before[i % 2 == 0 ? j : before.size() - 1 - j]);
    }
    last.clear();
    for (int i = 0; i < block.length[axis]; ++i) last.push_back(i * stride);
  }
  if (path.size() % 2 != 0) path.swap(last);
  const bool closes = path.size() % 2 == 0;
  std::vector<int> ring;
  for (std::size_t i = 0; i < path.size(); ++i)
    for (std::size_t j = closes ? 1 : 0; j < last.size(); ++j)
      ring.push_back(place + path[i] + last[i % 2 == 0 ? j : last.size() - 1 - j + (closes ? 1 : 0)]);
  for (std::size_t i = path.size(); closes && i-- > 0;) ring.push_back(place + path[i] + last[0]);
  return {ring, {ring.rbegin(), ring.rend()}};
}

/// Link-disjoint rings of a wired domain, endpoints by their number in it, and both ways round a block of a torus; empty for other domains.
const std::vector<std::vector<int>>& TrafficCounter::rings_among(const Group& members) {
  Group places;
  for (const int gpu : members) places.push_back(gpu % t_.domain);
  const auto at = rings_.find(places);
  if (at != rings_.end()) return at->second;
  if (const TorusBlock block = block_of(t_, members); block.axes() > 1) return rings_[places] = rings_of(t_, block);
  const bool wired = t_.shape == TierKind::mesh_graph || t_.shape == TierKind::full_mesh;
  return rings_[places] = wired && places.size() > 1 && places.size() <= 32 ? disjoint_rings(t_, places) : std::vector<std::vector<int>>{};
}

/// One domain: `bytes` from each rank to the next, over all of its rings.
void TrafficCounter::inner_ring(const Group& members, double bytes) {
  const std::size_t n = members.size();
  if (n < 2) return;
  const int base = t_.domain_of(members[0]) * t_.domain;
  const auto& rings = rings_among(members);
  for (const auto& order : rings)
    for (std::size_t i = 0; i < n; ++i) send(base + order[i], base + order[(i + 1) % n], bytes / static_cast<double>(rings.size()));
  if (!rings.empty()) return;
  const bool both_ways = t_.shape == TierKind::torus || t_.shape == TierKind::ring;
  for (std::size_t i = 0; i < n; ++i) {
    send(members[i], members[(i + 1) % n], both_ways ? bytes / 2 : bytes);
    if (both_ways) send(members[(i + 1) % n], members[i], bytes / 2);
  }
}

/// Channels between domains: one per rank of a domain, each with its own NIC, times the rings of a wired
/// domain.
std::size_t TrafficCounter::channels_of(const Domains& domains) {
  std::size_t variants = 1;
  for (const Group& d : domains.members) variants = std::max(variants, rings_among(d).size());
  return domains.max * variants;
}

/// The ranks of a domain in the order of a channel, its own rank last; along wires where there are any.
TrafficCounter::Group TrafficCounter::ending_with(const Group& members, std::size_t channel, std::size_t max) {
  const std::size_t g = members.size(), last = channel % g;
  const auto& rings = rings_among(members);
  Group order;
  order.reserve(g);
  if (rings.empty()) {
    for (std::size_t i = 1; i <= g; ++i) order.push_back(members[(last + i) % g]);
    return order;
  }
  const int base = t_.domain_of(members[0]) * t_.domain;
  const auto& cycle = rings[channel / max % rings.size()];
  const auto cut = static_cast<std::size_t>(std::find(cycle.begin(), cycle.end(), members[last] - base) - cycle.begin());
  for (std::size_t i = 1; i <= g; ++i) order.push_back(base + cycle[(cut + i) % g]);
  return order;
}

void TrafficCounter::ring(std::span<const int> ranks, double bytes) {
  const Domains domains = by_domain(ranks);
  if (domains.members.size() == 1) return inner_ring(domains.members[0], bytes);
  const std::size_t channels = channels_of(domains);
  Group order;
  for (std::size_t c = 0; c < channels; ++c) {
    order.clear();
    for (const Group& d : domains.members) {
      const Group part = ending_with(d, c, domains.max);
      order.insert(order.end(), part.begin(), part.end());
    }
    for (std::size_t i = 0; i < order.size(); ++i) send(order[i], order[(i + 1) % order.size()], bytes / static_cast<double>(channels));
  }
}

/// `switched_inside`: the domain reduces in its switches (nvls_tree); each rank sends and receives an even
/// share.
void TrafficCounter::trees(const Domains& domains, Collective collective, bool switched_inside) {
  const bool up = collective != Collective::broadcast, down = collective != Collective::reduce;
  const auto both = [&](int child, int parent, double bytes) {
    if (up) send(child, parent, bytes);
    if (down) send(parent, child, bytes);
  };
  const std::size_t channels = channels_of(domains);
  const double part = 1 / static_cast<double>(channels);
  const std::size_t N = domains.members.size();
  Group heads(N);  // heads of the chains, which meet in the trees
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t d = 0; d < N; ++d) {
      const Group chain = ending_with(domains.members[d], c, domains.max);
      heads[d] = chain.back();
      for (std::size_t i = 1; i < chain.size() && !switched_inside; ++i) both(chain[i - 1], chain[i], part);
    }
    for (int which = 0; which < 2 && N > 1; ++which) {
      // the second tree is the first mirrored, or shifted by one where mirroring would leave a domain interior twice
      const auto node = [&](std::size_t r) { return which == 0 ? r : N % 2 == 0 ? N - 1 - r : (r + 1) % N; };
      for (std::size_t r = 1; r < N; ++r) {
        const std::size_t low = r & (~r + 1);
        std::size_t parent = (r ^ low) | (low << 1);
        if (parent >= N) parent = r ^ low;
        both(heads[node(r)], heads[node(parent)], part / 2);
      }
    }
  }
}

}  // namespace fabricost::plan
