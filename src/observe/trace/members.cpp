/// Libraries know a rank by its number in a communicator, and a communicator by its hash. The largest one numbers the job: a rank is its
/// number there. Ranks of other communicators are those of the process that is in both (same host and process id); where no trace shows a
/// common one, ranks are numbered communicator by communicator. A group's members are known once traces show all its numbers.

#include "trace/timeline.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace fabricost::observe::timeline::parts {

namespace {

/// A group that traces know by an id.
struct Known {
  int size = 0, highest = -1, nodes = 0;
  std::size_t traces = 0;
  std::map<int, std::size_t> holder{};  ///< own number -> trace
};
using KnownGroups = std::map<std::string, Known>;

[[nodiscard]] KnownGroups known_groups(const Job& job) {
  KnownGroups out;
  for (std::size_t t = 0; t < job.ranks.size(); ++t)
    for (const TracedGroup& group : job.ranks[t].groups) {
      if (group.id.empty()) continue;
      Known& known = out[group.id];
      known.size = std::max(known.size, group.size);
      known.nodes = std::max(known.nodes, group.nodes);
      if (group.own < 0) continue;
      known.highest = std::max(known.highest, group.own);
      if (known.holder.try_emplace(group.own, t).second) ++known.traces;
    }
  for (auto& [id, known] : out)
    if (known.size == 0) known.size = known.highest + 1;  // as many as are seen
  return out;
}

/// The group that numbers the job; nullptr: none is known by its id.
[[nodiscard]] const std::string* numbering(const KnownGroups& all) {
  const auto best = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.size, a.second.traces) < std::pair(b.second.size, b.second.traces);
  });
  return best == all.end() ? nullptr : &best->first;
}

/// Ranks that are numbered by a group, then those of the same process, then all others: group by group, those of one node first.
void number_by_group(Job& job, const KnownGroups& all, const std::string& world) {
  std::set<int> taken;
  for (const RankTrace& one : job.ranks)
    if (one.rank >= 0) taken.insert(one.rank);
  std::map<std::string, std::set<int>> of_process;
  for (const auto& [own, trace] : all.at(world).holder) {
    RankTrace& one = job.ranks[trace];
    if (one.rank < 0 && taken.insert(own).second) one.rank = own;
    if (one.rank >= 0 && !one.process.empty()) of_process[one.process].insert(one.rank);
  }
  std::vector<const Known*> in_order;
  for (const auto& [id, known] : all)
    if (!known.holder.empty()) in_order.push_back(&known);
  const auto first_process = [&](const Known& known) {
    return std::pair(known.nodes > 1, job.ranks[known.holder.begin()->second].process);
  };
  std::stable_sort(in_order.begin(), in_order.end(), [&](const Known* a, const Known* b) { return first_process(*a) < first_process(*b); });
  int next = 0;
  for (const Known* known : in_order)
    for (const auto& [own, trace] : known->holder) {
      RankTrace& one = job.ranks[trace];
      if (one.rank >= 0) continue;
      const auto same = of_process.find(one.process);
      if (same != of_process.end() && same->second.size() == 1) {
        one.rank = *same->second.begin();
        continue;
      }
      while (taken.contains(next)) ++next;
      taken.insert(one.rank = next);
      if (!one.process.empty()) of_process[one.process].insert(one.rank);
    }
  for (RankTrace& one : job.ranks)  // other files of ranks that have one
    for (const TracedGroup& group : one.groups)
      if (one.rank < 0 && group.own >= 0 && !group.id.empty()) one.rank = job.ranks[all.at(group.id).holder.at(group.own)].rank;
}

/// The ranks of a group, where traces show all of them, or it is the one that numbers the job.
[[nodiscard]] std::vector<int> members_of(const Job& job, const Known& known, bool numbers_all) {
  std::vector<int> out;
  if (std::ssize(known.holder) == known.size) {
    for (const auto& [own, trace] : known.holder) out.push_back(job.ranks[trace].rank);
    std::sort(out.begin(), out.end());
    if (std::adjacent_find(out.begin(), out.end()) == out.end()) return out;
    out.clear();
  }
  if (numbers_all) {
    out.resize(static_cast<std::size_t>(known.size));
    std::iota(out.begin(), out.end(), 0);
  }
  return out;
}

}  // namespace

void name_members(Job& job) {
  const KnownGroups all = known_groups(job);
  const std::string* const world = numbering(all);
  if (world != nullptr) {
    number_by_group(job, all, *world);
    for (RankTrace& trace : job.ranks)
      for (TracedGroup& group : trace.groups) {
        if (group.id.empty()) continue;
        const Known& known = all.at(group.id);
        group.size = known.size;
        if (group.ranks.empty()) group.ranks = members_of(job, known, group.id == *world);
        if (group.id == *world) trace.world = std::max(trace.world, known.size);
      }
  }
  for (RankTrace& trace : job.ranks)
    for (TracedCall& call : trace.calls) {
      if (const std::string& id = trace.groups[call.group].id; !id.empty() && call.peer >= 0) {
        const auto& holder = all.at(id).holder;
        const auto peer = holder.find(call.peer);
        call.peer = peer == holder.end() ? -1 : job.ranks[peer->second].rank;
      }
      if (!std::exchange(call.of_one_rank, false) || call.bytes < 0) continue;
      using enum Moves;
      const int size = trace.groups[call.group].size;
      if (call.moves != all_gather && call.moves != reduce_scatter && call.moves != all_to_all && call.moves != gather &&
          call.moves != scatter)
        continue;
      call.bytes = size > 0 ? call.bytes * size : -1;
    }
}

}  // namespace fabricost::observe::timeline::parts
