#pragma once
/// \file topology.hpp
/// The directed links of a machine, built from a System: what a GPU, a PCIe switch, a NIC and every switch of the network can
/// carry one way, in bytes per second.
///
/// Links that are alike are stored once, as a block with a count: a link is a number, its block says what it carries, and the
/// place inside the block says whose it is. A machine of 16,384 GPUs on three network levels is eleven blocks.
///
///   scale-up by switches   GPU -> switch plane, plane -> GPU, all planes of one GPU together (traffic is striped over them)
///   scale-up by wires      one link per direction and neighbour: full mesh, mesh graph, ring, torus
///   PCIe or C2C            GPU -> switch or processor; where `shared_by` GPUs hang on one port, that port upward
///   NICs                   out and in
///   network tiers          what leaves one child of the tier: span x NICs x rate / oversubscription; one per rail where rails run
///                          apart; at the top of a dragonfly also the wires between each two groups
///
/// Rates are the datasheet's one-way rates, PCIe after packet headers, as predictions use them. Not modelled: the trunks of a
/// two-stage scale-up switch (DGX-2: as wide as the links, hardware.md section 2) and the links between processors.

#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/label.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace fabricost {

enum class LinkKind : unsigned char { gpu_out, gpu_in, wire, host_out, host_in, port_up, port_down, nic_out, nic_in, tier_up, tier_down, groups };

/// Links that differ only in whose they are.
struct LinkBlock {
  LinkKind kind = LinkKind::gpu_out;
  Label tier;
  double capacity = 0;   ///< bytes per second, one way
  double latency = 0;    ///< seconds a message spends here
  double lanes = 1;      ///< physical links of which it is made; hashing spreads flows over them
  int first = 0;         ///< number of its first link
  int count = 0;
  int level = 0;         ///< of a network tier, from 0
};

/// A direct link inside a scale-up domain, one way.
struct Wire {
  int from = 0, to = 0;
  double links = 1;
};

/// One network tier. Its children are groups of `span` nodes.
struct NetworkLevel {
  Label name;
  TierKind kind = TierKind::fat_tree;
  int span = 1;          ///< nodes below one child
  int children = 1;      ///< of the whole machine
  int lanes = 1;         ///< separate bundles of one child: rails, or 1
  double taper = 1;
  int up = -1, down = -1, pairs = -1;  ///< blocks; -1 where the links are the NICs' own, or no dragonfly
};

struct Topology {
  std::string name;
  int nodes = 1, gpus_per_node = 1, domain = 1;
  TierKind shape = TierKind::switched;  ///< of the scale-up domain
  bool joined = false;                  ///< there is a scale-up tier
  bool peer_to_peer = true;             ///< of a PCIe domain
  bool wrap = true;
  std::vector<int> dims;                ///< of a torus
  std::vector<Wire> wires;              ///< of one domain, sorted by (from, to); empty for a torus, whose are computed
  std::vector<int> first_wire;          ///< of each endpoint, and the end
  int port_gpus = 1;                    ///< GPUs on one port upward
  int nics = 0;                         ///< of one node
  int nic_group = 1;                    ///< NICs that share one link
  bool railed = false;                  ///< NIC i of every node meets on leaf i
  NicPath path = NicPath::pxb;
  bool gpu_direct = true;
  std::vector<NetworkLevel> levels;
  std::vector<LinkBlock> blocks;
  int gpu_out = -1, gpu_in = -1, wire = -1, host_out = -1, host_in = -1, port_up = -1, port_down = -1, nic_out = -1, nic_in = -1;  ///< blocks

  [[nodiscard]] int gpus() const { return nodes * gpus_per_node; }
  [[nodiscard]] int links() const { return blocks.empty() ? 0 : blocks.back().first + blocks.back().count; }
  [[nodiscard]] int domain_of(int gpu) const { return gpu / domain; }
  [[nodiscard]] int node_of(int gpu) const { return gpu / gpus_per_node; }
  [[nodiscard]] int wires_per_domain() const {
    return shape == TierKind::torus ? domain * 2 * static_cast<int>(dims.size()) : static_cast<int>(wires.size());
  }
  [[nodiscard]] const LinkBlock& block_of(int link) const {
    const auto after = std::upper_bound(blocks.begin(), blocks.end(), link, [](int n, const LinkBlock& b) { return n < b.first; });
    return *(after - 1);
  }
  /// Bytes per second, one way.
  [[nodiscard]] double capacity(int link) const {
    const LinkBlock& b = block_of(link);
    if (b.kind != LinkKind::wire || shape == TierKind::torus) return b.capacity;
    return b.capacity * wires[static_cast<std::size_t>((link - b.first) % wires_per_domain())].links;
  }
  [[nodiscard]] double latency(int link) const { return block_of(link).latency; }
  /// Number of link `at` of a block.
  [[nodiscard]] int link(int block, int at) const { return blocks[static_cast<std::size_t>(block)].first + at; }
  /// The wire between two endpoints of a domain, counted from the domain's first; -1 where there is none.
  [[nodiscard]] int wire_between(int from, int to) const {
    const auto begin = wires.begin() + first_wire[static_cast<std::size_t>(from)];
    const auto end = wires.begin() + first_wire[static_cast<std::size_t>(from) + 1];
    const auto at = std::lower_bound(begin, end, to, [](const Wire& w, int n) { return w.to < n; });
    return at != end && at->to == to ? static_cast<int>(at - wires.begin()) : -1;
  }
};

