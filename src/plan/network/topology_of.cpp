#include <fabricost/plan/network/topology_of.hpp>

#include <fabricost/hardware/host_rate.hpp>

namespace fabricost::plan::detail {

constexpr long long max_links = 1LL << 24;  ///< a machine of 100,000 GPUs has a million

int add_block(Topology& t, LinkKind kind, const Label& tier, double capacity, double lanes, long long count, int level = 0) {
  if (count + t.links() > max_links)
    throw RequestError(t.name + ": tier " + tier.c_str() + " brings it to " + std::to_string(count + t.links()) +
                       " links, more than can be modelled one by one; ask for fewer nodes");
  if (!(capacity > 0)) throw RequestError(t.name + ": tier " + tier.c_str() + " has links that carry nothing");
  t.blocks.push_back({kind, tier, capacity, lanes, t.links(), static_cast<int>(count), level});
  return static_cast<int>(t.blocks.size()) - 1;
}

/// The wires of one domain in both directions, sorted by (from, to).
std::vector<Wire> wires_of(const Tier& tier, int joined) {
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
  std::stable_sort(out.begin(), out.end(), [](const Wire& x, const Wire& y) { return x.from != y.from ? x.from < y.from : x.to < y.to; });
  std::vector<Wire> merged;  // parallel edges listed separately, and both ways around a ring of two
  for (const Wire& w : out)
    if (w.from >= joined || w.to >= joined)
      continue;  // the tier joins more than the domain has
    else if (!merged.empty() && merged.back().from == w.from && merged.back().to == w.to)
      merged.back().links += w.links;
    else
      merged.push_back(w);
  return merged;
}

void add_scale_up(Topology& t, const Tier& tier) {
  t.joined = t.domain > 1;
  t.shape = tier.kind;
  t.wrap = tier.wrap;
  t.open_axes = tier.open_axes;
  t.peer_to_peer = tier.kind != TierKind::host || tier.peer_to_peer;
  const long long domains = (t.gpus() + t.domain - 1) / t.domain;
  if (tier.kind == TierKind::full_mesh && tier.endpoints > 1024)
    throw RequestError(t.name + ": tier " + tier.name.c_str() + ": a full mesh of " + std::to_string(tier.endpoints) +
                       " has too many wires to lay out");
  const bool closed = tier.kind == TierKind::ring || tier.kind == TierKind::torus;
  long long chips = tier.endpoints;
  if (tier.kind == TierKind::torus) {
    chips = 1;
    for (const int d : tier.dims) chips = std::min<long long>(chips * d, max_links);
  }
  if (closed && t.joined && chips != t.domain)
    throw RequestError(t.name + ": tier " + tier.name.c_str() + " joins " + std::to_string(chips) + " endpoints, the domain has " +
                       std::to_string(t.domain));
  const double link = tier.link_bandwidth.value();
  if (tier.kind == TierKind::host || !t.joined) return;  // PCIe belongs to the host tier
  if (tier.kind == TierKind::torus) {
    t.dims = tier.dims;
    const int ways = 2 * static_cast<int>(t.dims.size()), links = tier.links / ways;
    t.wire = add_block(t, LinkKind::wire, tier.name, link * links, links, domains * t.domain * ways);
    return;
  }
  t.wires = wires_of(tier, t.domain);
  if (t.wires.empty()) {
    t.gpu_out = add_block(t, LinkKind::gpu_out, tier.name, tier.bandwidth.value.value(), tier.links, t.gpus());
    t.gpu_in = add_block(t, LinkKind::gpu_in, tier.name, tier.bandwidth.value.value(), tier.links, t.gpus());
    if (tier.first_stage <= 0 || tier.first_stage >= t.domain) return;
    t.first_stage = tier.first_stage;
    const double wide = tier.first_stage * tier.links / tier.oversubscription;
    const double rate = tier.first_stage * tier.bandwidth.value.value() / tier.oversubscription;
    const long long groups = domains * ((t.domain + t.first_stage - 1) / t.first_stage);
    t.trunk_up = add_block(t, LinkKind::trunk_up, tier.name, rate, std::max(1.0, std::round(wide)), groups);
    t.trunk_down = add_block(t, LinkKind::trunk_down, tier.name, rate, std::max(1.0, std::round(wide)), groups);
    return;
  }
  t.first_wire.assign(static_cast<std::size_t>(t.domain) + 1, 0);
  for (const Wire& w : t.wires) ++t.first_wire[static_cast<std::size_t>(w.from) + 1];
  for (std::size_t i = 1; i < t.first_wire.size(); ++i) t.first_wire[i] += t.first_wire[i - 1];
  t.wire = add_block(t, LinkKind::wire, tier.name, link, 1, domains * t.wires_per_domain());
}

void add_host(Topology& t, const Tier& tier) {
  const double rate = tier.bandwidth.value.value() * tier.efficiency;
  t.port_gpus = std::min(std::max(1, tier.shared_by), t.gpus_per_node);
  t.host_out = add_block(t, LinkKind::host_out, tier.name, rate, 1, t.gpus());
  t.host_in = add_block(t, LinkKind::host_in, tier.name, rate, 1, t.gpus());
  if (t.port_gpus < 2) return;
  const long long ports = static_cast<long long>(t.nodes) * ((t.gpus_per_node + t.port_gpus - 1) / t.port_gpus);
  t.port_up = add_block(t, LinkKind::port_up, tier.name, rate, 1, ports);
  t.port_down = add_block(t, LinkKind::port_down, tier.name, rate, 1, ports);
}

void add_network(Topology& t, const System& system, const Tier& nic) {
  t.nics = nic.endpoints;
  t.nic_group = std::max(1, nic.shared_by);
  t.railed = nic.kind == TierKind::rails;
  t.path = nic.path;
  t.gpu_direct = nic.gpu_direct;
  const int ways = (t.nics + t.nic_group - 1) / t.nic_group;  // out of one node
  t.nic_on_gpu = nic.on_gpu;
  const double rate = nic.bandwidth.value.value();
  double port = rate;  // of what is joined to the tier
  if (const Tier* leaf = system.tier(TierRole::network)) port /= port_slowdown(rate, *leaf);
  const double reached = std::min(port, t.nic_group * nic_way(nic, pcie_tier(system), system.tier(TierRole::c2c)).slot);
  t.nic_out = add_block(t, LinkKind::nic_out, nic.name, reached, 1, static_cast<long long>(t.nodes) * ways);
  t.nic_in = add_block(t, LinkKind::nic_in, nic.name, reached, 1, static_cast<long long>(t.nodes) * ways);
  if (const double rate_of_memory = staging_rate(system); rate_of_memory > 0)
    t.host_memory = add_block(t, LinkKind::host_memory, "host memory", rate_of_memory, 1, t.nodes);
  int span = 1;
  double taper = 1;  // share of what leaves a child of the tier
  Label child = nic.name;
  for (const Tier& tier : system.tiers) {
    if (tier.role != TierRole::network) continue;
    if (!t.levels.empty()) taper *= port_slowdown(port, tier);
    port /= port_slowdown(port, tier);
    NetworkLevel level{.name = tier.name, .kind = tier.kind, .span = span, .children = (t.nodes + span - 1) / span, .taper = taper};
    const bool apart = tier.kind == TierKind::rails && t.nic_group == 1;
    level.lanes = apart ? t.nics : 1;
    const double together = static_cast<double>(span) * ways / level.lanes;  // NICs that feed one bundle
    const double rate_out = together * rate / taper;
    const int index = static_cast<int>(t.levels.size());
    if (level.children > 1 && (span > 1 || taper > 1)) {  // the links of one node are its NICs'
      const long long count = static_cast<long long>(level.children) * level.lanes;
      const double wide = std::max(1.0, std::round(together / taper));
      level.up = add_block(t, LinkKind::tier_up, child, rate_out, wide, count, index);
      level.down = add_block(t, LinkKind::tier_down, child, rate_out, wide, count, index);
    }
    t.levels.push_back(level);
    taper *= tier.oversubscription;
    child = tier.name;
    span = static_cast<int>(std::min<long long>(static_cast<long long>(span) * std::max(1, tier.endpoints), 1 << 30));
  }
  if (t.levels.empty() || t.levels.back().kind != TierKind::dragonfly) return;
  NetworkLevel& top = t.levels.back();
  if (top.up < 0 || top.children < 2 || top.children > 1024) return;
  // a group's links go to every other group of the machine, not only to those of this job
  top.groups = std::max(top.children, (std::max(1, system.nodes) + top.span - 1) / top.span);
  const double each = t.blocks[static_cast<std::size_t>(top.up)].capacity / (top.groups - 1);
  top.pairs = add_block(t, LinkKind::groups, top.name, each, std::max(1.0, std::round(each / rate)),
                        static_cast<long long>(top.children) * top.children, static_cast<int>(t.levels.size()) - 1);
}

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

Topology topology_of(const System& system, int nodes) {
  if (nodes < 0) throw RequestError(system.name + ": " + std::to_string(nodes) + " nodes asked for; a count must not be negative");
  check_parts(system, {});
  Topology t;
  t.name = system.name;
  t.nodes = nodes > 0 ? nodes : std::max(1, system.nodes);
  t.gpus_per_node = system.gpus_per_node;
  t.domain = std::max(1, system.domain);
  if (static_cast<long long>(t.nodes) * t.gpus_per_node > detail::max_links || t.domain > detail::max_links)
    throw RequestError(system.name + ": " + std::to_string(t.nodes) + " nodes are more than can be modelled link by link; ask for fewer");
  const Tier* scale_up = system.tier(TierRole::scale_up);
  if (scale_up != nullptr) {
    if (scale_up->endpoints < t.domain)
      throw RequestError(system.name + ": tier " + scale_up->name.c_str() + " joins " + std::to_string(scale_up->endpoints) +
                         " of the domain's " + std::to_string(t.domain) + " GPUs");
    detail::add_scale_up(t, *scale_up);
  }
  if (const Tier* host = host_tier(system)) detail::add_host(t, *host);
  if (const Tier* nic = system.tier(TierRole::nic)) detail::add_network(t, system, *nic);
  return t;
}

}  // namespace fabricost::plan
