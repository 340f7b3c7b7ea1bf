/// fabricost validate: measured times beside predicted ones, and how far apart they are: tables, a histogram of errors, for a single run a
/// plot of its bandwidth; and as CSV.

#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"
#include "cli/validate_text.hpp"
#include "text/csv.hpp"

#include <fabricost/answers/validate.hpp>

#include <algorithm>
#include <cmath>

namespace fabricost::cli {
namespace {

constexpr std::size_t max_rows = 64;

[[nodiscard]] double bus_rate(const ComparedPoint& p, double seconds) {
  return p.point.bytes / seconds * bus_factor(p.point.collective, p.point.ranks()) / 1e9;
}

[[nodiscard]] bool same_run(const Point& a, const Point& b) {
  return a.system == b.system && a.nodes == b.nodes && a.gpus_per_node == b.gpus_per_node && a.collective == b.collective &&
         a.dtype == b.dtype && a.library == b.library && a.algorithm == b.algorithm && a.protocol == b.protocol &&
         a.gpu_direct == b.gpu_direct && a.path == b.path && a.both_ways == b.both_ways;
}

/// True for the points of one operation on one machine, few enough to be shown one by one.
[[nodiscard]] bool one_run(const std::vector<ComparedPoint>& points) {
  return !points.empty() && points.size() <= max_rows &&
         std::all_of(points.begin(), points.end(), [&](const ComparedPoint& p) { return same_run(p.point, points.front().point); });
}

[[nodiscard]] std::vector<const ComparedPoint*> by_bytes(const std::vector<ComparedPoint>& points) {
  std::vector<const ComparedPoint*> out;
  out.reserve(points.size());
  for (const ComparedPoint& p : points) out.push_back(&p);
  std::stable_sort(out.begin(), out.end(), [](const ComparedPoint* a, const ComparedPoint* b) { return a->point.bytes < b->point.bytes; });
  return out;
}

[[nodiscard]] std::string run_title(const Point& p) {
  std::string out =
      fmt::format("{} ({}), {} ranks on {}, {}", name(p.collective), name(p.dtype), p.ranks(), counted(p.nodes, "node"), p.system.str());
  if (!p.library.empty()) out += ", " + p.library;
  if (p.algorithm) out += fmt::format(", {} forced", name(*p.algorithm));
  if (p.protocol) out += fmt::format(", {} forced", name(*p.protocol));
  return out;
}

void add_points(Page& page, const std::vector<const ComparedPoint*>& points) {
  const auto hundredths = [](double value) { return fmt::format("{:.2f}", value); };
  page.table({">size", ">measured us", ">predicted us", ">error %", "runs", ">busbw GB/s measured", ">predicted"}, points,
             [&](const ComparedPoint* p) {
               const auto& ran = p->prediction.ran;
               return cells(bytes_text(p->point.bytes), hundredths(p->point.seconds * 1e6), hundredths(p->prediction.seconds * 1e6),
                            fmt::format("{:+.1f}", 100 * p->error()), fmt::format("{} {}", name(ran.algorithm), name(ran.protocol)),
                            hundredths(bus_rate(*p, p->point.seconds)), hundredths(bus_rate(*p, p->prediction.seconds)));
             });
}

/// Bus bandwidth against the logarithm of the size: 17 lines of curve, an axis and its labels.
[[nodiscard]] std::string plot(const std::vector<const ComparedPoint*>& points) {
  constexpr int height = 16, width = 68, margin = 9;
  const double first = std::log2(std::max(1.0, points.front()->point.bytes)), last = std::log2(std::max(1.0, points.back()->point.bytes));
  double top = 0;
  for (const ComparedPoint* p : points) top = std::max({top, bus_rate(*p, p->point.seconds), bus_rate(*p, p->prediction.seconds)});
  if (!(top > 0) || !(last > first)) return "";
  std::vector<std::string> grid(height, std::string(width, ' '));
  const auto mark = [&](double bytes, double rate, char sign) {
    const auto x = static_cast<std::size_t>(std::lround((std::log2(std::max(1.0, bytes)) - first) / (last - first) * (width - 1)));
    const auto y = static_cast<std::size_t>(height - 1 - std::lround(rate / top * (height - 1)));
    char& at = grid[y][x];
    at = at == ' ' || at == sign ? sign : '*';
  };
  for (const ComparedPoint* p : points) {
    mark(p->point.bytes, bus_rate(*p, p->point.seconds), 'o');
    mark(p->point.bytes, bus_rate(*p, p->prediction.seconds), '+');
  }
  std::string out = "  busbw in GB/s against size: o measured, + predicted, * both\n";
  for (int y = 0; y < height; ++y) {
    std::string line =
        y % 5 == 0 ? fmt::format("{:>{}.4g} |", top * (height - 1 - y) / (height - 1), margin - 2) : std::string(margin - 1, ' ') + "|";
    line += grid[static_cast<std::size_t>(y)];
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  out += std::string(margin - 1, ' ') + "+" + std::string(width, '-') + "\n";
  const std::string low = bytes_text(points.front()->point.bytes), high = bytes_text(points.back()->point.bytes);
  const auto between = static_cast<int>(width) - static_cast<int>(low.size()) - static_cast<int>(high.size());
  return out + std::string(margin, ' ') + low + std::string(static_cast<std::size_t>(std::max(1, between)), ' ') + high + "\n";
}

[[nodiscard]] std::string number_text(double value) {
  return value == std::floor(value) && std::fabs(value) < 9e15 ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

}  // namespace

void text_of(Page& page, const ValidationReport& report) {
  int measured = 0, complaints = 0;
  for (const ComparedPoint& p : report.points) {
    measured += p.point.repeats;
    if (p.point.health == "complaint") complaints += p.point.repeats;
  }
  if (const ErrorSummary& all = report.total; !report.points.empty())
    page.title("Median error {:.1f} %, mean {:.1f} %; {} of the times lie in their ranges, where 90 % should",
               all.median_ape, all.mape, percent(all.interval_coverage, 0));
  if (one_run(report.points)) {
    const auto points = by_bytes(report.points);
    page.title(run_title(report.points.front().point));
    add_points(page, points);
    page.add("\n" + plot(points) + "\n");
  }
  page.title("{} measured times, {}", measured, counted(report.total.points, "point"));
  if (!report.guessed_system.empty())
    page.line("against {}, the usual machine of the GPUs in the log; another one: --system NAME", report.guessed_system);
  if (!report.points.empty()) {
    ErrorTable errors{report.total};
    errors.groups("by operation", report.by_operation);
    errors.groups("by system", report.by_system);
    errors.groups("by size", report.by_size);
    errors.groups("by library", report.by_library);
    errors.groups("by launch, release", report.by_launch);
    page.table(errors.rows());
    if (report.by_launch.size() == 1) page.line("priced as: {}", report.by_launch.front().name);
    if (complaints > 0) page.line("{} times are from runs that their owners thought slow", complaints);
    add_histogram(page, report.points, [](const ComparedPoint&) { return true; });
  }
  add_reasons(page, "Counted, but untrustworthy", report.untrustworthy);
  add_reasons(page, "Skipped", report.skipped);
}

std::string csv_of(const ValidationReport& report) {
  std::string out =
      "source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes,"
      "path,both_ways,streamed,predicted_us,low_us,high_us,predicted_algorithm,predicted_protocol,error_percent,basis,repeats\n";
  for (const ComparedPoint& c : report.points) {
    const Point& p = c.point;
    const Prediction& q = c.prediction;
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},", csv_quoted(p.source), csv_quoted(p.system), p.nodes, p.gpus_per_node,
                       name(p.collective), name(p.dtype), number_text(p.bytes), p.seconds * 1e6,
                       p.in_place ? (*p.in_place ? "1" : "0") : "", csv_quoted(p.library), csv_quoted(p.library_version),
                       p.algorithm ? name(*p.algorithm) : "", p.protocol ? name(*p.protocol) : "", csv_quoted(p.notes));
    const auto flag = [&p](bool set) { return p.path ? (set ? "1" : "0") : ""; };
    out += fmt::format("{},{},{},", p.path ? name(*p.path) : "", flag(p.both_ways), flag(p.streamed));
    out += fmt::format("{},{},{},{},{},{},{},{}\n", q.seconds * 1e6, q.low * 1e6, q.high * 1e6, name(q.ran.algorithm), name(q.ran.protocol),
                       100 * c.error(), name(q.basis), p.repeats);
  }
  return out;
}

void add_validate_points(CLI::App& app, Runner& runner) {
  add_question<ValidateRequest>(
      app, runner, "validate", "Measured times beside predicted ones", validate_footer,
      [](Page& page, const ValidationAnswer& found) { text_of(page, found.report); },
      Writes{"--out,-o", "Write every point with its prediction as CSV",
             [](const ValidationAnswer& found) { return csv_of(found.report); }});
}

}  // namespace fabricost::cli
