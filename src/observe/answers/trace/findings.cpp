/// Ranks that others wait for, operations slower than predicted, than in sibling groups or than most calls, idle GPUs, coalesced calls.

#include "answers/trace/step.hpp"
#include "specs/store.hpp"
#include "trace/timeline.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

namespace fabricost::observe::detail {

namespace {

/// A sentence and its cost, seconds of a rank.
using Found = std::pair<double, std::string>;

[[nodiscard]] std::string time(Time t) { return time_text(t); }
[[nodiscard]] Time time_of_ns(std::int64_t ns) { return units::ns(static_cast<double>(ns)); }
[[nodiscard]] std::string what(std::string_view operation, std::optional<Bytes> bytes, const std::string& group) {
  const std::string size = bytes ? fmt::format(" of {}", size_text(*bytes)) : "";
  return fmt::format("{}{} in group {}", operation, size, group);
}
[[nodiscard]] std::string what(const TracedCollective& row) { return what(row.operation, row.bytes, row.group); }
[[nodiscard]] std::string what(const FoundTrace& trace, const timeline::Call& call) {
  return what(name(call.moves), call.bytes >= 0 ? std::optional{units::B(call.bytes)} : std::nullopt, trace.labels[call.group]);
}

constexpr int worth_saying = 100;  ///< one part of a rank's window in so many
[[nodiscard]] Time window_of(const TraceAnswer& a) {
  Time out{};
  for (const TracedRank& one : a.ranks) out = std::max(out, one.window);
  return out;
}

[[nodiscard]] std::int64_t longest_wait(const timeline::Call& call) {
  std::int64_t out = 0;
  for (const timeline::Part& part : call.parts) out = std::max(out, call.wait_of(part));
  return out;
}

void late_ranks(const TraceAnswer& a, const FoundTrace& trace, std::vector<Found>& out) {
  const Time window = window_of(a);
  std::map<int, std::pair<std::int64_t, const timeline::Call*>> longest;  // by the rank that came last
  for (const timeline::Call& call : trace.job.calls) {
    if (call.last < 0 || trace.job.groups[call.group].kind == timeline::Kind::pipeline) continue;  // whose waits are the bubble
    auto& [wait, at] = longest[trace.job.ranks[static_cast<std::size_t>(call.last)].rank];
    if (const std::int64_t one = longest_wait(call); at == nullptr || one > wait) wait = one, at = &call;
  }
  for (const TracedRank& one : a.ranks) {
    if (one.calls_last == 0 || one.others_wait * worth_saying < window) continue;
    std::string text = fmt::format("Rank {} comes last to {} collective{}: another rank waits {} {}for it", one.rank, one.calls_last,
                                   one.calls_last == 1 ? "" : "s", time(one.others_wait / a.steps), a.steps > 1 ? "a step " : "");
    if (const auto found = longest.find(one.rank); found != longest.end()) {
      const auto& [wait, call] = found->second;
      text += fmt::format("; longest in the {} at {}, {} of waiting before {} of wire", what(trace, *call),
                          time(time_of_ns(call->first_start - trace.start)), time(time_of_ns(wait)), time(time_of_ns(call->wire())));
    }
    out.emplace_back(one.others_wait.value(), text + ".");
  }
}

void bubble(const TraceAnswer& a, std::vector<Found>& out) {
  for (const StepTerm& term : a.terms)
    if (term.name == "bubble" && term.time * worth_saying >= a.step)
      out.emplace_back(
          (term.time * a.steps).value(),
          fmt::format("The pipeline's bubble is {} of a step ({:.0f} %): its stages wait for each other, as in every pipeline; "
                      "more microbatches, or more chunks a stage, make it smaller.",
                      time(term.time), 100 * term.time / a.step));
}

/// Said last, whatever it costs: the profiler itself may hold the host up.
void idle_gpus(const TraceAnswer& a, std::vector<Found>& out) {
  for (const StepTerm& term : a.terms)
    if (term.name == "idle" && 2 * term.time > a.step)
      out.emplace_back(0.0,
                       fmt::format("GPUs stand idle for {} of a step ({:.0f} %): nothing was queued for them. The host is slow to "
                                   "launch (CUDA graphs, larger kernels), waits for data (loader, storage) or is held up by the profiler.",
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

/// What the GPUs of a call's ranks stood still for it, on average.
[[nodiscard]] double exposed_of(const timeline::Call& call) {
  double sum = 0;
  for (const timeline::Part& part : call.parts) sum += static_cast<double>(part.exposed);
  return call.parts.empty() ? 0 : sum / static_cast<double>(call.parts.size());
}

/// How many times longer than its equals a call that stalls takes at least: the signal rare_stalls of diagnose has the number.
[[nodiscard]] double stall_ratio() {
  const SpecNode tree = SpecStore{}.resolve("diagnosis", "experiments");
  const SpecNode* const signals = tree.find("signals");
  const SpecNode* const signal = signals != nullptr ? signals->find("rare_stalls") : nullptr;
  Faults faults;
  MapReader in(signal != nullptr ? *signal : tree, "signals.rare_stalls", faults);
  static_cast<void>(in.take("ratio", true));
  const double out = in.number("ratio", 0, 1, 1e6);
  faults.raise();
  return out;
}

/// Equal calls of which a few are many times longer once all ranks have come: something within them timed out or was sent again.
void stalls(const TraceAnswer& a, const FoundTrace& trace, std::vector<Found>& out) {
  constexpr int fewest = 3;  // the first calls of a job are slow by themselves
  const double longer = stall_ratio();
  const Time window = window_of(a);
  std::map<std::tuple<std::uint32_t, Moves, double, std::string_view>, std::vector<const timeline::Call*>> alike;
  for (const timeline::Call& call : trace.job.calls)
    if (call.whole && call.timing != Timing::none) alike[{call.group, call.moves, call.bytes, call.type.name}].push_back(&call);
  for (auto& [key, calls] : alike) {
    std::vector<const timeline::Call*> sorted = calls;
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto* x, const auto* y) { return x->wire() < y->wire(); });
    const std::int64_t usual = sorted[(sorted.size() - 1) / 2]->wire();
    const auto stalled = [&](const timeline::Call* call) { return static_cast<double>(call->wire()) > longer * static_cast<double>(std::max<std::int64_t>(1, usual)); };
    const auto from = std::find_if(sorted.begin(), sorted.end(), stalled);
    const auto count = std::distance(from, sorted.end());
    double cost = 0;
    for (auto one = from; one != sorted.end(); ++one) cost += std::min(static_cast<double>((*one)->wire() - usual), exposed_of(**one));
    if (count < fewest || units::ns(cost) * worth_saying < window) continue;
    const timeline::Call& first = **std::find_if(calls.begin(), calls.end(), stalled);
    out.emplace_back(
        units::ns(cost).value(),
        fmt::format("{} takes {} in {} of {} calls, where {} is usual, first at {}; a link that sends again, a host that is held "
                    "up within the call or a kernel that keeps it from running does this.",
                    what(trace, first), time(time_of_ns(from[count / 2]->wire())), count, calls.size(), time(time_of_ns(usual)),
                    time(time_of_ns(first.first_start - trace.start))));
  }
}

}  // namespace

void say_findings(const FoundTrace& trace, TraceAnswer& a) {
  std::vector<Found> found;
  late_ranks(a, trace, found);
  bubble(a, found);
  slow_rows(a, found);
  stalls(a, trace, found);
  slow_groups(a, found);
  idle_gpus(a, found);
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
    a.notes.push_back(fmt::format(
        "{} of {} collectives were not traced on all their ranks: their times contain waiting and are upper bounds.", upper, all));
}

}  // namespace fabricost::observe::detail
