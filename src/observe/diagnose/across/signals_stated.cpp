/// \file signals_stated.cpp
/// Statements of single ranks on which all should agree, and the address that several of them do not reach.

#include "diagnose/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fabricost::observe::diagnosis {

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
    return Facts{cited(one.lines.at(least->first)), named_or_nodes(odd, one, c.reports), what, least->first, most->first};
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

}  // namespace

std::span<const Signal> stated_signals() {
  using Kind = Stated::Kind;
  static const std::vector<Signal> all{
      {"address_unreached", address_unreached, {"line", "ways", "ranks"}, {{"connections"}}},
      {"against", nullptr, {}, {{"share"}}},
      {"environment_differs", stated_differs<Kind::variable>, {"line", "odd", "what", "value", "others"}, {{"speakers"}, {"share"}}},
      {"network_differs", stated_differs<Kind::network>, {"line", "odd", "what", "value", "others"}, {{"speakers"}, {"share"}}},
      {"topology_differs", stated_differs<Kind::topology>, {"line", "odd", "what", "value", "others"}, {{"speakers"}, {"share"}}},
      {"gpu_direct_differs", stated_differs<Kind::direct>, {"line", "odd", "what", "value", "others"}, {{"speakers"}, {"share"}}},
      {"multicast_differs", stated_differs<Kind::multicast>, {"line", "odd", "what", "value", "others"}, {{"speakers"}, {"share"}}},
      {"versions_differ", stated_differs<Kind::version>, {"line", "odd", "what", "value", "others"}, {{"speakers"}, {"share"}}},
      {"adapters_differ", stated_differs<Kind::adapters>, {"line", "odd", "what", "value", "others"}, {{"speakers"}, {"share"}}},
  };
  return all;
}

}  // namespace fabricost::observe::diagnosis