namespace detail {

inline constexpr long long most_links = 1LL << 24;  ///< a machine of 100,000 GPUs has a million

inline int add_block(Topology& t, LinkKind kind, const Label& tier, double capacity, double latency, double lanes, long long count, int level = 0) {
  if (count + t.links() > most_links)
    throw RequestError(t.name + ": tier " + tier.c_str() + " brings it to " + std::to_string(count + t.links()) +
                       " links, more than can be laid out; ask for fewer nodes");
  if (!(capacity > 0)) throw RequestError(t.name + ": tier " + tier.c_str() + " has links that carry nothing");
  t.blocks.push_back({kind, tier, capacity, latency, lanes, t.links(), static_cast<int>(count), level});
  return static_cast<int>(t.blocks.size()) - 1;
}

/// The wires of one domain in both directions, by (from, to).
[[nodiscard]] inline std::vector<Wire> wires_of(const Tier& tier, int joined) {
  std::vector<Wire> out;
  const int n = tier.endpoints;
  if (tier.kind == TierKind::mesh_graph)
    for (const Edge& e : tier.edges) {
      out.push_back({e.from, e.to, static_cast<double>(e.links)});
      out.push_back({e.to, e.from, static_cast<double>(e.links)});
    }
  if (tier.kind == TierKind::full_mesh)
    for (int a = 0; a < n; ++a)
      for (int b = 0; b < n; ++b)
        if (a != b) out.push_back({a, b, static_cast<double>(tier.links) / (n - 1)});
  if (tier.kind == TierKind::ring && n > 1)
    for (int a = 0; a < n; ++a)
      for (const int b : {(a + 1) % n, (a + n - 1) % n}) out.push_back({a, b, tier.links / 2.0});
  std::sort(out.begin(), out.end(), [](const Wire& x, const Wire& y) { return x.from != y.from ? x.from < y.from : x.to < y.to; });
  std::vector<Wire> merged;  // parallel edges given apart, and both ways around a ring of two
  for (const Wire& w : out)
    if (w.from >= joined || w.to >= joined)
      continue;  // the tier joins more than the domain has
    else if (!merged.empty() && merged.back().from == w.from && merged.back().to == w.to)
      merged.back().links += w.links;
    else
      merged.push_back(w);
  return merged;
}

inline void add_scale_up(Topology& t, const Tier& tier) {
  t.joined = t.domain > 1;
  t.shape = tier.kind;
  t.wrap = tier.wrap;
  t.peer_to_peer = tier.kind != TierKind::host || tier.peer_to_peer;
  const long long domains = (t.gpus() + t.domain - 1) / t.domain;
  if (tier.kind == TierKind::full_mesh && tier.endpoints > 1024)
    throw RequestError(t.name + ": tier " + tier.name.c_str() + ": a full mesh of " + std::to_string(tier.endpoints) + " has too many wires to lay out");
  const bool closed = tier.kind == TierKind::ring || tier.kind == TierKind::torus;
  long long chips = tier.endpoints;
  if (tier.kind == TierKind::torus) {
    chips = 1;
    for (const int d : tier.dims) chips = std::min<long long>(chips * d, most_links);
  }
  if (closed && t.joined && chips != t.domain)
    throw RequestError(t.name + ": tier " + tier.name.c_str() + " joins " + std::to_string(chips) + " endpoints, the domain has " + std::to_string(t.domain));
  const double latency = tier.latency.value.value();
  const double link = tier.link_bandwidth.value();
  if (tier.kind == TierKind::host || !t.joined) return;  // PCIe comes with the host
  if (tier.kind == TierKind::torus) {
    t.dims = tier.dims;
    const int ways = 2 * static_cast<int>(t.dims.size());
    t.wire = add_block(t, LinkKind::wire, tier.name, link * tier.links / ways, latency, tier.links / ways, domains * t.domain * ways);
    return;
  }
  t.wires = wires_of(tier, t.domain);
  if (t.wires.empty()) {
    t.gpu_out = add_block(t, LinkKind::gpu_out, tier.name, tier.bandwidth.value.value(), latency, tier.links, t.gpus());
    t.gpu_in = add_block(t, LinkKind::gpu_in, tier.name, tier.bandwidth.value.value(), 0, tier.links, t.gpus());
    return;
  }
  t.first_wire.assign(static_cast<std::size_t>(t.domain) + 1, 0);
  for (const Wire& w : t.wires) ++t.first_wire[static_cast<std::size_t>(w.from) + 1];
  for (std::size_t i = 1; i < t.first_wire.size(); ++i) t.first_wire[i] += t.first_wire[i - 1];
  t.wire = add_block(t, LinkKind::wire, tier.name, link, latency, 1, domains * t.wires_per_domain());
}

inline void add_host(Topology& t, const Tier& tier) {
  const double rate = tier.bandwidth.value.value() * tier.efficiency;
  t.port_gpus = std::min(std::max(1, tier.shared_by), t.gpus_per_node);
  t.host_out = add_block(t, LinkKind::host_out, tier.name, rate, tier.latency.value.value(), 1, t.gpus());
  t.host_in = add_block(t, LinkKind::host_in, tier.name, rate, 0, 1, t.gpus());
  if (t.port_gpus < 2) return;
  const long long ports = static_cast<long long>(t.nodes) * ((t.gpus_per_node + t.port_gpus - 1) / t.port_gpus);
  t.port_up = add_block(t, LinkKind::port_up, tier.name, rate, 0, 1, ports);
  t.port_down = add_block(t, LinkKind::port_down, tier.name, rate, 0, 1, ports);
}

inline void add_network(Topology& t, const System& system, const Tier& nic) {
  t.nics = nic.endpoints;
  t.nic_group = std::max(1, nic.shared_by);
  t.railed = nic.kind == TierKind::rails;
  t.path = nic.path;
  t.gpu_direct = nic.gpu_direct;
  const int ways = (t.nics + t.nic_group - 1) / t.nic_group;  // out of one node
  const double rate = nic.bandwidth.value.value();
  t.nic_out = add_block(t, LinkKind::nic_out, nic.name, rate, nic.latency.value.value(), 1, static_cast<long long>(t.nodes) * ways);
  t.nic_in = add_block(t, LinkKind::nic_in, nic.name, rate, 0, 1, static_cast<long long>(t.nodes) * ways);
  int span = 1;
  for (const Tier& tier : system.tiers) {
    if (tier.role != TierRole::network) continue;
    NetworkLevel level{.name = tier.name, .kind = tier.kind, .span = span, .children = (t.nodes + span - 1) / span, .taper = tier.oversubscription};
    const bool apart = tier.kind == TierKind::rails && t.nic_group == 1;
    level.lanes = apart ? t.nics : 1;
    const double together = static_cast<double>(span) * ways / level.lanes;  // NICs that feed one bundle
    const double rate_out = together * rate / tier.oversubscription;
    const int index = static_cast<int>(t.levels.size());
    if (level.children > 1 && (span > 1 || tier.oversubscription > 1)) {
      const long long count = static_cast<long long>(level.children) * level.lanes;
      const double wide = std::max(1.0, std::round(together / tier.oversubscription));
      level.up = add_block(t, LinkKind::tier_up, tier.name, rate_out, tier.latency.value.value(), wide, count, index);
      level.down = add_block(t, LinkKind::tier_down, tier.name, rate_out, 0, wide, count, index);
    }
    t.levels.push_back(level);
    span = static_cast<int>(std::min<long long>(static_cast<long long>(span) * std::max(1, tier.endpoints), 1 << 30));
  }
  if (t.levels.empty() || t.levels.back().kind != TierKind::dragonfly) return;
  NetworkLevel& top = t.levels.back();
  if (top.up < 0 || top.children < 2 || top.children > 1024) return;
  const double each = t.blocks[static_cast<std::size_t>(top.up)].capacity / (top.children - 1);
  top.pairs = add_block(t, LinkKind::groups, top.name, each, 0, std::max(1.0, std::round(each / rate)), top.children * top.children,
                        static_cast<int>(t.levels.size()) - 1);
}

}  // namespace detail

