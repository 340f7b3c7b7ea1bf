/// Signals from comparing the ranks of a job: a rank waits for another collective, never came, or its log stops before the others'.

#include "diagnose/context.hpp"
#include "text/joined.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace fabricost::observe::diagnosis {

namespace {

std::string in_words(const Waited& one) {
  std::string out = one.operation.empty() ? "a collective" : one.operation;
  if (one.sequence >= 0) out += fmt::format(" number {}", one.sequence);
  if (one.in >= 0) out += fmt::format(" of {} elements", one.in);
  return out;
}

/// The reports of the process group with the most of them: ranks of different groups wait for different collectives by right.
std::vector<const Waited*> of_largest_group(const Context& c) {
  std::map<std::string, std::vector<const Waited*>> groups;
  for (const Waited& one : c.reports.waited) groups[one.group].push_back(&one);
  std::vector<const Waited*> out;
  for (auto& [group, reports] : groups)
    if (reports.size() > out.size()) out = std::move(reports);
  return out;
}

/// Ranks that wait for different collectives. A rank behind the others by number alone is late, not wrong.
std::optional<Facts> collectives_differ(const Context& c, const Numbers&) {
  using Key = std::tuple<std::string, long long, long long>;
  std::map<Key, std::pair<std::set<int>, const Waited*>> groups;
  for (const Waited* one : of_largest_group(c)) {
    auto& [ranks, first] = groups[{one->operation, one->in, one->out}];
    if (one->rank >= 0) ranks.insert(one->rank);
    if (first == nullptr) first = one;
  }
  std::erase_if(groups, [](const auto& group) { return std::get<0>(group.first).empty() || group.second.first.empty(); });
  if (groups.size() < 2) return std::nullopt;
  const auto most = std::max_element(groups.begin(), groups.end(),
                                     [](const auto& a, const auto& b) { return a.second.first.size() < b.second.first.size(); });
  std::set<int> odd;
  std::string ways = fmt::format("rank {} in {}", listed(most->second.first), in_words(*most->second.second));
  const Waited* other = nullptr;
  for (auto at = groups.begin(); at != groups.end(); ++at) {
    if (at == most) continue;
    odd.insert(at->second.first.begin(), at->second.first.end());
    if (other == nullptr) ways += fmt::format(", rank {} in {}", listed(at->second.first), in_words(*at->second.second));
    other = at->second.second;
  }
  return Facts{cited(other->line), listed(odd), ways};
}

/// Ranks that wait for collectives of different numbers: those behind hold the others up.
std::optional<Facts> sequences_differ(const Context& c, const Numbers&) {
  std::map<long long, std::set<int>> ranks;
  const Waited* first = nullptr;
  if (c.reports.counts_several_groups) return std::nullopt;  // numbers of different groups say nothing of each other
  for (const Waited* one : of_largest_group(c)) {
    if (one->sequence < 0 || one->rank < 0) continue;
    ranks[one->sequence].insert(one->rank);
    if (ranks.begin()->first == one->sequence) first = one;
  }
  if (ranks.size() < 2) return std::nullopt;
  return Facts{cited(first->line), listed(ranks.begin()->second), fmt::format("{}", ranks.begin()->first),
               fmt::format("{}", ranks.rbegin()->first)};
}

/// Ranks of the job that report no timeout where others do: they are where the others wait for them.
std::optional<Facts> ranks_without_report(const Context& c, const Numbers&) {
  std::set<int> seen, missing;
  for (const Waited& one : c.reports.waited)
    if (one.rank >= 0) seen.insert(one.rank);
  const int world = std::max(c.reports.world, c.info.ranks);
  if (seen.size() < 2 || world <= static_cast<int>(seen.size()) || 2 * seen.size() < static_cast<std::size_t>(world)) return std::nullopt;
  for (int rank = 0; rank < world; ++rank)
    if (!seen.contains(rank)) missing.insert(rank);
  return Facts{cited(c.reports.waited.front().line), listed(missing), fmt::format("{}", seen.size()), fmt::format("{}", world)};
}

/// A watchdog's report of any rank.
std::optional<Facts> collective_timed_out(const Context& c, const Numbers&) {
  if (c.reports.waited.empty()) return std::nullopt;
  const Waited& one = c.reports.waited.front();
  std::set<int> ranks;
  for (const Waited& w : c.reports.waited)
    if (w.rank >= 0 && in_words(w) == in_words(one)) ranks.insert(w.rank);
  return Facts{cited(one.line), in_words(one), ranks.empty() ? "unknown" : listed(ranks)};
}

/// The collective that ran out of time moves next to nothing: a barrier, so it did not wait for the wire.
std::optional<Facts> tiny_collective_timed_out(const Context& c, const Numbers& n) {
  for (const Waited& one : c.reports.waited)
    if (one.in >= 0 && static_cast<double>(one.in) <= n["elements"] && one.out <= one.in)
      return Facts{cited(one.line), fmt::format("{}", one.rank), in_words(one), fmt::format("{}", one.in)};
  return std::nullopt;
}

/// Ranks whose last collective was enqueued behind the others': they never called the next one.
std::optional<Facts> ranks_behind(const Context& c, const Numbers&) {
  long long most = -1, least = -1;
  for (const auto& [rank, one] : c.reports.progress) {
    most = std::max(most, one.enqueued);
    least = least < 0 ? one.enqueued : std::min(least, one.enqueued);
  }
  if (most <= least) return std::nullopt;
  std::set<int> behind;
  const LogLine* line = nullptr;
  for (const auto& [rank, one] : c.reports.progress)
    if (one.enqueued == least) {
      behind.insert(rank);
      if (line == nullptr) line = &one.line;
    }
  return Facts{cited(*line), listed(behind), fmt::format("{}", least), fmt::format("{}", most)};
}

/// Of those ranks, the ones that called a collective and did not complete it, where others did: they hold the others up without a missing call.
std::optional<Facts> ranks_stuck(const Context& c, const Numbers&) {
  std::set<int> stuck;
  const Progress* first = nullptr;
  long long done = -1;
  for (const auto& [rank, one] : c.reports.progress) done = std::max(done, one.completed);
  for (const auto& [rank, one] : c.reports.progress) {
    if (one.completed >= one.enqueued || one.enqueued > done) continue;
    stuck.insert(rank);
    if (first == nullptr || one.completed < first->completed) first = &one;
  }
  if (first == nullptr) return std::nullopt;
  return Facts{cited(first->line), listed(stuck), fmt::format("{}", first->completed + 1), fmt::format("{}", done)};
}

/// Ranks of a communicator that never began to make it, where the others did.
std::optional<Facts> ranks_never_came(const Context& c, const Numbers&) {
  for (const auto& [id, one] : c.reports.communicators) {
    const int began = static_cast<int>(one.began.size());
    if (began < 2 || began >= one.ranks || 2 * began < one.ranks) continue;
    if (!one.ended.empty() || c.last_row > 0) continue;
    std::set<int> missing;
    for (int rank = 0; rank < one.ranks; ++rank)
      if (!one.began.contains(rank)) missing.insert(rank);
    return Facts{cited(one.first), listed(missing), fmt::format("{}", one.began.size()), fmt::format("{}", one.ranks)};
  }
  return std::nullopt;
}

/// Of a communicator that nearly all ranks say to have made, those that do not; where no rank says that it began.
std::optional<Facts> ranks_without_end(const Context& c, const Numbers&) {
  for (const auto& [id, one] : c.reports.communicators) {
    const int ended = static_cast<int>(one.ended.size());
    if (!one.began.empty() || ended >= one.ranks || 4 * (one.ranks - ended) > one.ranks || c.last_row > 0) continue;
    std::set<int> missing;
    for (int rank = 0; rank < one.ranks; ++rank)
      if (!one.ended.contains(rank)) missing.insert(rank);
    return Facts{cited(one.first), listed(missing), fmt::format("{}", ended), fmt::format("{}", one.ranks)};
  }
  return std::nullopt;
}

/// Ranks that began to make a communicator and did not end, where others did, or none did.
std::optional<Facts> communicator_not_made(const Context& c, const Numbers&) {
  for (const auto& [id, one] : c.reports.communicators) {
    std::set<int> open;
    std::set_difference(one.began.begin(), one.began.end(), one.ended.begin(), one.ended.end(), std::inserter(open, open.end()));
    if (open.empty() || c.last_row > 0) continue;
    // a log whose ranks connected went on: it is a part of one that was not kept whole
    if (one.ended.empty() && (c.info.peer > 0 || c.info.shared_memory > 0 || !c.info.net.empty())) continue;
    return Facts{cited(one.first), listed(open), fmt::format("{}", one.ended.size()), fmt::format("{}", one.ranks)};
  }
  return std::nullopt;
}

/// Files or tags that lack a statement of nearly all others.
std::optional<Facts> speaker_lacks(const Context& c, const Numbers& n) {
  auto all = c.reports.speakers;
  std::erase_if(all, [](const auto& one) { return one.second.tool; });
  if (static_cast<double>(all.size()) < n["speakers"]) return std::nullopt;
  std::map<std::string, std::size_t> said;
  for (const auto& [who, one] : all)
    for (const std::string& what : one.said) ++said[what];
  for (const auto& [what, count] : said) {
    if (count == all.size() || static_cast<double>(count) < n["share"] * static_cast<double>(all.size())) continue;
    std::vector<std::string> silent;
    for (const auto& [who, one] : all)
      if (!one.said.contains(what)) silent.push_back(who);
    constexpr std::size_t most_named = 6;
    return Facts{first_of(silent, most_named), what, fmt::format("{}", count)};
  }
  return std::nullopt;
}

/// The process that torchrun saw end first, by an error of its own and not by a signal: it ended the others.
std::optional<Facts> ended_first(const Context& c, const Numbers&) {
  const auto& root = c.reports.root_cause;
  if (!root || root->exit_code.value_or(1) <= 0) return std::nullopt;
  return Facts{cited(root->line), fmt::format("{}", root->rank), root->exit_code ? fmt::format("{}", *root->exit_code) : "an error"};
}

/// The head of a table without a row.
std::optional<Facts> no_row_follows(const Context& c, const Numbers&) { return found(c.rows_follow); }
std::optional<Facts> peers_connected(const Context& c, const Numbers&) {
  if (c.info.peer == 0) return std::nullopt;
  return Facts{cited(c.info.peer_line)};
}
std::optional<Facts> network_connected(const Context& c, const Numbers&) {
  for (const auto& [name, use] : c.info.net)
    if (use.times > 0) return Facts{cited(use.first)};
  return std::nullopt;
}

}  // namespace

