// Measured points and the logs of benchmarks: each reader by itself, then whatever the content makes of a file, then a diagnosis of it.
// Points that come out must be sound.
#include "scratch.hpp"
#include "targets.hpp"

#include "diagnose/quoted.hpp"
#include "diagnose/rules.hpp"
#include "readings/logs/nccl_info.hpp"
#include "readings/logs/pair_points.hpp"
#include "readings/point_readers.hpp"
#include "readings/traces/readers.hpp"
#include "trace/replay.hpp"

#include "diagnose/diagnose.hpp"
#include <fabricost/readings/points.hpp>
#include <fabricost/validation/validate.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>

namespace fuzz {

namespace {

using namespace fabricost::observe;

const PointDefaults on_h100{.system = "dgx-h100", .nodes = 0, .ranks = 0};

void check(const Point& p) {
  require(std::isfinite(p.bytes) && p.bytes >= 0, "bytes of a point are finite and not negative");
  require(std::isfinite(p.seconds) && p.seconds > 0, "a point's time is finite and above zero");
  require(p.nodes >= 1 && p.gpus_per_node >= 0, "a point has ranks");
}

const PointSink checked = [](Point&& point) { check(point); };

std::filesystem::path log(std::string_view bytes) { return Scratch::folder().write("log.txt", bytes); }

template <std::vector<Skipped> (*reader)(const std::filesystem::path&, const PointDefaults&, const RunDescriptions&, const PointSink&)>
void collectives(std::string_view bytes) {
  const auto file = log(bytes);
  tolerate([&] { (void)reader(file, on_h100, {}, checked); });
}

template <void (*reader)(const std::filesystem::path&, PointMaker&)>
void pairs(std::string_view bytes) {
  const auto file = log(bytes);
  const RunDescriptions none;
  tolerate([&] {
    PointMaker points(file, on_h100, none, "fuzzed", checked);
    reader(file, points);
  });
}

/// A point CSV and, behind a line "=====", the sources.csv beside it.
void points_csv(std::string_view bytes) {
  const Halves given = halves(bytes);
  const auto file = Scratch::folder().write("points.csv", given.first);
  if (!given.second.empty()) Scratch::folder().write("sources.csv", given.second);
  tolerate([&] {
    const RunDescriptions runs = read_sources(file);
    (void)read_point_csv(file, {}, runs, checked);
  });
  Scratch::folder().remove("sources.csv");
}

/// Any file at all, priced.
void any_points(std::string_view bytes) {
  const auto file = log(bytes);
  tolerate([&] {
    const Points read = read_points(file, on_h100);
    for (const Point& p : read.points) check(p);
    if (read.points.size() < 100) (void)validate(read, {});
  });
}

void nccl_info(std::string_view bytes) {
  const auto file = log(bytes);
  static const diagnosis::Rules rules = diagnosis::load_rules();
  tolerate([&] { (void)read_nccl_info(file, rules.signs); });
  tolerate([&] {
    for (const diagnosis::Quoted& one : diagnosis::quoted_figures(file))
      require(std::isfinite(one.rate) && std::isfinite(one.seconds) && one.rate >= 0 && one.seconds >= 0, "a quoted figure is a number");
  });
}

/// The matcher, which leaves out signs that a line cannot carry, sees the same signs as each sign by itself.
void signs(std::string_view bytes) {
  static const diagnosis::Rules rules = diagnosis::load_rules();
  static SignMatcher matcher(rules.signs);
  int lines = 0;
  each_line(bytes, [&](std::string_view text) {
    if (text.size() > 2000 || ++lines > 20) return;
    const std::string line{text};
    std::set<std::string> seen, carried;
    matcher.match(line, [&](const Sign& sign) { seen.insert(sign.name); });
    if (lines > 2) return;
    std::string folded = line;
    for (char& c : folded) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const Sign& sign : rules.signs)
      if (carries(sign, line, folded)) carried.insert(sign.name);
    require(seen == carried, "the matcher sees the signs that a line carries, and no others");
  });
}

/// A log, and the expectation behind a line "=====".
void diagnosis_of_log(std::string_view bytes) {
  const Halves given = halves(bytes);
  const auto file = log(given.first);
  tolerate([&] {
    DiagnoseRequest request;
    request.expected = given.second;
    const Diagnosis found = diagnose({file}, request);
    require(found.fine() || !found.causes.empty(), "a run that failed or is slow has a cause");
    for (const Finding& finding : found.causes) require(finding.confidence >= 0 && finding.confidence <= 1, "confidence is from 0 to 1");
  });
}

/// One trace, or those of two ranks behind a line "=====".
template <auto reader>
void traces(std::string_view bytes) {
  const Halves given = halves(bytes);
  tolerate([&] {
    std::vector<RankTrace> ranks = reader(Scratch::folder().write("rank0.json", given.first));
    if (!given.second.empty())
      for (RankTrace& one : reader(Scratch::folder().write("rank1.json", given.second))) ranks.push_back(std::move(one));
    const timeline::Job job = timeline::build(std::move(ranks), 8);
    for (const timeline::Call& call : job.calls) {
      require(call.wire() >= 0 && call.skew() >= 0 && !call.parts.empty(), "a call takes no negative time");
      for (const timeline::Part& part : call.parts)
        require(part.exposed >= 0 && part.exposed <= part.to - part.from, "what is exposed is a part");
    }
    for (const timeline::Spent& one : job.spent)
      require(one.idle >= 0 && one.waiting >= 0 && one.compute <= one.window, "parts of a window");
    const timeline::Elsewhere faster{
        .kernel = [](Work, double ns) { return ns / 2; },
        .call = [](const timeline::Call& call) {
          return timeline::Carried{static_cast<double>(std::max<std::int64_t>(0, call.wire())) / 2, 0};
        }};
    for (const auto without : {timeline::Without::nothing, timeline::Without::straggler, timeline::Without::wait}) {
      const timeline::Replay again = timeline::replay(job, faster, without);
      require(again.job.calls.size() == job.calls.size(), "every call is replayed");
      for (const timeline::Spent& one : again.job.spent)
        require(one.window >= 0 && one.idle >= 0 && one.waiting >= 0, "parts of a window there");
    }
  });
}

std::vector<RankTrace> read_kineto(const std::filesystem::path& file) { return {fabricost::observe::read_kineto(file, Keep::kernels)}; }

constexpr std::array<Target, 21> logs_list{{{"points_csv", points_csv},
                                            {"any_points", any_points,
                                             "tests/robustness/fuzz/corpus/nccl_tests "
                                             "tests/robustness/fuzz/corpus/nvbandwidth "
                                             "tests/robustness/fuzz/corpus/osu "
                                             "tests/robustness/fuzz/corpus/p2p_bandwidth_latency "
                                             "tests/robustness/fuzz/corpus/perftest "
                                             "tests/robustness/fuzz/corpus/points_csv"},
                                            {"nccl_tests", collectives<read_nccl_tests>},
                                            {"nccl_tests_json", collectives<read_nccl_tests_json>},
                                            {"nvbandwidth", pairs<read_nvbandwidth>},
                                            {"nvbandwidth_json", pairs<read_nvbandwidth_json>},
                                            {"p2p_bandwidth_latency", pairs<read_p2p_bandwidth_latency>},
                                            {"osu", pairs<read_osu>},
                                            {"perftest", pairs<read_perftest>},
                                            {"nccl_info", nccl_info},
                                            {"signs", signs},
                                            {"traces", traces<read_kineto>},
                                            {"traces_inspector", traces<read_inspector>},
                                            {"traces_flight", traces<read_flight_dump>},
                                            {"traces_plugin", traces<read_profiler_plugin>},
                                            {"traces_execution", traces<read_execution_trace>},
                                            {"traces_chakra", traces<read_chakra>},
                                            {"traces_aicb", traces<read_aicb>},
                                            {"traces_nsys", traces<read_nsys>},
                                            {"traces_tracelens", traces<read_tracelens>},
                                            {"diagnosis", diagnosis_of_log}}};

}  // namespace

std::span<const Target> log_targets() { return logs_list; }

}  // namespace fuzz
