/// Reads times per iteration: one number per line, or a CSV with ranks.

#include "specs/tree.hpp"
#include "text/csv.hpp"
#include "text/line_reader.hpp"

#include <fabricost/plan/readings/iteration_times.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace fabricost::plan {
namespace {

double unit_of_column(std::string_view column) { return column == "time_us" ? 1e-6 : column == "time_ms" ? 1e-3 : 1; }

/// A file with one number per line has a number as its header.
bool is_plain(const std::filesystem::path& file) {
  LineReader lines(file);
  std::string line;
  while (lines.next(line))
    if (!line.empty() && line.front() != '#') return parse_number(line).has_value();
  return false;
}

constexpr std::size_t max_times = 20'000'000;

IterationTimes read_plain(const std::filesystem::path& file) {
  LineReader lines(file);
  std::string line;
  std::vector<Issue> issues;
  IterationTimes out;
  while (lines.next(line)) {
    if (line.empty() || line.front() == '#') continue;
    const auto value = parse_number(line);
    if (value && *value > 0 && out.seconds.size() < max_times)
      out.seconds.push_back(*value);
    else if (issues.size() < CsvTable::max_faults)
      issues.push_back(fault_in_line(lines.name(), lines.number(), 1, line, fmt::format("\"{}\" is not a time above 0", clipped(line)),
                                     "write seconds, one number a line"));
  }
  if (!issues.empty()) throw SpecError(issues);
  return out;
}

}  // namespace

IterationTimes read_iteration_times(const std::filesystem::path& file) {
  if (is_plain(file)) return read_plain(file);
  CsvTable table(file);
  int column = -1;
  double unit = 1;
  for (const char* name : {"time_s", "time_ms", "time_us"})
    if (table.column(name) >= 0) column = table.column(name), unit = unit_of_column(name);
  if (column < 0) {
    table.fault(-1, "no column holds times", "name one time_s, time_ms or time_us, or write seconds alone, one number a line");
    table.finish();
  }
  const int rank = table.column("rank"), iteration = table.column("iteration");
  if ((rank < 0) != (iteration < 0)) {
    table.fault(-1, rank < 0 ? "iterations are named but no ranks" : "ranks are named but no iterations",
                "give both columns, rank and iteration, or neither");
    table.finish();
  }
  IterationTimes out;
  struct Step {
    int seen = 0;
    double slowest = 0;
  };
  std::map<std::string, std::pair<double, int>> ranks;
  std::map<std::string, Step> steps;
  while (table.next()) {
    const auto value = parse_number(table.cell(column));
    if (!value || !(*value > 0)) {
      table.fault(column, fmt::format("\"{}\" is not a time above 0", clipped(table.cell(column))), "write a number with a point");
      continue;
    }
    if (out.seconds.size() >= max_times) {
      table.fault(column, fmt::format("more than {} times", max_times), "take fewer iterations");
      break;
    }
    out.seconds.push_back(*value * unit);
    if (rank < 0) continue;
    auto& [sum, n] = ranks[table.cell(rank)];
    sum += *value * unit;
    ++n;
    Step& step = steps[table.cell(iteration)];
    ++step.seen;
    step.slowest = std::max(step.slowest, *value * unit);
  }
  if (out.seconds.empty()) table.fault(-1, "no times in it", "write at least one row");
  table.finish();
  out.ranks = static_cast<int>(ranks.size());
  for (const auto& [name, sum] : ranks) {
    out.rank_names.push_back(name);
    out.rank_means.push_back(sum.first / sum.second);
  }
  for (const auto& [name, step] : steps)
    if (step.seen == out.ranks) out.slowest.push_back(step.slowest);
  return out;
}

}  // namespace fabricost::plan