std::string listed(const std::set<int>& ranks) {
  std::vector<std::string> parts;
  for (auto at = ranks.begin(); at != ranks.end();) {
    auto end = at;
    int last = *at;
    while (std::next(end) != ranks.end() && *std::next(end) == last + 1) last = *++end;
    const char* const between = last > *at + 1 ? "-" : ", ";
    parts.push_back(last == *at ? fmt::format("{}", *at) : fmt::format("{}{}{}", *at, between, last));
    at = std::next(end);
  }
  constexpr std::size_t most = 8;
  if (parts.size() > most) {
    const std::size_t more = parts.size() - most;
    parts.resize(most);
    parts.push_back(fmt::format("{} more", more));
  }
  return joined_with_and(parts);
}

std::span<const Signal> rank_report_signals() {
  static const std::vector<Signal> all{
      {"collectives_differ", collectives_differ, {"line", "odd", "ways"}},
      {"sequences_differ", sequences_differ, {"line", "behind", "least", "most"}},
      {"ranks_without_report", ranks_without_report, {"line", "missing", "reported", "world"}},
      {"collective_timed_out", collective_timed_out, {"line", "operation", "ranks"}},
      {"tiny_collective_timed_out", tiny_collective_timed_out, {"line", "rank", "operation", "elements"}, {{"elements"}}},
      {"ranks_behind", ranks_behind, {"line", "behind", "least", "most"}},
      {"ranks_stuck", ranks_stuck, {"line", "stuck", "number", "done"}},
      {"ranks_never_came", ranks_never_came, {"line", "missing", "began", "of"}},
      {"ranks_without_end", ranks_without_end, {"line", "missing", "ended", "of"}},
      {"communicator_not_made", communicator_not_made, {"line", "open", "ended", "of"}},
      {"speaker_lacks", speaker_lacks, {"names", "lacks", "others"}, {{"speakers"}, {"share"}}},
      {"ended_first", ended_first, {"line", "rank", "code"}},
      {"no_row_follows", no_row_follows},
      {"peers_connected", peers_connected, {"line"}},
      {"network_connected", network_connected, {"line"}},
  };
  return all;
}

}  // namespace fabricost::observe::diagnosis
