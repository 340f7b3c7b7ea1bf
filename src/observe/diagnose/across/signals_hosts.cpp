/// \file signals_hosts.cpp
/// Nodes of one log beside each other: adapters that one of them lacks, and GPUDirect RDMA that only others have.

#include "diagnose/context.hpp"
#include "readings/logs/log_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fabricost::observe::diagnosis {

namespace {

constexpr std::size_t most_nodes = 4, max_adapters = 8;

/// The adapters that ranks of a host list. Where each rank is given its own, the longest list stands for the host.
struct Equipped {
  std::set<std::string> names;
  LogLine line;
};

/// "[0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]"
std::set<std::string> adapters_listed(std::string_view list) {
  std::set<std::string> out;
  for (const std::string_view one : words(list)) {
    const auto close = one.find(']');
    if (one.size() < 3 || one.front() != '[' || !is_digit(one[1]) || close == std::string_view::npos) continue;
    const std::string_view name = one.substr(close + 1);
    out.emplace(name.substr(0, name.find(':')));
  }
  return out;
}

std::map<std::string, Equipped> equipment(const RankReports& reports) {
  std::map<std::string, Equipped> out;
  for (const auto& [what, one] : reports.stated) {
    if (one.kind != Stated::Kind::adapters) continue;
    for (const auto& [value, speakers] : one.who) {
      const std::set<std::string> names = adapters_listed(value);
      for (const std::string& who : speakers) {
        const auto host = reports.hosts.find(who);
        if (host == reports.hosts.end() || names.size() <= out[host->second].names.size()) continue;
        out[host->second] = {names, one.lines.at(value)};
      }
    }
  }
  return out;
}

std::optional<Facts> node_lacks_adapters(const Context& c, const Numbers&) {
  const auto hosts = equipment(c.reports);
  if (hosts.size() < 2) return std::nullopt;
  const auto fewer = [](const auto& a, const auto& b) { return a.second.names.size() < b.second.names.size(); };
  const Equipped& full = std::max_element(hosts.begin(), hosts.end(), fewer)->second;
  const Equipped& least = std::min_element(hosts.begin(), hosts.end(), fewer)->second;
  const std::size_t most = full.names.size(), count = least.names.size();
  if (count == most || count == 0) return std::nullopt;
  std::set<std::string> nodes, others, missing;
  for (const auto& [host, one] : hosts) (one.names.size() < most ? nodes : others).insert(host);
  std::set_difference(full.names.begin(), full.names.end(), least.names.begin(), least.names.end(),
                      std::inserter(missing, missing.end()));
  const bool alike = missing.size() == most - count;  // else the nodes name them differently
  return Facts{cited(least.line),
               first_of(nodes, most_nodes),
               fmt::format("{}", count),
               fmt::format("{}", most),
               alike ? first_of(missing, max_adapters) : fmt::format("{} of them", most - count),
               first_of(others, most_nodes)};
}

/// A host whose connections in one direction are staged in host memory, all or more than half of them, where another's
/// are direct.
std::optional<Facts> node_without_direct(const Context& c, const Numbers&) {
  for (const auto& [network, use] : c.info.net) {
    if (network == "Socket") continue;
    for (const char way : {'s', 'r', ' '}) {
      std::set<std::string> nodes, others;
      const HostPaths* worst = nullptr;
      bool whole = false;
      for (const auto& [key, one] : use.paths) whole = whole || (key.second == way && one.direct == one.times);
      for (const auto& [key, one] : use.paths) {
        if (key.second != way || key.first.empty()) continue;
        const bool staged = one.direct == 0 || (whole && 2 * one.direct < one.times);
        (staged ? nodes : others).insert(key.first);
        if (staged && (worst == nullptr || one.times - one.direct > worst->times - worst->direct)) worst = &one;
      }
      if (nodes.empty() || others.empty()) continue;
      std::set<std::string> adapters;
      for (const int device : worst->staged) adapters.insert(fmt::format("{}", device));
      return Facts{cited(worst->first_staged),      first_of(nodes, most_nodes),      fmt::format("{}", worst->times - worst->direct),
                   fmt::format("{}", worst->times), first_of(adapters, max_adapters), first_of(others, most_nodes)};
    }
  }
  return std::nullopt;
}

/// One node of several that ran the same test alone, below the median of the others.
std::optional<Facts> node_slower_than_its_siblings(const Context& c, const Numbers& n) {
  if (c.siblings.size() < 2) return std::nullopt;
  const auto slower = [](const NodeRate& a, const NodeRate& b) { return a.rate < b.rate; };
  std::vector<NodeRate> all = c.siblings;
  std::sort(all.begin(), all.end(), slower);
  const double middle = all[all.size() / 2].rate;  // of two the better one
  std::set<std::string> nodes;
  for (const NodeRate& one : all)
    if (one.rate < n["share"] * middle) nodes.insert(one.host);
  if (nodes.empty() || 2 * nodes.size() > all.size()) return std::nullopt;
  const auto first_good =
      std::find_if(all.begin(), all.end(), [&](const NodeRate& one) { return !nodes.contains(one.host); });
  const std::string range = gigabytes(first_good->rate) == gigabytes(all.back().rate)
                                ? gigabytes(all.back().rate)
                                : fmt::format("{} to {}", gigabytes(first_good->rate), gigabytes(all.back().rate));
  return Facts{first_of(nodes, most_nodes), gigabytes(all.front().rate), range,
               fmt::format("{}", all.size() - nodes.size()), all.front().where};
}

}  // namespace

std::span<const Signal> host_signals() {
  static const std::vector<Signal> all{
      {"node_lacks_adapters", node_lacks_adapters, {"line", "node", "count", "most", "missing", "others"}},
      {"node_without_direct", node_without_direct, {"line", "node", "staged", "of", "adapters", "others"}},
      {"node_slower_than_its_siblings",
       node_slower_than_its_siblings,
       {"node", "rate", "others", "count", "where"},
       {{"share"}}},
  };
  return all;
}

}  // namespace fabricost::observe::diagnosis
