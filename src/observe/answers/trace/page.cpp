/// \file page.cpp
/// The answer as one HTML file to mail: findings, the step, the slow calls, who waits for whom, a timeline.

#include "answers/trace/step.hpp"
#include "pictures/svg.hpp"
#include "pictures/trace.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::observe {

namespace {

constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
:root{color-scheme:light}
body{font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",Arial,sans-serif;color:#1a1a1a;max-width:1240px;margin:0 auto;
 padding:16px}
h1{font-size:24px;margin:8px 0}h2{font-size:18px;margin:32px 0 8px;border-bottom:1px solid #ccc;padding-bottom:3px}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px}
td,th{padding:1px 8px;text-align:right;white-space:nowrap}td:first-child,th:first-child{text-align:left}
tr{border-bottom:1px solid #e4e4e4}svg{max-width:100%;height:auto}tr.slow td{background:#fbe9e7}
</style>)";

using Cells = std::vector<std::string>;

class Page {
 public:
  explicit Page(const std::string& title) : out_(head) {
    out_ += fmt::format("<title>{0}</title></head><body><h1>{0}</h1>\n", xml_escaped(title));
  }
  void heading(std::string_view words) { out_ += fmt::format("<h2>{}</h2>\n", xml_escaped(words)); }
  void list(const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    out_ += "<ul>";
    for (const std::string& line : lines) out_ += fmt::format("<li>{}</li>\n", xml_escaped(line));
    out_ += "</ul>\n";
  }
  void table(const Cells& titles) {
    out_ += "<div class=\"wide\"><table>";
    row(titles, "th", false);
  }
  void row(const Cells& cells, std::string_view tag = "td", bool slow = false) {
    out_ += slow ? "<tr class=\"slow\">" : "<tr>";
    for (const std::string& cell : cells) out_ += fmt::format("<{0}>{1}</{0}>", tag, xml_escaped(cell));
    out_ += "</tr>\n";
  }
  void end_table() { out_ += "</table></div>\n"; }
  void terms(std::string_view title, const std::vector<StepTerm>& all) {
    double whole = 0;
    for (const StepTerm& term : all) whole += term.time.value();
    table({std::string{title}, "", ""});
    for (const StepTerm& term : all)
      row({term.name, time_text(term.time), fmt::format("{:.1f} %", whole > 0 ? 100 * term.time.value() / whole : 0)});
    end_table();
  }
  /// A document becomes a part of the page.
  void picture(std::string_view svg) { out_ += svg.substr(std::min(svg.find("<svg"), svg.size())); }
  [[nodiscard]] std::string text() const { return out_ + "</body></html>\n"; }

 private:
  std::string out_;
};

void say_collectives(Page& page, const TraceAnswer& a) {
  constexpr std::size_t most = 200;
  page.heading(a.system ? fmt::format("Collectives, against {}", *a.system) : "Collectives");
  page.table({"operation", "group", "ranks seen", "size", "calls", "wire", "predicted", "nine in ten", "longest wait", "for rank",
              "exposed", "verdict"});
  for (std::size_t i = 0; i < std::min(most, a.collectives.size()); ++i) {
    const TracedCollective& c = a.collectives[i];
    page.row({c.operation, c.group, fmt::format("{} of {}", c.ranks_seen, c.ranks),
              c.bytes ? size_text(*c.bytes) : "?", std::to_string(c.count),
              (c.bound == "upper" ? "at most " : "") + time_text(c.wire), c.predicted ? time_text(*c.predicted) : "",
              c.interval ? fmt::format("{} to {}", time_text(c.interval->first), time_text(c.interval->second)) : "",
              c.last_rank ? time_text(c.wait) : "", c.last_rank ? std::to_string(*c.last_rank) : "", time_text(c.exposed),
              c.verdict == "unknown" ? "" : c.verdict},
             "td", c.verdict == "slow");
  }
  page.end_table();
  if (a.collectives.size() > most) page.list({fmt::format("and {} more, in the JSON", a.collectives.size() - most)});
}

void say_replay(Page& page, const TraceReplay& r) {
  const auto& [low, high] = r.interval;
  page.heading(fmt::format("Replayed on {}: a step of {} ({} to {})", r.system.empty() ? "its own machine" : r.system,
                           time_text(r.step), time_text(low), time_text(high)));
  page.terms("a step there", r.terms);
  page.terms("what binds there", r.path);
  if (!r.changes.empty()) {
    page.table({"what it would give there", "step", "gain"});
    for (const TracedChange& one : r.changes) page.row({one.change, time_text(one.step), fmt::format("{:+.1f} %", 100 * one.gain)});
    page.end_table();
  }
  page.list(r.assumed);
}

void draw(Page& page, const TraceAnswer& a, const FoundTrace& found) {
  if (!a.waits.empty()) {
    page.heading("Who waits for whom");
    std::vector<int> ranks;
    for (const TracedRank& one : a.ranks) ranks.push_back(one.rank);
    std::vector<Waiting> waits;
    for (const TracedWait& one : a.waits) waits.push_back({one.rank, one.for_rank, one.time.value()});
    page.picture(waits_svg(ranks, waits));
  }
  std::int64_t end = found.start;
  for (std::size_t i = 0; i < found.job.ranks.size(); ++i)
    end = std::max(end, found.job.clocks[i].common(found.job.ranks[i].whole.to));
  for (const timeline::Call& call : found.job.calls) end = std::max(end, call.last_end);
  page.heading("When");
  page.picture(timeline_svg(found.job, found.start, end, "All of the traces"));
  if (a.steps < 2) return;
  const std::int64_t step = (end - found.start) / a.steps, first = found.start + (a.steps / 2) * step;
  page.picture(timeline_svg(found.job, first, first + step, "One step's time of it"));
}

}  // namespace

std::string page_of(const TraceAnswer& a) {
  const FoundTrace& found = found_of(a);
  Page page(fmt::format("{} traced rank{}: a step of {}", a.ranks.size(), a.ranks.size() == 1 ? "" : "s", time_text(a.step)));
  page.list(a.findings);
  page.terms("a step", a.terms);
  if (!a.against.empty()) {
    page.heading("Against the plan");
    page.table({"", "run", "plan"});
    for (const TracedAgainst& one : a.against) page.row({one.name, time_text(one.run), time_text(one.plan)});
    page.end_table();
    page.list(a.parted);
  }
  draw(page, a, found);
  if (a.replay) say_replay(page, *a.replay);
  if (!a.collectives.empty()) say_collectives(page, a);
  page.list(a.notes);
  return page.text();
}

}  // namespace fabricost::observe
