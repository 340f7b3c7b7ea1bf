/// Signals of adapters, of the network between them, and of rails.

#include "diagnose/context.hpp"
#include "text/joined.hpp"

#include <fabricost/predict/fabric_of.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fabricost::observe::diagnosis {

// Signals of adapters and of the network between them.

// The path between GPU and network adapter: GPUDirect RDMA, and adapters on the wrong side of the CPU.

namespace {

/// GPUDirect refused because of distance: the adapter is elsewhere.
std::optional<Facts> pair_refused(const Context& c, const Numbers&) {
  for (const DirectPair& pair : c.info.direct_pairs)
    if (!pair.on) return Facts{cited(pair.line), fmt::format("{}", pair.distance), fmt::format("{}", pair.limit)};
  return std::nullopt;
}

std::optional<Facts> connections(const Context& c, const Numbers&) {
  const Fabric fabric = fabric_of(c.info);
  if (fabric.times == 0) return std::nullopt;
  return Facts{cited(fabric.first_indirect), fmt::format("{}", fabric.times)};
}

std::optional<Facts> few_direct_connections(const Context& c, const Numbers&) {
  const Fabric fabric = fabric_of(c.info);
  if (fabric.direct == 0 || fabric.direct >= fabric.times / 2) return std::nullopt;
  return Facts{cited(fabric.first_indirect), fmt::format("{}", fabric.direct), fmt::format("{}", fabric.times)};
}

/// Adapters far from the GPUs: PHB crosses the CPU, SYS the socket. Only the rate proves it: a single
/// direction (a broadcast) may still fit.
std::optional<Facts> far_adapter_is_slow(const Context& c, const Numbers& n) {
  const std::string& path = c.info.widest_path;
  const bool far = path == "PHB" || path == "SYS" || path == "NODE";
  const bool direct = std::any_of(c.info.direct_pairs.begin(), c.info.direct_pairs.end(), [](const DirectPair& p) { return p.on; });
  double nic = 0;
  for (const TopologyLink& link : c.info.topology)
    if (link.kind == "NET") nic = std::max(nic, link.rate * 1e9);
  const double shown = c.best_bus();
  if (!far || !direct || !(nic > 0) || !(shown > 0) || shown >= n["share"] * nic || c.info.net.empty()) return std::nullopt;
  return Facts{cited(c.info.widest_path_line), path, gigabytes(shown), gigabytes(nic), fmt::format("{:.0f}", 100 * shown / nic)};
}

/// In a topology matrix: some GPUs with NVLink reach adapters below their bridge, others only across sockets.
std::optional<Facts> adapters_across_sockets(const Context& c, const Numbers&) {
  int rows = 0, far_rows = 0;
  LogLine first;
  for (const MatrixRow& row : c.info.matrix) {
    bool nvlink = false, host = false, close = false, bridge = false;
    for (const std::string& cell : row.cells) {
      nvlink = nvlink || cell.starts_with("NV");
      close = close || cell == "PIX" || cell == "PXB";
      host = host || cell == "SYS" || cell == "SOC";
      bridge = bridge || cell == "NODE" || cell == "PHB";
    }
    if (!nvlink) continue;  // PCIe boards show SYS between GPUs
    ++rows;
    if (host && !close && !bridge) {
      ++far_rows;
      if (first.number == 0) first = row.line;
    }
  }
  if (rows == 0 || far_rows == 0 || far_rows >= rows || c.nodes() == 1) return std::nullopt;
  return Facts{cited(first)};
}

// The network between nodes: whether a fabric is expected and sockets carry the traffic, ports and adapters that differ.

/// The use of sockets that a log shows.
struct Sockets {
  bool used, named, verbs_missing;
  explicit Sockets(const NcclInfo& info)
      : used(over_sockets(info)),
        named(info.network.starts_with("Socket") || (!info.interfaces.empty() && info.adapters.empty() && info.network.empty())),
        verbs_missing(info.has("verbs_missing")) {}
};

/// Several nodes whose machine has a fabric beyond TCP, but no connection uses it.
std::optional<Facts> fabric_expected(const Context& c, const Numbers&) {
  const NcclInfo& info = c.info;
  if (c.wants_tcp() || fabric_of(info).times > 0) return std::nullopt;
  // one node needs no network: NCCL prints Socket there and moves nothing over it
  const int nodes = c.nodes();
  if (nodes <= 1 && info.setting("NCCL_P2P_DISABLE") != nullptr) return std::nullopt;  // sockets as a substitute for P2P
  return found(nodes != 1 && !(nodes == 0 && !over_sockets(info) && (info.peer > 0 || info.shared_memory > 0)));
}

std::optional<Facts> sockets_carry_traffic(const Context& c, const Numbers&) {
  const NcclInfo& info = c.info;
  const Sockets sockets(info);
  if (!sockets.used && !sockets.named && !sockets.verbs_missing) return std::nullopt;
  LogLine line = sockets.used ? info.net.at("Socket").first : info.network_line.number > 0 ? info.network_line : info.interfaces_line;
  const Seen& missing = info.seen("verbs_missing");
  if (sockets.verbs_missing && (!sockets.used || missing.first.number < line.number)) line = missing.first;
  return Facts{cited(line), sockets.verbs_missing && sockets.used ? "; " + cited(missing) : std::string{}};
}

std::optional<Facts> bonded_adapter(const Context& c, const Numbers&) {
  const auto& all = c.info.adapters;
  if (std::none_of(all.begin(), all.end(), [](const std::string& a) { return a.find("bond") != std::string::npos; })) return std::nullopt;
  return Facts{cited(c.info.adapters_line)};
}

std::optional<Facts> unequal_ports(const Context& c, const Numbers& n) {
  const double slowest = c.info.slowest_port, fastest = c.info.fastest_port;
  if (!(fastest > n["ratio"] * slowest) || slowest < n["slowest"] / 1e9) return std::nullopt;
  return Facts{cited(c.info.slowest_port_line), fmt::format("{:.4g}", slowest), fmt::format("{:.4g}", fastest)};
}

std::optional<Facts> all_ports_slow(const Context& c, const Numbers&) {
  const std::string words = slow_ports_in_words(c);
  if (words.empty()) return std::nullopt;
  return Facts{cited(slow_ports(c.info, *c.system)->line), words};
}

std::optional<Facts> unequal_adapters(const Context& c, const Numbers& n) {
  const TopologyLink *max = nullptr, *min = nullptr;
  for (const TopologyLink& link : c.info.topology)
    if (link.kind == "NET" && link.rate > 0) {
      if (max == nullptr || link.rate > max->rate) max = &link;
      if (min == nullptr || link.rate < min->rate) min = &link;
    }
  if (min == nullptr || !(max->rate > n["ratio"] * min->rate)) return std::nullopt;
  return Facts{cited(min->line), fmt::format("{:.3g}", min->rate), fmt::format("{:.3g}", max->rate)};
}

// Fewer adapters in use than present: idle ones among those NCCL lists, one where the machine has several,
// none of the topology's.

/// One transport's connections and the adapters, or interfaces, available to it.
struct Rails {
  const NetUse* use = nullptr;
  bool sockets = false;
  std::size_t there = 0;
  std::string names;
};

/// One rank per node loads one adapter; a collective inside an NVLink domain loads none.
bool several_expected(const Context& c) { return c.nodes() != 1 && !c.inside_a_domain() && c.ranks_per_node() != 1 && c.ranks() != 2; }

/// The first transport that satisfies `holds`.
template <class Holds>
std::optional<Rails> rails_with(const Context& c, Holds holds) {
  if (!several_expected(c)) return std::nullopt;
  for (const auto& [transport, use] : c.info.net) {
    const bool sockets = transport == "Socket";
    Rails one{&use, sockets, sockets ? c.info.interfaces.size() : c.info.adapters.size(),
              joined(std::vector(use.devices.begin(), use.devices.end()))};
    if (holds(one)) return one;
  }
  return std::nullopt;
}

/// On two nodes or more, fewer ranks than two for each adapter cannot use all of them.
std::optional<Facts> rails_without_channels(const Context& c, const Numbers&) {
  const int channels = c.info.channels, ranks = c.ranks();
  const auto rails = rails_with(c, [&](const Rails& r) {
    const int there = static_cast<int>(r.there);
    return there >= 2 && r.use->devices.size() < r.there && channels > 0 && channels < there && (ranks == 0 || ranks >= 2 * there);
  });
  if (!rails) return std::nullopt;
  return Facts{cited(c.info.channels_line), cited(rails->use->first), fmt::format("{}", channels), rails->names,
               fmt::format("{}", rails->there)};
}

/// At most half of them in use. Most logs are cut: connections prove something only if all channels are
/// shown.
std::optional<Facts> idle_half(const Context& c, bool sockets) {
  const auto rails = rails_with(c, [&](const Rails& r) {
    const std::size_t channels = r.use->channels.size();
    const bool all = channels >= r.there || (c.info.channels > 0 && static_cast<int>(channels) >= c.info.channels);
    return r.sockets == sockets && r.there >= 2 && r.use->devices.size() * 2 <= r.there && r.use->times >= 3 && all;
  });
  if (!rails) return std::nullopt;
  return Facts{cited(sockets ? c.info.interfaces_line : c.info.adapters_line), cited(rails->use->first), fmt::format("{}", rails->there),
               fmt::format("{}", rails->use->times), rails->names};
}
std::optional<Facts> idle_interfaces(const Context& c, const Numbers&) { return idle_half(c, true); }
std::optional<Facts> idle_adapters(const Context& c, const Numbers&) { return idle_half(c, false); }

/// Line rate of one adapter, from NCCL's dump or its ports; hfi1 is Omni-Path; 0: not stated.
double adapter_rate(const Context& c, double omnipath) {
  for (const TopologyLink& link : c.info.topology)
    if (link.kind == "NET" && link.rate > 0) return link.rate * 1e9;
  if (c.info.fastest_port > 0) return c.info.fastest_port * 1.25e8;
  return !c.info.adapters.empty() && c.info.adapters.front().starts_with("hfi1") ? omnipath : 0;
}
/// The best rate in the log, in its table or in words.
double any_rate(const Context& c) {
  double best = c.best_bus();
  for (const Quoted& q : c.quoted)
    if (c.curve.empty() && !q.perftest) best = std::max(best, q.rate);
  return best;
}

std::optional<Facts> rate_of_one_rail(const Context& c, const Numbers& n) {
  const double one = adapter_rate(c, n["omnipath"]), shown = any_rate(c);
  if (!(one > 0) || !(shown > 0) || shown >= n["near"] * one) return std::nullopt;
  const auto rails = rails_with(
      c, [&](const Rails& r) { return !r.sockets && r.there >= 4 && r.use->devices.size() * 2 <= r.there && r.use->times >= 3; });
  if (!rails) return std::nullopt;
  return Facts{cited(c.info.adapters_line),
               cited(rails->use->first),
               fmt::format("{}", rails->there),
               rails->names,
               gigabytes(shown),
               gigabytes(one)};
}

/// Eight GPUs, two channels, one adapter: the plugin showed NCCL no topology.
std::optional<Facts> one_rail_for_many_ranks(const Context& c, const Numbers&) {
  const int channels = c.info.channels;
  const auto rails = rails_with(c, [&](const Rails& r) {
    return !r.sockets && r.use->devices.size() == 1 && channels > 0 && channels <= 2 && (c.ranks_per_node() > 2 || c.info.ranks > 8);
  });
  if (!rails) return std::nullopt;
  return Facts{cited(c.info.channels_line), cited(rails->use->first), fmt::format("{}", channels), rails->names,
               fmt::format("{}", c.info.ranks)};
}

const Tier* described_nic(const Context& c) { return c.system ? c.system->tier(TierRole::nic) : nullptr; }

std::optional<Facts> single_adapter(const Context& c, const Numbers&) {
  const Tier* nic = described_nic(c);
  const bool alone = c.info.adapters.size() == 1 && c.info.adapters.front().find("bond") == std::string::npos;
  if (!several_expected(c) || !alone || (nic != nullptr && nic->endpoints <= 1) || over_sockets(c.info)) return std::nullopt;
  return Facts{cited(c.info.adapters_line)};
}

std::optional<Facts> described_adapters(const Context& c, const Numbers&) {
  const Tier* nic = described_nic(c);
  if (nic == nullptr) return std::nullopt;
  return Facts{c.system->name, fmt::format("{}", nic->endpoints)};
}

std::optional<Facts> fewer_adapters_than_described(const Context& c, const Numbers&) {
  const Tier* nic = described_nic(c);
  const std::size_t count = c.info.adapters.size();
  if (!several_expected(c) || nic == nullptr || count <= 1 || static_cast<int>(count) >= nic->endpoints) return std::nullopt;
  return Facts{cited(c.info.adapters_line), fmt::format("{}", count), c.system->name, fmt::format("{}", nic->endpoints)};
}

/// The same on full nodes, where the rate is below the prediction too.
std::optional<Facts> fewer_adapters_and_slower(const Context& c, const Numbers& n) {
  const Tier* nic = described_nic(c);
  const int count = adapters_listed(c.info);
  if (nic == nullptr || c.guessed || !c.judged.compared || c.judged.at->nodes <= 1 || c.inside_a_domain() || c.ranks_per_node() < c.system->gpus_per_node) return std::nullopt;
  if (count <= 1 || count >= nic->endpoints || c.judged.ratio < n["ratio"]) return std::nullopt;
  return Facts{cited(c.info.adapters_line), fmt::format("{}", count), c.system->name, fmt::format("{}", nic->endpoints), against(c)};
}

/// Adapters of the topology dump and the line of the first.
std::pair<std::set<std::string>, LogLine> topology_adapters(const Context& c) {
  std::set<std::string> nets;
  LogLine first;
  for (const TopologyLink& link : c.info.topology)
    if (link.kind == "NET") {
      nets.insert(link.to);
      if (first.number == 0) first = link.line;
    }
  return {nets, first};
}

/// Connections between nodes of one NVLink domain that go over adapters.
std::optional<Facts> network_inside_a_domain(const Context& c, const Numbers&) {
  if (c.info.net.empty() || !c.inside_a_domain()) return std::nullopt;
  return Facts{cited(c.info.net.begin()->second.first)};
}

/// The topology dump lists adapters, but NCCL's graph contains none of them.
std::optional<Facts> unused_adapters_in_topology(const Context& c, const Numbers&) {
  const auto [nets, first] = topology_adapters(c);
  const Fabric fabric = fabric_of(c.info);
  if (nets.size() < 2 || fabric.times < 2 || fabric.devices.size() != 1) return std::nullopt;
  return Facts{cited(first), fmt::format("{}", nets.size()), fmt::format("{}", fabric.times), cited(fabric.first)};
}

std::optional<Facts> topology_without_connections(const Context& c, const Numbers&) {
  const auto [nets, first] = topology_adapters(c);
  if (nets.size() < 2 || !c.info.net.empty() || !c.curve.empty()) return std::nullopt;
  return Facts{cited(first)};
}

}  // namespace

