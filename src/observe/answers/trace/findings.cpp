/// Ranks that others wait for, operations slower than predicted or than the same in sibling groups, coalesced calls.

#include "answers/trace/step.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fabricost::observe::detail {

namespace {

/// A sentence and its cost, seconds of a rank.
using Found = std::pair<double, std::string>;

[[nodiscard]] std::string time(Time t) { return time_text(t); }
[[nodiscard]] std::string what(const TracedCollective& row) {
  const std::string size = row.bytes ? fmt::format(" of {}", size_text(*row.bytes)) : "";
  return fmt::format("{}{} in group {}", row.operation, size, row.group);
}

void late_ranks(const TraceAnswer& a, std::vector<Found>& out) {
  constexpr int worth_saying = 100;  // one part of a rank's window in so many
  Time window{};
  for (const TracedRank& one : a.ranks) window = std::max(window, one.window);
  std::set<std::string> pipelines;  // whose waits are the bubble
  for (const TracedProcessGroup& one : a.groups)
    if (one.kind == "pipeline") pipelines.insert(one.name);
  std::map<int, const TracedCollective*> longest;
  for (const TracedCollective& row : a.collectives) {
    if (!row.last_rank || pipelines.contains(row.group)) continue;
    const TracedCollective*& at = longest[*row.last_rank];
    if (at == nullptr || row.wait > at->wait) at = &row;
  }
  for (const TracedRank& one : a.ranks) {
    if (one.calls_last == 0 || one.others_wait * worth_saying < window) continue;
    std::string text = fmt::format("Rank {} comes last to {} collective{}: another rank waits {} for it", one.rank, one.calls_last,
                                   one.calls_last == 1 ? "" : "s", time(one.others_wait));
    if (const auto row = longest.find(one.rank); row != longest.end())
      text += fmt::format("; longest in the {} at {}, {} of waiting before {} of wire", what(*row->second), time(row->second->at),
                          time(row->second->wait), time(row->second->wire));
    out.emplace_back(one.others_wait.value(), text + ".");
  }
}

void bubble(const TraceAnswer& a, std::vector<Found>& out) {
  constexpr int worth_saying = 100;
  for (const StepTerm& term : a.terms)
    if (term.name == "bubble" && term.time * worth_saying >= a.step)
      out.emplace_back((term.time * a.steps).value(),
                       fmt::format("The pipeline's bubble is {} of a step ({:.0f} %): its stages wait for each other, as in every pipeline; "
                                   "more microbatches, or more chunks a stage, make it smaller.",
                                   time(term.time), 100 * term.time / a.step));
}

void slow_rows(const TraceAnswer& a, std::vector<Found>& out) {
  for (const TracedCollective& row : a.collectives) {
    if (row.verdict != "slow" || !row.predicted || !row.interval) continue;
    std::string text = fmt::format("{} takes {}, {:.2g} times its prediction of {} ({} to {})", what(row), time(row.wire),
                                   row.wire / *row.predicted, time(*row.predicted), time(row.interval->first), time(row.interval->second));
    if (row.slow_since && *row.slow_since > row.at) text += fmt::format(", since {}", time(*row.slow_since));
    out.emplace_back(std::max(0.0, ((row.wire - *row.predicted) * row.count).value()), text + ".");
  }
}

/// The same operation and size in groups of one kind should take the same: the one that does not has the slow link.
void slow_groups(const TraceAnswer& a, std::vector<Found>& out) {
  std::map<std::string, std::string> kinds;
  std::map<std::string, int> nodes;
  for (const TracedProcessGroup& one : a.groups) kinds[one.name] = one.kind, nodes[one.name] = one.nodes;
  std::map<std::tuple<std::string, double, int, std::string, int>, std::vector<const TracedCollective*>> alike;
  for (const TracedCollective& row : a.collectives)
    if (row.bound == "exact" && row.bytes)
      alike[{row.operation, row.bytes->value(), row.ranks, kinds[row.group], nodes[row.group]}].push_back(&row);
  for (auto& [key, rows] : alike) {
    if (rows.size() < 3) continue;
    std::sort(rows.begin(), rows.end(), [](const auto* x, const auto* y) { return x->wire < y->wire; });
    const Time middle = rows[(rows.size() - 1) / 2]->wire;
    for (const TracedCollective* row : rows)
      if (2 * row->wire > 3 * middle && middle > a.clock_doubt)
        out.emplace_back(((row->wire - middle) * row->count).value(),
                         fmt::format("{} takes {}, {:.2g} times what it takes in the {} other groups like it ({}).", what(*row),
                                     time(row->wire), row->wire / middle, rows.size() - 1, time(middle)));
  }
}

}  // namespace

void say_findings(TraceAnswer& a) {
  std::vector<Found> found;
  late_ranks(a, found);
  bubble(a, found);
  slow_rows(a, found);
  slow_groups(a, found);
  std::stable_sort(found.begin(), found.end(), [](const Found& x, const Found& y) { return x.first > y.first; });
  constexpr std::size_t most = 20;
  for (std::size_t i = 0; i < std::min(found.size(), most); ++i) a.findings.push_back(std::move(found[i].second));
  int coalesced = 0, upper = 0, all = 0;
  for (const TracedCollective& row : a.collectives) {
    if (row.messages > 1) coalesced += row.count;
    if (row.bound == "upper") upper += row.count;
    all += row.count;
  }
  if (coalesced > 0)
    a.findings.push_back(
        fmt::format("{} calls carry out several of the program's at once: each counts as one, of all their bytes.", coalesced));
  if (upper > 0)
    a.notes.push_back(
        fmt::format("{} of {} collectives were not traced on all their ranks: their times contain waiting and are upper bounds.", upper, all));
}

}  // namespace fabricost::observe::detail