/// The links of `nodes` nodes of a machine (0: all it has).
/// \throws RequestError for a count below zero, a scale-up tier that does not fit the domain, or a machine of more than 2^24 links
[[nodiscard]] inline Topology topology_of(const System& system, int nodes = 0) {
  if (nodes < 0) throw RequestError(system.name + ": " + std::to_string(nodes) + " nodes asked for; a count must not be negative");
  Topology t;
  t.name = system.name;
  t.nodes = nodes > 0 ? nodes : std::max(1, system.nodes);
  t.gpus_per_node = system.gpus_per_node;
  t.domain = std::max(1, system.domain);
  if (static_cast<long long>(t.nodes) * t.gpus_per_node > detail::most_links || t.domain > detail::most_links)
    throw RequestError(system.name + ": " + std::to_string(t.nodes) + " nodes are more than can be laid out link by link; ask for fewer");
  const Tier* scale_up = system.tier(TierRole::scale_up);
  if (scale_up != nullptr) {
    if (scale_up->endpoints < t.domain)
      throw RequestError(system.name + ": tier " + scale_up->name.c_str() + " joins " + std::to_string(scale_up->endpoints) + " of the domain's " +
                         std::to_string(t.domain) + " GPUs");
    detail::add_scale_up(t, *scale_up);
  }
  if (const Tier* host = host_tier(system)) detail::add_host(t, *host);
  if (const Tier* nic = system.tier(TierRole::nic)) detail::add_network(t, system, *nic);
  return t;
}

