/// A page of a traced job, with its pictures.

#include "answers/trace/step.hpp"
#include "pictures/svg.hpp"
#include "trace/timeline.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace fabricost::observe {

namespace {

// Both pictures have as many cells as fit, however many ranks and events there are: ranks beyond are summed, or left out and counted;
// a slice of time is drawn by its largest use.

constexpr std::string_view ink = "#1b2733", pale = "#e6ebf0", computing = "#6b7f95", waits = "#c23b3b";
/// Colours for the kinds of groups, in their order; colour-blind readers can tell them apart.
constexpr std::array<std::string_view, timeline::kind_names.size()> colours{
    "#9a8fb8", "#e69f00", "#0072b2", "#009e73", "#cc79a7", "#56b4e9"};

/// From white to dark red.
[[nodiscard]] std::string heat(double share) {
  const double way = std::sqrt(std::clamp(share, 0.0, 1.0));
  const auto mix = [&](int from, int to) { return static_cast<int>(std::lround(from + (to - from) * way)); };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(255, 138), mix(255, 16), mix(255, 20));
}

/// The use of a row's slices, as shares of a slice. A slice that was mostly idle stays empty.
class Slices {
 public:
  Slices(std::int64_t from, std::int64_t to, std::size_t count)
      : from_(from), slice_(static_cast<double>(to - from) / static_cast<double>(count)), spent_(count) {}

  void add(std::int64_t from, std::int64_t to, std::size_t what) {
    const double begin = static_cast<double>(from - from_) / slice_, end = static_cast<double>(to - from_) / slice_;
    const auto last = static_cast<double>(spent_.size());
    for (double at = std::max(0.0, begin); at < std::min(end, last);) {
      const double next = std::min({std::floor(at) + 1, end, last});
      spent_[static_cast<std::size_t>(at)][what] += next - at;
      at = next;
    }
  }
  /// Calls draw(first slice, slices, what) for slices in a row that went to the same.
  template <class Draw>
  void each(const Draw& draw) const {
    std::size_t since = 0;
    for (std::size_t i = 0; i < spent_.size(); ++i)
      if (i + 1 == spent_.size() || most(i + 1) != most(i)) {
        if (most(i) < what_count) draw(since, i + 1 - since, most(i));
        since = i + 1;
      }
  }

 private:
  static constexpr std::size_t what_count = timeline::kind_names.size() + 2;
  [[nodiscard]] std::size_t most(std::size_t i) const {
    if (2 * std::accumulate(spent_[i].begin(), spent_[i].end(), 0.0) < 1) return what_count;
    return static_cast<std::size_t>(std::max_element(spent_[i].begin(), spent_[i].end()) - spent_[i].begin());
  }

  std::int64_t from_;
  double slice_;
  std::vector<std::array<double, what_count>> spent_;
};
constexpr std::size_t as_waiting = timeline::kind_names.size(), as_kernel = as_waiting + 1;

[[nodiscard]] std::string_view colour_of(std::size_t what) {
  return what == as_waiting ? waits : what == as_kernel ? computing : colours[what];
}

/// Rows wait for columns, a cell darker the longer. \param ranks ascending
[[nodiscard]] std::string waits_svg(const std::vector<int>& ranks, const std::vector<TracedWait>& all) {
  constexpr std::size_t max_cells = 64;
  constexpr double left = 90, top = 70, side = 640, right = 210, bottom = 30;
  const std::size_t bin = std::max<std::size_t>(1, (ranks.size() + max_cells - 1) / max_cells);
  const std::size_t count = std::max<std::size_t>(1, (ranks.size() + bin - 1) / bin);
  std::vector<double> cells(count * count);
  const auto place = [&](int rank) {
    return static_cast<std::size_t>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin()) / bin;
  };
  double largest = 0;
  for (const TracedWait& one : all) {
    const std::size_t row = place(one.rank), column = place(one.for_rank);
    if (row < count && column < count) largest = std::max(largest, cells[row * count + column] += one.time.value());
  }
  Svg svg;
  svg.text(left, 28, "Who waits for whom", 16, Svg::Anchor::start, true);
  svg.text(left + side / 2, top - 26, "for rank", 12, Svg::Anchor::middle);
  svg.text(left - 44, top - 8, "rank", 12, Svg::Anchor::middle);
  const double cell = side / static_cast<double>(count);
  const std::size_t every = std::max<std::size_t>(1, (count + 15) / 16);
  svg.panel(left, top, side, side, "#ffffff", "#b7c2cd", 0);
  for (std::size_t row = 0; row < count; ++row) {
    const double y = top + cell * static_cast<double>(row);
    const std::string name = ranks.empty() ? "" : std::to_string(ranks[row * bin]);
    if (row % every == 0) {
      svg.text(left - 8, y + cell / 2 + 4, name, 11, Svg::Anchor::end);
      svg.text(left + cell * (static_cast<double>(row) + 0.5), top - 8, name, 11, Svg::Anchor::middle);
    }
    for (std::size_t column = 0; column < count; ++column) {
      const double seconds = cells[row * count + column];
      if (!(seconds > 0)) continue;
      svg.box(left + cell * static_cast<double>(column), y, cell, cell, heat(seconds / largest), pale, 0);
      if (cell >= 52)
        svg.text(left + cell * (static_cast<double>(column) + 0.5), y + cell / 2 + 4, time_text(units::s(seconds)), 11, Svg::Anchor::middle, false,
                 cell - 4, 2 * seconds > largest ? "#ffffff" : ink);
    }
  }
  constexpr int steps = 5;
  for (int i = 0; i <= steps; ++i) {
    const double share = static_cast<double>(i) / steps, y = top + 30.0 * i;
    svg.box(left + side + 30, y, 24, 24, heat(share), "#b7c2cd", 0);
    svg.text(left + side + 62, y + 16, time_text(units::s(largest * share)), 12);
  }
  if (bin > 1) svg.text(left + side + 30, top + 30.0 * (steps + 1) + 20, fmt::format("{} ranks a cell", bin), 12);
  return svg.document(left + side + right, top + side + bottom, "who waits for whom");
}

