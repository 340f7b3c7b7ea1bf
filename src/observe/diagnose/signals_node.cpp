/// Inside a node: PCIe links, NVLink, peer to peer, reduction in the switch.

#include "diagnose/context.hpp"
#include "text/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace fabricost::observe::diagnosis {

namespace {

/// The slowest PCIe link to a GPU in NCCL's dump, and the rate of the fastest.
struct PcieLinks {
  const TopologyLink* min = nullptr;
  double max = 0;
  explicit PcieLinks(const NcclInfo& info) {
    for (const TopologyLink& link : info.topology)
      if (link.kind == "PCI" && link.rate > 0) {
        max = std::max(max, link.rate);
        const bool gpu = link.to.starts_with("GPU") || link.to.starts_with("PCI");
        if (gpu && (min == nullptr || link.rate < min->rate)) min = &link;
      }
  }
};

/// A bogus link misleads the search for channels.
std::optional<Facts> link_below_a_lane(const Context& c, const Numbers& n) {
  const PcieLinks links(c.info);
  if (links.min == nullptr || links.min->rate >= n["lane"] / 1e9) return std::nullopt;
  return Facts{cited(links.min->line), fmt::format("{:.3g}", links.min->rate)};
}

std::optional<Facts> slower_than_its_siblings(const Context& c, const Numbers& n) {
  const PcieLinks links(c.info);
  if (links.min == nullptr || links.max <= n["ratio"] * links.min->rate || !links.min->to.starts_with("GPU")) return std::nullopt;
  return Facts{cited(links.min->line), fmt::format("{:.3g}", links.min->rate), fmt::format("{:.3g}", links.max)};
}

/// NVLink in the matrix, but not between all GPUs: a ring over more than the pair crosses PCIe.
std::optional<Facts> nvlink_in_pairs(const Context& c, const Numbers& n) {
  int gpus = 0, linked = 0;
  const MatrixRow* mixed = nullptr;
  for (const MatrixRow& row : c.info.matrix) {
    ++gpus;
    const auto own = std::find(row.cells.begin(), row.cells.end(), "X");
    if (own == row.cells.end()) continue;
    int with = 0, without = 0;
    // GPUs come first; their number follows from the largest NVLink column or the row's own index
    std::size_t columns = static_cast<std::size_t>(own - row.cells.begin()) + 1;
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      if (row.cells[i].starts_with("NV")) columns = std::max(columns, i + 1);
    columns = std::max(columns, c.info.matrix.size());
    for (std::size_t i = 0; i < std::min(columns, row.cells.size()); ++i) {
      if (row.cells[i] == "X") continue;
      (row.cells[i].starts_with("NV") ? with : without) += 1;
    }
    linked += with;
    if (with > 0 && without > 0 && mixed == nullptr) mixed = &row;
  }
  if (mixed == nullptr || gpus < 3) return std::nullopt;
  // a hybrid cube mesh leaves some pairs without a link but closes rings: every GPU has several peers
  const double peers = static_cast<double>(linked) / gpus;
  if (peers > n["peers"]) return std::nullopt;
  return Facts{cited(mixed->line), fmt::format("{:.2g}", peers)};
}

std::optional<Facts> neighbours_over_the_network(const Context& c, const Numbers&) {
  const NcclInfo& info = c.info;
  if (info.local_net.number > 0) return Facts{cited(info.local_net)};
  if (info.net.empty() || c.nodes() != 1 || info.peer > 0) return std::nullopt;
  return Facts{cited(info.net.begin()->second.first)};
}

std::optional<Facts> staged_in_shared_memory(const Context& c, const Numbers&) {
  const NcclInfo& info = c.info;
  if (info.shared_memory == 0 || info.peer > 0) return std::nullopt;
  const Seen& unsupported = info.seen("p2p_unsupported");
  return Facts{cited(info.shared_memory_line), unsupported.times > 0 ? "; " + cited(unsupported) : std::string{}};
}

std::optional<Facts> board_without_p2p(const Context& c, const Numbers&) {
  const Tier* up = c.system ? c.system->tier(TierRole::scale_up) : nullptr;
  return found((up != nullptr && up->kind == TierKind::host) ||
               std::any_of(c.info.rank_lines.begin(), c.info.rank_lines.end(),
                           [](const RankLine& r) { return r.gpu.find("GeForce") != std::string::npos; }));
}

std::optional<Facts> multicasts(const Context& c, const Numbers&) { return found(c.multicasts() == true); }
std::optional<Facts> full_board_or_unsaid(const Context& c, const Numbers&) {
  const int local = c.ranks_per_node();
  const std::size_t listed = c.info.rank_lines.size();
  return found(local >= 8 || c.inside_a_domain() || ((local == 0 || listed < 2) && listed <= 1));
}

std::optional<Facts> no_nvls_channels(const Context& c, const Numbers&) {
  return c.info.nvls_channels == 0 ? std::optional{Facts{cited(c.info.nvls_channels_line)}} : std::nullopt;
}

/// NCCL's dump of a machine whose boards have NVLink lists none.
std::optional<Facts> no_nvlink_in_topology(const Context& c, const Numbers&) {
  bool gpus = false, links = false, board = false;
  for (const TopologyLink& link : c.info.topology) {
    gpus = gpus || link.to.starts_with("GPU");
    links = links || link.kind == "NVL" || link.kind == "C2C";
  }
  for (const RankLine& one : c.info.rank_lines)
    board = board || one.gpu.find("SXM") != std::string::npos || one.gpu.find("HBM3") != std::string::npos;
  return found(gpus && !links && board && c.ranks_per_node() >= 2);
}

std::optional<Facts> network_alone(const Context& c, const Numbers&) {
  if (c.info.net.empty() || c.info.peer > 0) return std::nullopt;
  return Facts{cited(c.info.net.begin()->second.first)};
}

std::optional<Facts> one_node(const Context& c, const Numbers&) { return found(c.one_node()); }
/// With one rank per node there is no neighbour to copy to.
std::optional<Facts> neighbours_in_a_node(const Context& c, const Numbers&) { return found(c.nodes() <= 1 || c.ranks_per_node() != 1); }
std::optional<Facts> nvlink_between_nodes(const Context& c, const Numbers&) {
  return found(c.system && c.system->domain > c.system->gpus_per_node);
}

/// Hosts whose GPUs all have PCI addresses of their own: machines of one kind repeat theirs, containers of one machine do not.
std::optional<Facts> addresses_of_one_machine(const Context& c, const Numbers& n) {
  std::set<std::string> all;
  std::size_t listed = 0;
  for (const auto& [host, addresses] : c.info.joined) {
    if (host.empty()) return std::nullopt;
    all.insert(addresses.begin(), addresses.end());
    listed += addresses.size();
  }
  const auto gpus = static_cast<double>(listed);
  if (c.info.joined.size() < 2 || all.size() < listed || c.info.net.empty() || gpus < n["least"] || gpus > n["most"]) return std::nullopt;
  if (static_cast<std::size_t>(c.info.ranks) != listed) return std::nullopt;
  return Facts{cited(c.info.net.begin()->second.first), fmt::format("{}", listed), fmt::format("{}", c.info.joined.size())};
}

/// Every path in the matrix of nvidia-smi is PHB: a guest without PCIe switches or bridges.
std::optional<Facts> flat_matrix(const Context& c, const Numbers& n) {
  std::size_t gpus = 0;
  for (const MatrixRow& row : c.info.matrix) {
    const auto other = [](const std::string& cell) { return cell != "X" && cell != "PHB"; };
    if (std::any_of(row.cells.begin(), row.cells.end(), other)) return std::nullopt;
    gpus = std::max(gpus, row.cells.size());
  }
  if (static_cast<double>(gpus) < n["gpus"]) return std::nullopt;
  return Facts{cited(c.info.matrix.front().line), fmt::format("{}", gpus)};
}

/// In NCCL's topology no PCIe link has the rate of the adapters.
std::optional<Facts> pcie_below_network(const Context& c, const Numbers& n) {
  double pcie = 0, network = 0;
  const LogLine* line = nullptr;
  for (const TopologyLink& link : c.info.topology) {
    if (link.kind == "NET") network = std::max(network, link.rate);
    if (link.kind != "PCI" || link.rate < pcie) continue;
    pcie = link.rate;
    line = &link.line;
  }
  if (line == nullptr || !(network > pcie * n["ratio"])) return std::nullopt;
  return Facts{cited(*line), fmt::format("{:.3g}", pcie), fmt::format("{:.3g}", network)};
}

/// In a topology matrix most GPUs have as many NVLinks to each other, and one has fewer to all of them.
std::optional<Facts> fewer_nvlinks_in_matrix(const Context& c, const Numbers&) {
  std::map<int, std::vector<const MatrixRow*>> by_links;
  for (const MatrixRow& row : c.info.matrix) {
    int most = 0;
    for (const std::string& cell : row.cells)
      if (cell.starts_with("NV")) most = std::max(most, static_cast<int>(parse_number(cell.substr(2)).value_or(0)));
    if (most > 0) by_links[most].push_back(&row);
  }
  if (by_links.size() < 2) return std::nullopt;
  const auto& [most, usual] = *by_links.rbegin();
  const auto& [least, odd] = *by_links.begin();
  if (2 * usual.size() <= c.info.matrix.size()) return std::nullopt;
  return Facts{cited(odd.front()->line), odd.front()->device, fmt::format("{}", least), fmt::format("{}", most)};
}

/// In NCCL's topology an adapter hangs at a PCIe link of another generation, or with fewer lanes, than its port needs.
std::optional<Facts> link_below_its_port(const Context& c, const Numbers& n) {
  std::set<std::string> adapters, slow;
  const TopologyLink *above = nullptr, *worst = nullptr;
  double port = 0;
  for (const TopologyLink& link : c.info.topology) {
    if (link.kind == "PCI") above = link.to.starts_with("NIC") && link.rate > 0 ? &link : nullptr;
    if (link.kind != "NET" || above == nullptr) continue;
    adapters.insert(above->to);
    if (link.rate <= n["ratio"] * above->rate) continue;
    slow.insert(above->to);
    if (worst == nullptr || above->rate < worst->rate) worst = above, port = link.rate;
  }
  if (worst == nullptr) return std::nullopt;
  return Facts{cited(worst->line), fmt::format("{} of {}", slow.size(), adapters.size()), fmt::format("{:.3g}", worst->rate),
               fmt::format("{:.3g}", port)};
}

/// In NCCL's table of paths most GPUs reach their nearest adapter through the CPU only.
std::optional<Facts> gpus_far_from_adapters(const Context& c, const Numbers&) {
  std::set<std::string> gpus, far;
  const AdapterPath* first = nullptr;
  for (const AdapterPath& one : c.info.adapter_paths) {
    gpus.insert(one.gpu);
    if (one.path != "PHB" && one.path != "NODE" && one.path != "SYS") continue;
    far.insert(one.gpu);
    if (first == nullptr) first = &one;
  }
  if (first == nullptr || 2 * far.size() <= gpus.size()) return std::nullopt;
  return Facts{cited(first->line), fmt::format("{} of {}", far.size(), gpus.size()), first->path};
}

}  // namespace

