/// \file failures.cpp
/// Reading data/workloads/reliability.yaml, and measured times per iteration.

#include "io/csv.hpp"
#include "io/line_reader.hpp"
#include "io/spec_reader.hpp"
#include "io/spec_store.hpp"

#include <fabricost/io/reliability.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace fabricost {
namespace {

using namespace io;

constexpr std::array<std::string_view, 4> parts{"gpu", "network", "host", "software"};

FailureFleet read_fleet(const std::string& name, const SpecNode& node, Faults& faults) {
  const std::string path = "fleets." + name;
  MapReader in(node, path, faults);
  FailureFleet out;
  out.name = name;
  out.title = in.text("title");
  out.source = in.text("source", true);
  in.text("system");
  out.gpus = in.number("gpus", 8, 1, 1e7);
  out.gpus_per_node = in.number("gpus_per_node", 8, 1, 1024);
  out.days = in.number("days", 0, 0, 1e5);
  out.planned = in.number("planned", 0, 0, 1e9);
  if (const SpecNode* list = in.take("causes"))
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      MapReader one(list->items[i], fmt::format("{}.causes[{}]", path, i), faults);
      FailureCause cause;
      cause.cause = one.text("cause", true);
      cause.part = one.one_of("part", parts, true);
      cause.count = one.number("count", 0, 0, 1e9);
      one.finish();
      out.causes.push_back(std::move(cause));
    }
  if (in.has("failures_per_thousand_node_days"))
    out.rate = FailureRate::per_thousand_node_days(in.number("failures_per_thousand_node_days", 0, 0, 1e6));
  else if (out.days > 0 && !out.causes.empty())
    out.rate = FailureRate::counted(out.failures(), out.days, out.gpus, out.gpus_per_node);
  else
    in.fault(node, "days", "no rate and nothing it follows from", "give failures_per_thousand_node_days, or days and causes with counts");
  in.finish();
  return out;
}

double unit_of_column(std::string_view column) { return column == "time_us" ? 1e-6 : column == "time_ms" ? 1e-3 : 1; }

/// A file of one number a line has a number for a header.
bool is_plain(const std::filesystem::path& file) {
  LineReader lines(file);
  std::string line;
  while (lines.next(line))
    if (!line.empty() && line.front() != '#') return parse_number(line).has_value();
  return false;
}

constexpr std::size_t most_times = 20'000'000;

IterationTimes read_plain(const std::filesystem::path& file) {
  LineReader lines(file);
  std::string line;
  std::vector<Issue> issues;
  IterationTimes out;
  while (lines.next(line)) {
    if (line.empty() || line.front() == '#') continue;
    const auto value = parse_number(line);
    if (value && *value > 0 && out.seconds.size() < most_times)
      out.seconds.push_back(*value);
    else if (issues.size() < CsvTable::most_faults)
      issues.push_back(fault_in_line(lines.name(), lines.number(), 1, line, fmt::format("\"{}\" is not a time above 0", clipped(line)),
                                     "write seconds, one number a line"));
  }
  if (!issues.empty()) throw SpecError(issues);
  return out;
}

}  // namespace

const FailureFleet& FailureFacts::fleet(std::string_view name) const {
  std::vector<std::string> names;
  for (const FailureFleet& f : fleets) {
    if (f.name == name) return f;
    names.push_back(f.name);
  }
  throw RequestError(
      fmt::format("\"{}\" is no fleet whose failures are known; write one of {}", clipped(std::string{name}), fmt::join(names, ", ")));
}

FailureFacts load_failure_facts() {
  SpecStore store;
  const SpecNode tree = store.resolve("workloads", "reliability");
  Faults faults;
  MapReader in(tree, "", faults);
  in.name("name", true);
  in.text("date");
  FailureFacts out;
  if (const SpecNode* list = in.take("fleets", true)) {
    MapReader fleets(*list, "fleets", faults);
    for (const auto& [key, mark, value] : list->entries) {
      fleets.take(key);
      out.fleets.push_back(read_fleet(key, value, faults));
    }
    fleets.finish();
  }
  const auto section = [&](std::string_view key, std::initializer_list<std::pair<const char*, std::pair<double*, double>>> fields) {
    const SpecNode* node = in.take(key, true);
    if (node == nullptr) return;
    MapReader one(*node, std::string{key}, faults);
    for (const auto& [field, into] : fields) *into.first = into.second * one.number(field, 0, 0, 1e6);
    one.finish();
  };
  section("recovery", {{"minutes", {&out.recovery, 60}}});
  section("checkpoint", {{"seconds", {&out.stall, 1}}});
  section("checkpoint_in_background", {{"seconds", {&out.background_stall, 1}}, {"drain_seconds", {&out.background_drain, 1}}});
  section("repair", {{"hours", {&out.repair, 3600}}});
  in.finish();
  faults.raise();
  return out;
}

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
    if (out.seconds.size() >= most_times) {
      table.fault(column, fmt::format("more than {} times", most_times), "take fewer iterations");
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

}  // namespace fabricost