std::span<const Signal> network_signals() {
  static const std::vector<Signal> all{
      {"pair_refused", pair_refused, {"line", "distance", "limit"}},
      {"connections", connections, {"line", "times"}},
      {"no_direct_connection", [](const Context& c, const Numbers&) { return found(fabric_of(c.info).direct == 0); }},
      {"few_direct_connections", few_direct_connections, {"line", "direct", "times"}},
      {"far_adapter_is_slow", far_adapter_is_slow, {"line", "path", "shown", "nic", "percent"}, {{"share"}}},
      {"adapters_across_sockets", adapters_across_sockets, {"line"}},
      {"fabric_expected", fabric_expected},
      {"sockets_carry_traffic", sockets_carry_traffic, {"line", "beside"}},
      {"sockets_used", [](const Context& c, const Numbers&) { return found(over_sockets(c.info)); }},
      {"named_sockets", [](const Context& c, const Numbers&) { return found(c.info.network.starts_with("Socket")); }},
      {"interfaces_listed", [](const Context& c, const Numbers&) { return found(!c.info.interfaces.empty()); }},
      {"several_nodes", [](const Context& c, const Numbers&) { return found(c.nodes() > 1); }},
      {"rdma_wanted", [](const Context& c, const Numbers&) { return found(!c.wants_tcp() && c.info.node_count() != 1); }},
      {"network_between_nodes", [](const Context& c, const Numbers&) { return found(!c.info.net.empty() && c.nodes() > 1); }},
      {"network_inside_a_domain", network_inside_a_domain, {"line"}},
      {"bonded_adapter", bonded_adapter, {"line"}},
      {"unequal_ports", unequal_ports, {"line", "least", "most"}, {{"ratio"}, {"slowest", QuantityKind::line_rate}}},
      {"all_ports_slow", all_ports_slow, {"line", "ports"}},
      {"unequal_adapters", unequal_adapters, {"line", "least", "most"}, {{"ratio"}}},
      {"rails_without_channels", rails_without_channels, {"channels", "line", "count", "names", "there"}},
      {"idle_interfaces", idle_interfaces, {"listed", "line", "there", "times", "names"}},
      {"idle_adapters", idle_adapters, {"listed", "line", "there", "times", "names"}},
      {"rate_of_one_rail",
       rate_of_one_rail,
       {"listed", "line", "there", "names", "shown", "one"},
       {{"near"}, {"omnipath", QuantityKind::link_rate}}},
      {"rate_shown", [](const Context& c, const Numbers&) { return found(any_rate(c) > 0); }},
      {"one_rail_for_many_ranks", one_rail_for_many_ranks, {"channels", "line", "count", "names", "ranks"}},
      {"single_adapter", single_adapter, {"line"}},
      {"described_adapters", described_adapters, {"system", "endpoints"}},
      {"adapter_chosen", [](const Context& c, const Numbers&) { return found(c.info.setting("NCCL_IB_HCA") != nullptr); }},
      {"fewer_adapters_than_described", fewer_adapters_than_described, {"line", "count", "system", "endpoints"}},
      {"fewer_adapters_and_slower", fewer_adapters_and_slower, {"line", "count", "system", "endpoints", "against"}, {{"ratio"}}},
      {"unused_adapters_in_topology", unused_adapters_in_topology, {"line", "there", "times", "first"}},
      {"topology_without_connections", topology_without_connections, {"line"}},
  };
  return all;
}

}  // namespace fabricost::observe::diagnosis