std::span<const Signal> node_signals() {
  static const std::vector<Signal> all{
      {"link_below_a_lane", link_below_a_lane, {"line", "rate"}, {{"lane", QuantityKind::link_rate}}},
      {"slower_than_its_siblings", slower_than_its_siblings, {"line", "least", "most"}, {{"ratio"}}},
      {"nvlink_in_pairs", nvlink_in_pairs, {"line", "peers"}, {{"peers"}}},
      {"neighbours_over_the_network", neighbours_over_the_network, {"line"}},
      {"staged_in_shared_memory", staged_in_shared_memory, {"line", "beside"}},
      {"p2p_switched_off", [](const Context& c, const Numbers&) { return found(c.info.setting("NCCL_P2P_DISABLE") != nullptr); }},
      {"board_without_p2p", board_without_p2p},
      {"multicasts", multicasts},
      {"may_multicast", [](const Context& c, const Numbers&) { return found(c.multicasts().value_or(true)); }},
      {"full_board", [](const Context& c, const Numbers&) { return found(c.ranks_per_node() >= 8 || c.inside_a_domain()); }},
      {"full_board_or_unsaid", full_board_or_unsaid},
      {"no_nvls_channels", no_nvls_channels, {"line"}},
      {"no_nvlink_in_topology", no_nvlink_in_topology},
      {"network_alone", network_alone, {"line"}},
      {"peer_connections", [](const Context& c, const Numbers&) { return found(c.info.peer > 0); }},
      {"one_node", one_node},
      {"inside_a_domain", [](const Context& c, const Numbers&) { return found(c.inside_a_domain()); }},
      {"neighbours_in_a_node", neighbours_in_a_node},
      {"nvlink_between_nodes", nvlink_between_nodes},
      {"addresses_of_one_machine",
       addresses_of_one_machine,
       {"line", "gpus", "hosts"},
       {{"least", QuantityKind::count}, {"most", QuantityKind::count}}},
      {"flat_matrix", flat_matrix, {"line", "gpus"}, {{"gpus"}}},
      {"fewer_nvlinks_in_matrix", fewer_nvlinks_in_matrix, {"line", "gpu", "least", "most"}},
      {"link_below_its_port", link_below_its_port, {"line", "count", "rate", "port"}, {{"ratio"}}},
      {"gpus_far_from_adapters", gpus_far_from_adapters, {"line", "count", "path"}},
      {"topology_said", [](const Context& c, const Numbers&) { return found(!c.info.topology.empty()); }},
      {"pcie_below_network", pcie_below_network, {"line", "rate", "network"}, {{"ratio"}}},
  };
  return all;
}

}  // namespace fabricost::observe::diagnosis
