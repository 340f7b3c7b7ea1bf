// Inputs of diagnose beside tables of times, each reader by itself and in memory where it can be, so that it takes many a second:
// dumps, outputs of tools, RAS, reports of ranks, and whatever comes as files, packed or not.
#include "scratch.hpp"
#include "targets.hpp"

#include "diagnose/inputs/condense.hpp"
#include "diagnose/inputs/inputs.hpp"
#include "readings/dumps/flight_recorder.hpp"
#include "readings/dumps/inspector.hpp"
#include "readings/dumps/pickle.hpp"
#include "readings/dumps/ras.hpp"
#include "readings/logs/nccl_info.hpp"
#include "readings/logs/rank_reports.hpp"
#include "readings/logs/tool_states.hpp"
#include "readings/step_times.hpp"
#include "text/line_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace fuzz {

namespace {

using namespace fabricost::observe;

/// Pickles and JSON in memory, as dumps of any tool.
void dumps(std::string_view bytes) {
  const auto take = [](const PlainTree& tree) {
    FlightDumps flights;
    Inspected inspected;
    if (is_flight_dump(tree)) require(!add_flight_dump(tree, "rank_1", flights).empty(), "a dump says something");
    if (is_ras_report(tree)) (void)ras_lines(tree);
    if (is_inspector_record(tree, tree.root)) add_inspector_record(tree, tree.root, "rank_1", inspected);
    for (const auto& [id, one] : inspected.communicators)
      for (const auto& [rank, share] : share_of_time(one)) require(std::isfinite(share) && share > 0, "a share of time is a number");
  };
  const PlainLimits limits{.nodes = 10000, .depth = 64};
  tolerate([&] { take(read_pickle(bytes, "fuzzed", limits)); });
  tolerate([&] {
    for (std::size_t next = 0; bytes.find_first_not_of(" \t\r\n", next) != std::string_view::npos;)
      take(read_json_value(bytes, next, "fuzzed", limits));
  });
}

/// Every line of a condensed log is one of the log, and with those left out there are as many.
void condensed(std::string_view bytes) {
  std::size_t given = 0;
  std::string out;
  diagnosis::Condenser condenser([&](std::string_view text) { out += text; });
  each_line(bytes, [&](std::string_view line) {
    condenser.line(line);
    ++given;
  });
  condenser.finish();
  require(static_cast<std::size_t>(std::count(out.begin(), out.end(), '\n')) <= 2 * given, "condensed logs are no longer than they were");
}

void tool_states(std::string_view bytes) {
  ToolStates states;
  each_line(bytes, [&](std::string_view line) { require(states.take(line).size() <= 200, "a state is a short line"); });
  for (const auto& [gpu, one] : states.nvlinks())
    require(one.active >= 0 && one.inactive >= 0 && std::isfinite(one.slowest) && one.slowest <= one.fastest,
            "rates of links are in order");
}

void ras(std::string_view bytes) {
  RasReader reader;
  int number = 0;
  each_line(bytes, [&](std::string_view line) {
    ++number;
    if (reader.open() || RasReader::begins(line)) reader.take(std::string{line}, {number, std::string{line.substr(0, 200)}});
  });
  for (const RasGroup& one : reader.report.groups)
    require(one.ranks >= 0 && one.line.number > 0 && one.line.number <= number, "a group of ranks has a line");
}

void check(const RankReports& reports) {
  for (const Waited& one : reports.waited) require(one.rank >= -1 && std::isfinite(one.seconds), "a rank that waited has a number");
  for (const auto& [what, one] : reports.stated)
    for (const auto& [value, who] : one.who) require(!who.empty() && one.lines.contains(value), "what is stated is stated by somebody");
}

void rank_reports(std::string_view bytes) {
  const auto file = Scratch::folder().write("ranks.txt", bytes);
  tolerate([&] { check(read_rank_reports(file)); });
  tolerate([&] { (void)read_nccl_info(file); });
}

void step_times(std::string_view bytes) {
  const auto file = Scratch::folder().write("steps.txt", bytes);
  tolerate([&] {
    for (const StepTime& one : read_step_times(file)) {
      require(one.seconds > 0 && std::isfinite(one.seconds), "a step takes time");
      require(one.line.number > 0, "a step has a line");
    }
  });
}

/// One file, or two behind a line "=====", by their first bytes: text, packed, pickles, JSON.
void inputs(std::string_view bytes) {
  const Halves given = halves(bytes);
  std::vector<std::filesystem::path> files{Scratch::folder().write("rank_0", given.first)};
  if (!given.second.empty()) files.push_back(Scratch::folder().write("rank_1", given.second));
  tolerate([&] {
    const diagnosis::Inputs read(files);
    LineReader lines(read.file());
    for (std::string line; lines.next(line);) require(line.find('\n') == std::string::npos, "a line is one line");
  });
}

constexpr std::array<Target, 7> evidence_list{{{"dumps", dumps},
                                               {"condensed", condensed},
                                               {"tool_states", tool_states},
                                               {"ras", ras},
                                               {"rank_reports", rank_reports},
                                               {"step_times", step_times},
                                               {"inputs", inputs}}};

}  // namespace

std::span<const Target> evidence_targets() { return evidence_list; }

}  // namespace fuzz
