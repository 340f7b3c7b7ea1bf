/// Ranks against each other in dumps: PyTorch's flight recorder, NCCL's RAS and Inspector, and the NVLinks of a node's GPUs.

#include "diagnose/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace fabricost::observe::diagnosis {

namespace {

constexpr std::size_t max_places = 4;  ///< nodes, or ranks at an address, that are named

bool waits(const FlightEntry& one) { return !one.pair && one.state != FlightEntry::State::completed; }

std::string called_at(const FlightDumps& all, const FlightEntry& entry) {
  return entry.frame == 0 ? std::string{} : ", called at " + all.words[entry.frame];
}
std::string call_in_words(const FlightDumps& all, const FlightEntry& entry) {
  return fmt::format("{} number {}{}{}", all.words[entry.operation], entry.sequence, entry.shape == 0 ? "" : " of ",
                     all.words[entry.shape]);
}

/// The part that ranks of one collective must agree on: lists of tensors may be uneven on the side where every rank has its own.
std::string agreed_part(const FlightDumps& all, const FlightEntry& entry) {
  const std::string& name = all.words[entry.operation];
  const std::string& shape = all.words[entry.shape];
  const auto arrow = shape.find(" -> ");
  if (arrow == std::string::npos) return {};
  if (name == "all_gather") return shape.substr(arrow);
  if (name == "reduce_scatter") return shape.substr(0, arrow);
  for (const char* whole : {"all_reduce", "broadcast", "reduce", "_all_gather_base", "_reduce_scatter_base", "_allgather_base"})
    if (name == whole) return shape;
  return {};
}

/// One entry and the ranks that have one like it.
struct Alike {
  std::set<int> ranks;
  const FlightEntry* entry = nullptr;
};

/// The first collective of a group in which ranks differ. Of equally many the one with the lowest rank is right.
std::optional<Facts> flight_collectives_differ(const Context& c, const Numbers&) {
  const FlightDumps& all = c.dumps->flights;
  struct Call {
    std::uint32_t group;
    std::int64_t sequence;
    int rank;
    const FlightEntry* entry;
  };
  std::vector<Call> calls;
  for (const FlightDump& dump : all.dumps)
    for (const FlightEntry& one : dump.entries)
      if (!one.pair && one.sequence >= 0 && dump.rank >= 0) calls.push_back({one.group, one.sequence, dump.rank, &one});
  std::stable_sort(calls.begin(), calls.end(),
                   [](const Call& a, const Call& b) { return std::tie(a.group, a.sequence) < std::tie(b.group, b.sequence); });
  for (std::size_t first = 0; first < calls.size();) {
    std::size_t end = first;
    std::map<std::pair<std::uint32_t, std::string>, Alike> ways;
    for (; end < calls.size() && calls[end].group == calls[first].group && calls[end].sequence == calls[first].sequence; ++end) {
      Alike& way = ways[{calls[end].entry->operation, agreed_part(all, *calls[end].entry)}];
      way.ranks.insert(calls[end].rank);
      if (way.entry == nullptr) way.entry = calls[end].entry;
    }
    first = end;
    if (ways.size() < 2) continue;
    std::vector<const Alike*> order;
    for (const auto& [key, way] : ways) order.push_back(&way);
    std::stable_sort(order.begin(), order.end(), [](const Alike* a, const Alike* b) {
      return a->ranks.size() != b->ranks.size() ? a->ranks.size() > b->ranks.size() : *a->ranks.begin() < *b->ranks.begin();
    });
    std::set<int> odd;
    for (std::size_t i = 1; i < order.size(); ++i) odd.insert(order[i]->ranks.begin(), order[i]->ranks.end());
    const std::string said = fmt::format("rank {} called {}{}, rank {} called {}{}", listed(order[1]->ranks),
                                         call_in_words(all, *order[1]->entry), called_at(all, *order[1]->entry), listed(order[0]->ranks),
                                         call_in_words(all, *order[0]->entry), called_at(all, *order[0]->entry));
    return Facts{said, listed(odd), all.groups[order[1]->entry->group].name};
  }
  return std::nullopt;
}

/// A group some of whose ranks wait for a collective that others never called.
struct Late {
  std::uint32_t group = 0;
  std::set<int> behind, waiting;
  std::int64_t least = 0;
  const FlightEntry* call = nullptr;
  bool idle = false;  ///< those behind wait for nothing else: nobody holds them up
};

std::optional<Late> latest_group(const FlightDumps& all) {
  std::set<int> waiting_anywhere;
  for (const FlightDump& dump : all.dumps)
    if (std::any_of(dump.entries.begin(), dump.entries.end(), waits)) waiting_anywhere.insert(dump.rank);
  std::optional<Late> best;
  for (std::uint32_t group = 0; group < all.groups.size(); ++group) {
    Late one;
    one.group = group;
    std::map<int, std::int64_t> enqueued;
    for (const FlightDump& dump : all.dumps)
      if (const auto at = dump.enqueued.find(group); at != dump.enqueued.end() && dump.rank >= 0)
        enqueued[dump.rank] = at->second;
      else if (dump.rank >= 0 && all.groups[group].ranks.contains(dump.rank))
        enqueued[dump.rank] = 0;
    if (enqueued.size() < 2) continue;
    one.least =
        std::min_element(enqueued.begin(), enqueued.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->second;
    for (const FlightDump& dump : all.dumps)
      for (const FlightEntry& entry : dump.entries)
        if (entry.group == group && waits(entry) && entry.sequence > one.least) {
          one.waiting.insert(dump.rank);
          if (one.call == nullptr || entry.sequence < one.call->sequence) one.call = &entry;
        }
    if (one.call == nullptr) continue;
    for (const auto& [rank, last] : enqueued)
      if (last < one.call->sequence) one.behind.insert(rank);
    if (one.behind.empty()) continue;
    one.idle = std::none_of(one.behind.begin(), one.behind.end(), [&](int rank) { return waiting_anywhere.contains(rank); });
    if (!best || std::tuple{one.idle, one.waiting.size()} > std::tuple{best->idle, best->waiting.size()}) best = std::move(one);
  }
  return best;
}

std::optional<Facts> flight_behind(const Context& c, const Numbers&) {
  const FlightDumps& all = c.dumps->flights;
  const auto late = latest_group(all);
  if (!late) return std::nullopt;
  const std::string said = fmt::format("rank {} came to number {}, rank {} waited for {}{}", listed(late->behind), late->least,
                                       listed(late->waiting), call_in_words(all, *late->call), called_at(all, *late->call));
  return Facts{said, listed(late->behind), all.groups[late->group].name};
}

/// Ranks of a group without a dump, where most of the others have one and wait.
std::optional<Facts> flight_missing(const Context& c, const Numbers&) {
  const FlightDumps& all = c.dumps->flights;
  std::set<int> dumped;
  std::map<std::uint32_t, std::pair<std::set<int>, const FlightEntry*>> waiting;
  for (const FlightDump& dump : all.dumps) {
    dumped.insert(dump.rank);
    for (const FlightEntry& one : dump.entries)
      if (waits(one)) {
        auto& [ranks, entry] = waiting[one.group];
        ranks.insert(dump.rank);
        if (entry == nullptr) entry = &one;
      }
  }
  for (const auto& [group, found] : waiting) {
    std::set<int> missing;
    const std::set<int>& ranks = all.groups[group].ranks;
    std::set_difference(ranks.begin(), ranks.end(), dumped.begin(), dumped.end(), std::inserter(missing, missing.end()));
    if (dumped.size() < 2 || missing.empty() || 2 * missing.size() > ranks.size()) continue;
    const std::string said = fmt::format("rank {} of {} wrote no dump, rank {} waited for {}{}", listed(missing), ranks.size(),
                                         listed(found.first), call_in_words(all, *found.second), called_at(all, *found.second));
    return Facts{said, listed(missing), all.groups[group].name};
  }
  return std::nullopt;
}

/// Ranks that wait for a collective.
std::optional<Facts> flight_waiting(const Context& c, const Numbers&) {
  const FlightDumps& all = c.dumps->flights;
  std::set<int> ranks;
  const FlightEntry* call = nullptr;
  for (const FlightDump& dump : all.dumps)
    for (const FlightEntry& one : dump.entries)
      if (waits(one) && (call == nullptr || (one.group == call->group && one.sequence == call->sequence))) {
        call = &one;
        ranks.insert(dump.rank);
      }
  if (call == nullptr) return std::nullopt;
  const std::string who = *ranks.begin() < 0 ? "a rank" : "rank " + listed(ranks);
  return Facts{fmt::format("{} waited for {}{}", who, call_in_words(all, *call), called_at(all, *call)), all.groups[call->group].name};
}

std::string on_nodes(const std::set<std::string>& nodes) { return nodes.empty() ? std::string{} : "on " + first_of(nodes, max_places); }

std::string ranks_of(const RasGroup& group) {
  return group.named.empty() ? fmt::format("{} ranks", group.ranks) : "rank " + listed(group.named);
}

std::optional<Facts> ras_missing(const Context& c, const Numbers&) {
  const RasGroup* best = nullptr;
  for (const RasGroup& one : c.reports.ras.groups)
    if (one.kind == RasGroup::Kind::missing && (best == nullptr || best->named.empty())) best = &one;
  if (best == nullptr) return std::nullopt;
  return Facts{cited(best->line), ranks_of(*best), on_nodes(best->nodes), best->communicator};
}

/// Ranks of a communicator that launched fewer or more collectives than most.
std::optional<Facts> ras_counts_differ(const Context& c, const Numbers&) {
  std::map<std::pair<std::string, std::string>, std::vector<const RasGroup*>> collectives;
  for (const RasGroup& one : c.reports.ras.groups)
    if (one.kind == RasGroup::Kind::launched) collectives[{one.communicator, one.what}].push_back(&one);
  for (auto& [key, groups] : collectives) {
    if (groups.size() < 2) continue;
    std::stable_sort(groups.begin(), groups.end(), [](const RasGroup* a, const RasGroup* b) { return a->ranks > b->ranks; });
    const RasGroup &most = *groups.front(), &odd = *groups.back();
    return Facts{
        cited(odd.line), ranks_of(odd), on_nodes(odd.nodes), key.first, fmt::format("{}", odd.count), fmt::format("{}", most.count),
        key.second};
  }
  return std::nullopt;
}

std::optional<Facts> ras_status(const Context& c, const Numbers&) {
  for (const RasGroup& one : c.reports.ras.groups) {
    if (one.kind != RasGroup::Kind::status || one.what.find("RUNNING") != std::string::npos) continue;
    return Facts{cited(one.line), ranks_of(one), on_nodes(one.nodes), one.communicator, one.what};
  }
  return std::nullopt;
}

std::string hosts_of(const InspectedCommunicator& one, const std::set<int>& ranks) {
  std::set<std::string> hosts;
  for (const int rank : ranks)
    if (const std::string& host = one.by_rank.at(rank).host; !host.empty()) hosts.insert(host);
  return on_nodes(hosts);
}

/// Ranks whose records of a communicator stop before the others'.
std::optional<Facts> inspector_behind(const Context& c, const Numbers& n) {
  for (const auto& [id, one] : c.dumps->inspected.communicators) {
    std::int64_t most = -1;
    for (const auto& [rank, records] : one.by_rank) most = std::max(most, records.last);
    std::set<int> behind;
    std::int64_t least = most;
    for (const auto& [rank, records] : one.by_rank)
      if (static_cast<double>(most - records.last) >= n["calls"]) {
        behind.insert(rank);
        least = std::min(least, records.last);
      }
    if (one.by_rank.size() < 3 || behind.empty() || 2 * behind.size() > one.by_rank.size()) continue;
    return Facts{listed(behind), hosts_of(one, behind), fmt::format("{}", least), fmt::format("{}", most), one.name};
  }
  return std::nullopt;
}

/// Ranks that spend far less time inside than the others: they come last, and the others wait for them.
std::optional<Facts> inspector_late(const Context& c, const Numbers& n) {
  for (const auto& [id, one] : c.dumps->inspected.communicators) {
    std::set<int> late;
    double least = 1;
    for (const auto& [rank, share] : share_of_time(one))
      if (share < n["share"]) {
        late.insert(rank);
        least = std::min(least, share);
      }
    if (late.empty() || 4 * late.size() > one.by_rank.size()) continue;
    return Facts{listed(late), hosts_of(one, late), fmt::format("{:.0f} %", 100 * least), one.name};
  }
  return std::nullopt;
}

/// GPUs of one node with fewer NVLinks than the others, or slower ones.
std::optional<Facts> nvlinks_differ(const Context& c, const Numbers&) {
  int most = 0;
  double fastest = 0;
  for (const auto& [gpu, one] : c.info.nvlinks) {
    most = std::max(most, one.active);
    fastest = std::max(fastest, one.fastest);
  }
  std::string odd, ways;
  const bool some_inactive = c.info.seen("nvlink_inactive").times > 0;
  for (const auto& [gpu, one] : c.info.nvlinks) {
    const bool cut = gpu == c.info.nvlinks.rbegin()->first && !some_inactive && one.slowest >= fastest;  // a listing that ends early
    if ((one.active < most || one.slowest < fastest) && !cut) {
      odd += (odd.empty() ? "" : ", ") + gpu;
      if (ways.empty())
        ways = one.active < most ? fmt::format("{} has {} active links, others have {}", gpu, one.active, most)
                                 : fmt::format("a link of {} runs at {:.4g} GB/s, others at {:.4g}", gpu, one.slowest, fastest);
    }
  }
  if (odd.empty() || c.info.nvlinks.size() < 2) return std::nullopt;
  return Facts{odd, ways};
}

}  // namespace

std::span<const Signal> dump_signals() {
  static const std::vector<Signal> all{
      {"flight_collectives_differ", flight_collectives_differ, {"ways", "odd", "group"}},
      {"flight_behind", flight_behind, {"ways", "behind", "group"}},
      {"flight_missing", flight_missing, {"ways", "missing", "group"}},
      {"flight_waiting", flight_waiting, {"ways", "group"}},
      {"ras_missing", ras_missing, {"line", "who", "where", "communicator"}},
      {"ras_counts_differ", ras_counts_differ, {"line", "who", "where", "communicator", "count", "others", "operation"}},
      {"ras_status", ras_status, {"line", "who", "where", "communicator", "state"}},
      {"inspector_behind", inspector_behind, {"behind", "where", "least", "most", "communicator"}, {{"calls"}}},
      {"inspector_late", inspector_late, {"late", "where", "share", "communicator"}, {{"share"}}},
      {"nvlinks_differ", nvlinks_differ, {"odd", "ways"}},
  };
  return all;
}

}  // namespace fabricost::observe::diagnosis
