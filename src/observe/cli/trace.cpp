/// fabricost trace: the answer as text.

#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"

#include <fabricost/observe/answers/trace.hpp>

#include <algorithm>
#include <cmath>
#include <span>

namespace fabricost::cli {
namespace {

constexpr std::size_t most_rows = 24, max_waits = 6, most_groups = 16;

/// "0-7", "0 8 16 ... 56 (8)".
[[nodiscard]] std::string ranks_text(const TracedProcessGroup& group) {
  const std::vector<int>& ranks = group.ranks;
  if (ranks.empty()) return group.size > 0 ? fmt::format("{} ranks", group.size) : "?";
  if (ranks.size() > 2 && ranks.back() - ranks.front() + 1 == std::ssize(ranks)) return fmt::format("{}-{}", ranks.front(), ranks.back());
  constexpr std::size_t most = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(ranks.size(), most); ++i) out += fmt::format("{}{}", i == 0 ? "" : " ", ranks[i]);
  return ranks.size() > most ? fmt::format("{} ... {} ({})", out, ranks.back(), ranks.size()) : out;
}

template <class Row>
[[nodiscard]] std::span<const Row> first_of(const std::vector<Row>& rows, std::size_t most) {
  return std::span{rows}.first(std::min(rows.size(), most));
}

void add_more(Page& page, std::size_t all, std::size_t shown) {
  if (all > shown) page.line("... and {} more, in the JSON", all - shown);
}

void add_collectives(Page& page, const TraceAnswer& a) {
  page.table({"operation", "group", ">seen", ">size", ">calls", ">wire", ">predicted", ">longest wait", ">for rank", ">exposed", "verdict"},
             first_of(a.collectives, most_rows), [](const TracedCollective& row) {
               const bool timed = row.bound != "none";
               return cells(row.operation, row.group, fmt::format("{} of {}", row.ranks_seen, row.ranks),
                            row.bytes ? size_text(*row.bytes) : "?", row.count,
                            !timed ? "not said" : (row.bound == "upper" ? "<= " : "") + time_text(row.wire),
                            row.predicted ? time_text(*row.predicted) : "", row.last_rank ? time_text(row.wait) : "",
                            row.last_rank, timed ? time_text(row.exposed) : "", row.verdict == "unknown" ? "" : row.verdict);
             });
  add_more(page, a.collectives.size(), most_rows);
}

void add_shares(Page& page, const std::vector<StepTerm>& terms, double whole) {
  page.table({"", ">", ">"}, terms, [&](const StepTerm& term) {
    return cells(term.name, time_text(term.time), percent(whole > 0 ? term.time.value() / whole : 0, 1));
  });
}

void add_replay(Page& page, const TraceReplay& r) {
  const auto [low, high] = numbers_in(r.interval);
  std::string without;
  for (const TracedChange& one : r.changes)
    if (one.change.starts_with("without ")) without += fmt::format("; {} {} ({})", one.change, time_text(one.step), one.difference(r.step));
  page.section("Replayed on {}: a step of {}{}, {:+.1f} % against the traces{}", r.system.empty() ? "its own machine" : r.system,
               time_text(r.step), high > low ? fmt::format(" ({} to {})", seconds_text(low), seconds_text(high)) : "", 100 * (r.ratio - 1),
               without);
  add_shares(page, r.terms, r.step.value());
  double path = 0;
  for (const StepTerm& term : r.path) path += term.time.value();
  page.section("What binds there: the chain that could not begin earlier");
  add_shares(page, r.path, path);
  if (!r.changes.empty()) {
    page.add("\n");
    page.table({"what it would give there", ">step", ">time"}, r.changes, [&](const TracedChange& one) {
      return cells(one.change, time_text(one.step), one.difference(r.step));
    });
  }
  if (!r.assumed.empty()) {
    page.add("\n");
    page.items("assumed  ", r.assumed);
  }
}

void add_against(Page& page, const TraceAnswer& a) {
  page.section("Against the plan");
  page.table({"", ">run", ">plan", ">run - plan"}, a.against, [](const TracedAgainst& one) {
    const double apart = (one.run - one.plan).value();
    return cells(one.name, time_text(one.run), time_text(one.plan),
                 apart == 0 ? "" : (apart > 0 ? "+" : "-") + seconds_text(std::fabs(apart)));
  });
  page.items("  ", a.parted);
}

void add_groups(Page& page, const TraceAnswer& a) {
  page.section("Groups");
  page.table({"group", "kind", "ranks", ">nodes", ">calls", "tiers", "called"}, first_of(a.groups, most_groups),
             [](const TracedProcessGroup& group) {
               return cells(group.name, group.kind, ranks_text(group), group.nodes > 0 ? std::to_string(group.nodes) : "", group.calls,
                            joined(group.tiers), group.words);
             });
  add_more(page, a.groups.size(), most_groups);
}

/// What the traces say in a line: who is late, what is slow, or why nothing can be judged.
[[nodiscard]] std::string verdict_of(const TraceAnswer& a) {
  const auto with = [&](auto&& is) { return std::count_if(a.collectives.begin(), a.collectives.end(), is); };
  const auto slow = with([](const TracedCollective& row) { return row.verdict == "slow"; });
  const auto judged = slow + with([](const TracedCollective& row) { return row.verdict == "sound" || row.verdict == "better"; });
  int ranks = 0;
  for (const TracedCollective& row : a.collectives) ranks = std::max(ranks, row.ranks);
  const auto impossible = with([](const TracedCollective& row) { return row.verdict == "impossible"; });
  if (impossible > 0 && impossible >= judged)
    return fmt::format("Impossible: {} of {} kinds of collectives take less than the machine's wires allow, so its times or sizes are not what "
                       "they say, or it is another machine",
                       impossible, judged + impossible);
  if (slow > 0) return fmt::format("Slow: {} of {} kinds of collectives take longer than predicted", slow, judged);
  const std::string first = a.findings.empty() ? "" : a.findings.front();
  if (first.starts_with("Rank ") || first.find(" takes ") != std::string::npos) return first.substr(0, first.find(';'));
  if (first.starts_with("The pipeline's bubble") || first.starts_with("GPUs stand idle")) return first.substr(0, first.find(':'));
  if (judged > 0) return fmt::format("As predicted: {} of {} kinds of collectives were judged, none is slow", judged, a.collectives.size());
  if (std::ssize(a.ranks) < ranks)
    return fmt::format("Nothing can be judged: {} of {} ranks {} traced", a.ranks.size(), ranks, a.ranks.size() == 1 ? "was" : "were");
  return a.system ? "Nothing can be judged: no collective has a prediction and a time" : "Nothing to compare with: name the machine with --system";
}

void trace_text(Page& page, const TraceAnswer& a) {
  page.title(verdict_of(a));
  page.line("{} traced{}{}{}", counted(static_cast<double>(a.ranks.size()), "rank"),
             a.ranks.empty() || a.ranks.front().gpu.empty() ? "" : " of " + a.ranks.front().gpu,
             a.step > Time{} ? ": a step of " + time_text(a.step) : "", a.steps > 1 ? fmt::format(", mean of {}", a.steps) : "");
  page.items("  ", a.findings);
  if (!a.terms.empty()) {
    page.section("A step");
    add_shares(page, a.terms, a.step.value());
  }
  if (!a.against.empty()) add_against(page, a);
  if (a.replay) add_replay(page, *a.replay);
  if (!a.collectives.empty()) {
    page.section(a.system ? fmt::format("Collectives, against {}{}", *a.system, a.system_guessed ? " (found from the traces)" : "")
                          : "Collectives");
    add_collectives(page, a);
    add_groups(page, a);
  }
  if (!a.waits.empty()) {
    page.section("Who waits for whom");
    page.table({">rank", ">waits", ">for rank", ">in calls"}, first_of(a.waits, max_waits),
               [](const TracedWait& one) { return cells(one.rank, time_text(one.time), one.for_rank, one.calls); });
  }
  if (!a.notes.empty() || !a.skipped.empty()) page.add("\n");
  page.items("note  ", a.notes);
  for (const TraceSkipped& one : a.skipped) page.item("note  ", fmt::format("left out, {} times: {}", one.events, one.reason));
}

}  // namespace

void add_trace(CLI::App& app, Runner& runner) {
  add_question<TraceRequest>(app, runner, "trace", "Analyse profiler traces: what is slow, who waits for whom",
                         "Example: fabricost trace traces/ --system dgx-h100\n"
                         "         fabricost trace traces/ --system dgx-h100 --on dgx-b200 --html page.html",
                         trace_text, Writes{"--perfetto", "Write a file for ui.perfetto.dev: measured beside predicted", perfetto_of},
                         Writes{"--html", "Write a page with tables, who waits for whom, a timeline", page_of});
}

}  // namespace fabricost::cli