namespace detail {
[[nodiscard]] inline std::string numbers(int first, int count) {
  return count <= 1 ? std::to_string(first) : std::to_string(first) + (count == 2 ? " and " : " to ") + std::to_string(first + count - 1);
}
}  // namespace detail

/// A link in words: "nic 3 of node 1 (out)", "pcie port of GPUs 2 and 3 (up)", "core up-link of nodes 0 to 191 (7:1)".
[[nodiscard]] inline std::string name_of(const Topology& t, int link) {
  const LinkBlock& b = t.block_of(link);
  const int at = link - b.first;
  const std::string tier{b.tier.view()};
  const auto gpu = [](int n) { return "GPU " + std::to_string(n); };
  switch (b.kind) {
    case LinkKind::gpu_out: return tier + " of " + gpu(at) + " (out)";
    case LinkKind::gpu_in: return tier + " of " + gpu(at) + " (in)";
    case LinkKind::host_out: return tier + " of " + gpu(at) + " (up)";
    case LinkKind::host_in: return tier + " of " + gpu(at) + " (down)";
    case LinkKind::port_up:
    case LinkKind::port_down: {
      const int ports = (t.gpus_per_node + t.port_gpus - 1) / t.port_gpus;
      const int first = at % ports * t.port_gpus;
      const int count = std::min(t.port_gpus, t.gpus_per_node - first);
      return tier + " port of GPUs " + detail::numbers(at / ports * t.gpus_per_node + first, count) + (b.kind == LinkKind::port_up ? " (up)" : " (down)");
    }
    case LinkKind::nic_out:
    case LinkKind::nic_in: {
      const int ways = (t.nics + t.nic_group - 1) / t.nic_group;
      const std::string which = t.nic_group > 1 ? " link of NICs " + detail::numbers(at % ways * t.nic_group, std::min(t.nic_group, t.nics - at % ways * t.nic_group))
                                                : " " + std::to_string(at % ways);
      return tier + which + " of node " + std::to_string(at / ways) + (b.kind == LinkKind::nic_out ? " (out)" : " (in)");
    }
    case LinkKind::wire: {
      const int each = t.wires_per_domain(), base = at / each * t.domain, place = at % each;
      if (t.shape == TierKind::torus) {
        const int ways = 2 * static_cast<int>(t.dims.size());
        return tier + " of " + gpu(base + place / ways) + " (" + (place % 2 == 0 ? "+" : "-") + std::string(1, "xyzuvw"[place % ways / 2 % 6]) + ")";
      }
      const Wire& w = t.wires[static_cast<std::size_t>(place)];
      return tier + " from " + gpu(base + w.from) + " to " + gpu(base + w.to);
    }
    case LinkKind::tier_up:
    case LinkKind::tier_down: {
      const NetworkLevel& level = t.levels[static_cast<std::size_t>(b.level)];
      const int child = at / level.lanes;
      std::string out = tier + (b.kind == LinkKind::tier_up ? " up-link" : " down-link");
      if (level.lanes > 1) out += " of rail " + std::to_string(at % level.lanes) + ",";
      else out += " of";
      out += (level.span > 1 ? " nodes " : " node ") + detail::numbers(child * level.span, std::min(level.span, t.nodes - child * level.span));
      if (level.taper > 1) {
        std::string ratio = std::to_string(level.taper);
        ratio.erase(ratio.find_last_not_of('0') + 1);
        if (ratio.back() == '.') ratio.pop_back();
        out += " (" + ratio + ":1)";
      }
      return out;
    }
    case LinkKind::groups: {
      const int groups = t.levels[static_cast<std::size_t>(b.level)].children;
      return tier + " wires from group " + std::to_string(at / groups) + " to " + std::to_string(at % groups);
    }
  }
  return tier;
}

}  // namespace fabricost
