/// Signals of ranks and nodes beside each other, by what each of them states.

#include "diagnose/context.hpp"
#include "readings/logs/log_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace fabricost::observe::diagnosis {

// Statements of single ranks on which all should agree, and the address that several of them do not reach.

namespace {

constexpr std::size_t most_named = 6;
std::string named(const std::set<std::string>& names) { return first_of(names, most_named); }

std::set<std::string> hosts_of(const std::set<std::string>& speakers, const RankReports& reports) {
  std::set<std::string> out;
  for (const std::string& who : speakers) {
    const auto at = reports.hosts.find(who);
    out.insert(at == reports.hosts.end() ? std::string{} : at->second);
  }
  return out;
}

/// The speakers by name, with their nodes; only the nodes where several speak on each.
std::string on_nodes_of(const std::set<std::string>& speakers, const std::set<std::string>& hosts) {
  if (speakers.size() > hosts.size())
    return fmt::format("{} {} ({} ranks)", hosts.size() > 1 ? "nodes" : "node", named(hosts), speakers.size());
  return fmt::format("{} (on {})", named(speakers), named(hosts));
}

/// The speakers by name; where they are all those of some nodes that say anything, the nodes.
std::string named_or_nodes(const std::set<std::string>& odd, const Stated& one, const RankReports& reports) {
  std::set<std::string> rest;
  for (const auto& [value, all] : one.who)
    for (const std::string& who : all)
      if (!odd.contains(who)) rest.insert(who);
  const std::set<std::string> theirs = hosts_of(odd, reports), others = hosts_of(rest, reports);
  const bool shared = std::any_of(theirs.begin(), theirs.end(), [&](const std::string& host) { return others.contains(host); });
  return theirs.contains("") || shared ? named(odd) : on_nodes_of(odd, theirs);
}

/// A statement of one kind on which most ranks agree and a few differ.
std::optional<Facts> stated_otherwise(const Context& c, const Numbers& n, Stated::Kind kind) {
  for (const auto& [what, one] : c.reports.stated) {
    if (one.kind != kind || one.who.size() < 2) continue;
    std::size_t all = 0;
    const std::pair<const std::string, std::set<std::string>>*most = nullptr, *least = nullptr;
    for (const auto& way : one.who) {
      all += way.second.size();
      if (most == nullptr || way.second.size() > most->second.size()) most = &way;
      if (least == nullptr || way.second.size() < least->second.size()) least = &way;
    }
    if (static_cast<double>(all) < n["speakers"] || static_cast<double>(most->second.size()) < n["share"] * static_cast<double>(all))
      continue;
    std::set<std::string> odd;
    for (const auto& way : one.who)
      if (&way != most) odd.insert(way.second.begin(), way.second.end());
    const std::set<std::string> hosts = hosts_of(odd, c.reports);
    const std::string who = named_or_nodes(odd, one, c.reports);
    return Facts{cited(one.lines.at(least->first)), who, what, least->first, most->first, hosts.contains("") ? who : named(hosts)};
  }
  return std::nullopt;
}

/// The address at the end of more failed connections than any other: its node, or its port. A node without its port is not reached, and
/// does not reach others.
std::optional<Facts> address_unreached(const Context& c, const Numbers& n) {
  const RankReports& all = c.reports;
  std::map<std::string, std::string> home;  // of a rank
  for (const auto& [address, ranks] : all.at_address)
    for (const std::string& rank : ranks) home.try_emplace(rank, address);
  std::map<std::string, std::set<std::pair<std::string, std::string>>> ends;  // of failed connections, by address
  for (const auto& [address, ranks] : all.unreached)
    for (const std::string& rank : ranks) {
      ends[address].emplace(rank, address);
      if (const auto own = home.find(rank); own != home.end() && own->second != address) ends[own->second].emplace(rank, address);
    }
  const auto by_count = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
  const auto most = std::max_element(ends.begin(), ends.end(), by_count);
  if (most == ends.end() || static_cast<double>(most->second.size()) < n["connections"]) return std::nullopt;
  for (const auto& one : ends)
    if (&one != &*most && one.second.size() >= most->second.size()) return std::nullopt;
  const auto there = all.at_address.find(most->first);
  std::string ranks = "a node without a log here";
  if (there != all.at_address.end()) {
    const std::set<std::string> hosts = hosts_of(there->second, all);
    ranks = hosts.contains("") ? named(there->second) : on_nodes_of(there->second, hosts);
  }
  std::set<std::string> others;  // that do not reach it; else those that its own ranks do not reach
  for (const auto& [rank, address] : most->second)
    if (address == most->first) others.insert(rank);
  const bool reached = others.empty();
  for (const auto& [rank, address] : most->second)
    if (reached) others.insert(address);
  const std::string& quoted = reached ? *others.begin() : most->first;
  const std::string at = fmt::format("{} (the address of {})", most->first, ranks);
  const std::string ways =
      reached ? fmt::format("{} does not reach {}", at, named(others)) : fmt::format("{} do not reach {}", named(others), at);
  return Facts{cited(all.unreached_lines.at(quoted)), ways, ranks};
}

template <Stated::Kind kind>
std::optional<Facts> stated_differs(const Context& c, const Numbers& n) {
  return stated_otherwise(c, n, kind);
}

// Nodes of one log beside each other: adapters that one of them lacks, and GPUDirect RDMA that only others have.

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
/// are direct. Where an adapter may read GPU memory to send it, another may write what it receives.
std::optional<Facts> node_without_direct(const Context& c, const Numbers&) {
  constexpr std::array<std::pair<char, char>, 4> ways{{{'s', 's'}, {'r', 'r'}, {' ', ' '}, {'r', 's'}}};
  for (const auto& [network, use] : c.info.net) {
    if (network == "Socket") continue;
    for (const auto& [without, with] : ways) {
      std::set<std::string> nodes, others;
      const HostPaths* worst = nullptr;
      bool whole = false;
      for (const auto& [key, one] : use.paths) whole = whole || (key.second == with && one.direct == one.times);
      for (const auto& [key, one] : use.paths) {
        if (key.first.empty()) continue;
        const bool staged = one.direct == 0 || (whole && 2 * one.direct < one.times);
        if (!staged && key.second == with) others.insert(key.first);
        if (!staged || key.second != without) continue;
        nodes.insert(key.first);
        if (worst == nullptr || one.times - one.direct > worst->times - worst->direct) worst = &one;
      }
      for (const std::string& node : nodes) others.erase(node);
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

std::span<const Signal> stated_signals() {
  using Kind = Stated::Kind;
  static const std::vector<std::string_view> stated_facts{"line", "odd", "what", "value", "others", "where"};
  static const std::vector<Signal> all{
      {"address_unreached", address_unreached, {"line", "ways", "ranks"}, {{"connections"}}},
      {"against", nullptr, {}, {{"share"}}},
      {"environment_differs", stated_differs<Kind::variable>, stated_facts, {{"speakers"}, {"share"}}},
      {"network_differs", stated_differs<Kind::network>, stated_facts, {{"speakers"}, {"share"}}},
      {"topology_differs", stated_differs<Kind::topology>, stated_facts, {{"speakers"}, {"share"}}},
      {"gpu_direct_differs", stated_differs<Kind::direct>, stated_facts, {{"speakers"}, {"share"}}},
      {"multicast_differs", stated_differs<Kind::multicast>, stated_facts, {{"speakers"}, {"share"}}},
      {"versions_differ", stated_differs<Kind::version>, stated_facts, {{"speakers"}, {"share"}}},
      {"adapters_differ", stated_differs<Kind::adapters>, stated_facts, {{"speakers"}, {"share"}}},
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
