/// \file trace.cpp
/// fabricost trace: the answer as text.

#include "cli/face.hpp"
#include "cli/subcommands.hpp"
#include "text/text_table.hpp"
#include "text/write_file.hpp"

#include <fabricost/answers/trace.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace fabricost {

/// Found by ADL from face.hpp.
static void from_text(const std::string& text, std::string_view, const Amount&, const Range&, TraceFile& out) { out.path = text; }

namespace cli {
namespace {

struct TraceCommand : TraceRequest {
  std::string perfetto, html;

  static constexpr auto fields() {
    using R = TraceCommand;
    return tables(TraceRequest::fields(),
                  Table{asks(&R::perfetto, "perfetto", "--perfetto", "FILE", "Write a file for ui.perfetto.dev: measured beside predicted"),
                        asks(&R::html, "html", "--html", "FILE", "Write a page with tables, who waits for whom, a timeline")});
  }
};

constexpr std::size_t most_rows = 24, max_waits = 6, most_groups = 16;

[[nodiscard]] std::string time_of(double seconds) { return time_text(Time::from_value(seconds)); }

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

[[nodiscard]] std::string collectives_text(const TraceAnswer& a) {
  TextTable table{{{"operation"},
                   {"group"},
                   {"seen", right},
                   {"size", right},
                   {"calls", right},
                   {"wire", right},
                   {"predicted", right},
                   {"longest wait", right},
                   {"for rank", right},
                   {"exposed", right},
                   {"verdict"}}};
  for (std::size_t i = 0; i < std::min(a.collectives.size(), most_rows); ++i) {
    const TracedCollective& row = a.collectives[i];
    table.row({row.operation, row.group, fmt::format("{} of {}", row.ranks_seen, row.ranks),
               row.bytes ? size_text(Bytes::from_value(*row.bytes)) : "?", fmt::format("{}", row.count),
               row.bound == "none" ? "not said" : (row.bound == "upper" ? "<= " : "") + time_of(row.wire_seconds),
               row.predicted_seconds ? time_of(*row.predicted_seconds) : "", row.last_rank ? time_of(row.wait_seconds) : "",
               row.last_rank ? fmt::format("{}", *row.last_rank) : "", row.bound == "none" ? "" : time_of(row.exposed_seconds),
               row.verdict == "unknown" ? "" : row.verdict});
  }
  std::string out = table.text(2);
  if (a.collectives.size() > most_rows) out += fmt::format("  ... and {} more, in the JSON\n", a.collectives.size() - most_rows);
  return out;
}

[[nodiscard]] std::string shares_text(const std::vector<StepTerm>& terms, double whole) {
  TextTable table{{{""}, {"", right}, {"", right}}};
  for (const StepTerm& term : terms)
    table.row({term.name, time_of(term.seconds), fmt::format("{:.1f} %", whole > 0 ? 100 * term.seconds / whole : 0)});
  return table.text(2);
}

[[nodiscard]] std::string replay_text(const TraceReplay& r, const Terminal& terminal) {
  const std::string where = r.system.empty() ? "its own machine" : r.system;
  const auto& [low, high] = r.interval_seconds;
  const std::string interval = high > low ? fmt::format(" ({} to {})", time_of(low), time_of(high)) : "";
  std::string out = "\n" +
                    terminal.strong(fmt::format("Replayed on {}: a step of {}{}, {:.3g} times that of the traces", where,
                                                time_of(r.step_seconds), interval, r.ratio)) +
                    "\n" + shares_text(r.terms, r.step_seconds);
  double path = 0;
  for (const StepTerm& term : r.path) path += term.seconds;
  out += "\n" + terminal.strong("What binds there: the chain that could not begin earlier") + "\n" + shares_text(r.path, path);
  if (!r.changes.empty()) {
    TextTable changes{{{"what it would give there"}, {"step", right}, {"gain", right}}};
    for (const TracedChange& one : r.changes)
      changes.row({one.change, time_of(one.step_seconds), fmt::format("{:+.1f} %", 100 * one.gain)});
    out += "\n" + changes.text(2);
  }
  if (!r.assumed.empty()) out += "\n";
  for (const std::string& one : r.assumed) out += wrapped("assumed  ", one, 100);
  return out;
}

[[nodiscard]] std::string against_text(const TraceAnswer& a, const Terminal& terminal) {
  TextTable table{{{""}, {"run", right}, {"plan", right}, {"run - plan", right}}};
  for (const TracedAgainst& one : a.against) {
    const double apart = one.run_seconds - one.plan_seconds;
    table.row({one.name, time_of(one.run_seconds), time_of(one.plan_seconds),
               apart == 0 ? "" : fmt::format("{}{}", apart > 0 ? "+" : "-", time_of(apart > 0 ? apart : -apart))});
  }
  std::string out = "\n" + terminal.strong("Against the plan") + "\n" + table.text(2);
  for (const std::string& one : a.parted) out += wrapped("  ", one, 100);
  return out;
}

[[nodiscard]] std::string trace_text(const TraceAnswer& a, const Terminal& terminal) {
  std::string gpu = a.ranks.empty() || a.ranks.front().gpu.empty() ? "" : " of " + a.ranks.front().gpu;
  std::string step = a.step_seconds > 0 ? fmt::format(": a step of {}", time_of(a.step_seconds)) : "";
  if (a.steps > 1) step += fmt::format(", mean of {}", a.steps);
  std::string out = terminal.strong(counted(static_cast<double>(a.ranks.size()), "rank") + " traced" + gpu + step) + "\n";
  for (const std::string& one : a.findings) out += wrapped("  ", one, 100);
  if (!a.terms.empty()) out += "\n" + terminal.strong("A step") + "\n" + shares_text(a.terms, a.step_seconds);
  if (!a.against.empty()) out += against_text(a, terminal);
  if (a.replay) out += replay_text(*a.replay, terminal);
  if (!a.collectives.empty()) {
    out += "\n" +
           terminal.strong(a.system ? fmt::format("Collectives, against {}{}", *a.system, a.system_guessed ? " (told from the traces)" : "")
                                    : "Collectives") +
           "\n" + collectives_text(a);
    TextTable groups{{{"group"}, {"kind"}, {"ranks"}, {"nodes", right}, {"calls", right}, {"tiers"}, {"called"}}};
    for (std::size_t i = 0; i < std::min(a.groups.size(), most_groups); ++i) {
      const TracedProcessGroup& group = a.groups[i];
      groups.row({group.name, group.kind, ranks_text(group), group.nodes > 0 ? fmt::format("{}", group.nodes) : "",
                  fmt::format("{}", group.calls), fmt::format("{}", fmt::join(group.tiers, ", ")), group.words});
    }
    out += "\n" + terminal.strong("Groups") + "\n" + groups.text(2);
    if (a.groups.size() > most_groups) out += fmt::format("  ... and {} more, in the JSON\n", a.groups.size() - most_groups);
  }
  if (!a.waits.empty()) {
    TextTable waits{{{"rank", right}, {"waits", right}, {"for rank", right}, {"in calls", right}}};
    for (std::size_t i = 0; i < std::min(a.waits.size(), max_waits); ++i)
      waits.row({fmt::format("{}", a.waits[i].rank), time_of(a.waits[i].seconds), fmt::format("{}", a.waits[i].for_rank),
                 fmt::format("{}", a.waits[i].calls)});
    out += "\n" + terminal.strong("Who waits for whom") + "\n" + waits.text(2);
  }
  if (!a.notes.empty() || !a.skipped.empty()) out += "\n";
  for (const std::string& one : a.notes) out += wrapped("note  ", one, 100);
  for (const TraceSkipped& one : a.skipped) out += wrapped("note  ", fmt::format("left out, {} times: {}", one.events, one.reason), 100);
  return out;
}

}  // namespace

void add_trace(CLI::App& app, Runner& runner) {
  add_face<TraceCommand>(
      app, runner, "trace", "What a job's traces say: what moved, who waited, and how long elsewhere",
      "Example: fabricost trace traces/ --system dgx-h100\n"
      "         fabricost trace traces/ --system dgx-h100 --on dgx-b200 --html page.html",
      [](const TraceAnswer& a, const Terminal& t) {
        TraceAnswer spelled = a;
        for (std::string& note : spelled.notes) note = with_fields(note, as_option<TraceCommand>);
        return trace_text(spelled, t);
      },
      [](const TraceAnswer& a, const TraceCommand& how) {
        if (!how.perfetto.empty()) io::write_file(how.perfetto, perfetto_of(a), "--perfetto");
        if (!how.html.empty()) io::write_file(how.html, page_of(a), "--html");
      });
}

}  // namespace cli
}  // namespace fabricost