/// One row a rank: kernels above, communication below, by the kind of its group, and waiting in it. \param from, to ns on the common clock
[[nodiscard]] std::string timeline_svg(const timeline::Job& job, std::int64_t from, std::int64_t to, std::string_view title) {
  constexpr std::size_t most_rows = 32, slices = 700;
  constexpr double left = 80, top = 50, chart = 1120, right = 30, row = 22, gap = 5, bottom = 70;
  const std::size_t every = std::max<std::size_t>(1, (job.ranks.size() + most_rows - 1) / most_rows);
  to = std::max(to, from + 1);
  std::vector<Slices> kernels(job.ranks.size(), Slices(from, to, slices)), calls = kernels;
  for (std::size_t r = 0; r < job.ranks.size(); r += every)
    for (const Span& span : job.ranks[r].compute) kernels[r].add(job.clocks[r].common(span.from), job.clocks[r].common(span.to), as_kernel);
  std::array<bool, timeline::kind_names.size()> seen{};
  for (const timeline::Call& call : job.calls)
    for (const timeline::Part& part : call.parts) {
      const auto r = static_cast<std::size_t>(part.trace);
      const auto kind = static_cast<std::size_t>(job.groups[call.group].kind);
      if (r % every != 0 || part.to < from || part.from > to) continue;
      const std::int64_t moves = call.parts.size() > 1 ? std::clamp(call.last_start, part.from, part.to) : part.from;
      calls[r].add(part.from, moves, as_waiting);
      calls[r].add(moves, part.to, kind);
      seen[kind] = true;
    }
  Svg svg;
  svg.text(left, 28, title, 16, Svg::Anchor::start, true, chart);
  double y = top;
  for (std::size_t r = 0; r < job.ranks.size(); r += every, y += row + gap) {
    svg.text(left - 8, y + row * 0.5 + 4, fmt::format("rank {}", job.ranks[r].rank), 11, Svg::Anchor::end);
    svg.panel(left, y, chart, row, "#f7f9fa", pale, 0);
    const auto draw = [&](double begin, double height) {
      return [&svg, begin, height, width = chart / slices](std::size_t first, std::size_t count, std::size_t what) {
        const std::string_view colour = colour_of(what);
        svg.box(left + width * static_cast<double>(first), begin, width * static_cast<double>(count), height, colour, colour, 0);
      };
    };
    kernels[r].each(draw(y + 1, row / 2 - 1));
    calls[r].each(draw(y + row / 2, row / 2 - 1));
  }
  constexpr int ticks = 6;
  for (int i = 0; i <= ticks; ++i) {
    const double x = left + chart * i / ticks, nanoseconds = 1e9;
    svg.line(x, y, x, y + 6, "#555555", 1);
    svg.text(x, y + 20, time_text(units::s(static_cast<double>(to - from) / nanoseconds * i / ticks)), 11, Svg::Anchor::middle);
  }
  double x = left;
  const auto legend = [&](std::string_view words, std::string_view colour) {
    svg.box(x, y + 34, 14, 14, colour, colour, 0);
    svg.text(x + 20, y + 46, words, 12);
    x += 40 + 7.5 * static_cast<double>(words.size());
  };
  legend("kernels", computing);
  for (std::size_t kind = 0; kind < seen.size(); ++kind)
    if (seen[kind]) legend(kind == 0 ? "other communication" : timeline::kind_names[kind], colours[kind]);
  legend("waiting for others", waits);
  if (every > 1) svg.text(x, y + 46, fmt::format("every {}th rank", every), 12);
  return svg.document(left + chart + right, y + bottom, title);
}

// The answer as one HTML file to mail: findings, the step, the slow calls, who waits for whom, a timeline.

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
    page.table({"what it would give there", "step", "time"});
    for (const TracedChange& one : r.changes)
      page.row({one.change, time_text(one.step), one.difference(r.step)});
    page.end_table();
  }
  page.list(r.assumed);
}

void draw(Page& page, const TraceAnswer& a, const FoundTrace& found) {
  if (!a.waits.empty()) {
    page.heading("Who waits for whom");
    std::vector<int> ranks;
    for (const TracedRank& one : a.ranks) ranks.push_back(one.rank);
    page.picture(waits_svg(ranks, a.waits));
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
