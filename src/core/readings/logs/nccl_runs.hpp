#pragma once
/// The output of nccl-tests (and rccl-tests), run by run, without conclusions.

#include "readings/point_readers.hpp"

#include <fabricost/label.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fabricost::core {

/// One half of a row: the out-of-place or the in-place columns.
struct LogSide {
  double time = 0;  ///< as printed; 0: missing
  double algbw = 0, busbw = 0;
  double time_slack = 0, algbw_slack = 0, busbw_slack = 0;  ///< half of the last printed digit
  bool checked = true;                                      ///< the result column has a number, not N/A
  double wrong = 0;
  bool in_place = false;
  bool known_place = true;
};

/// Old versions print the largest error there, which a right result has too.
[[nodiscard]] inline bool has_wrong_results(const LogSide& side) { return side.wrong > 0 && side.wrong == std::floor(side.wrong); }

struct LogRow {
  int line = 0;
  double bytes = 0, count = 0;
  Label type;  ///< as printed
  std::optional<DataType> dtype;
  bool combines = false, copies = false;  ///< a reduction such as sum is named; none is
  Reduction redop = Reduction::sum;       ///< that one, where it is known

  void combine(std::string_view named) {
    (named == "none" ? copies : combines) = true;
    redop = parse_reduction(named).value_or(Reduction::sum);
  }
  std::optional<int> root;
  std::array<LogSide, 2> side{};
  int sides = 0;

  void add(const LogSide& one) {
    if (sides < 2) side[static_cast<std::size_t>(sides++)] = one;
  }
  [[nodiscard]] std::span<const LogSide> halves() const { return {side.data(), static_cast<std::size_t>(sides)}; }
};

/// One table, with the lines printed around it.
struct LogRun {
  std::string test;  ///< all_reduce, alltoall, ...: from the line of the test or of its command; empty if both are missing
  std::vector<int> ranks_listed;
  std::vector<std::string> hosts;  ///< of the ranks listed
  std::vector<int> groups;         ///< of the ranks listed
  std::vector<int> processes;      ///< their Pids; -1: not said
  std::string library, version;
  Environment environment;
  std::vector<LogRow> rows;
  std::vector<Skipped> skipped;
  double time_unit = 0;  ///< seconds; 0: not said
  int threads = 0, gpus = 0;  ///< nThread, nGpus of the head; 0: not said
  bool graph = false;         ///< replayed in CUDA graphs
  double max_bytes = 0;       ///< maxBytes of the head; 0: not said
  double step_factor = 0, step_bytes = 0;  ///< from one size to the next, as the head says it
  bool short_bus_ids = false;  ///< devices as [0x27], not [0000:27:00]
  bool says_start = false;     ///< with a line "Collective test starting"
  int line = 1;               ///< where it starts
};

/// Bounds of busbw / algbw.
struct Ratio {
  double low = 0, high = 1e300;
  [[nodiscard]] bool known() const { return low > 0 && low <= high; }
  [[nodiscard]] bool allows(double factor) const { return !known() || (factor >= low - 1e-9 && factor <= high + 1e-9); }
};
/// The tightest bounds that the printed digits of all rows allow; low above high if rows disagree.
[[nodiscard]] Ratio ratio_bounds(std::span<const LogRun> runs);

/// GPUs of a run whose ranks are all of one process, as `-g 8` lists them; 0 where they are not, or it is not said.
[[nodiscard]] inline int gpus_of_one_process(const LogRun& run) {
  const auto same = [](const auto& all) { return std::adjacent_find(all.begin(), all.end(), std::not_equal_to{}) == all.end(); };
  const bool one = run.processes.size() > 1 && run.processes.front() >= 0 && same(run.processes) && same(run.hosts);
  return one ? static_cast<int>(run.processes.size()) : 0;
}

/// The launch mode of a run; where its head does not state it one thread for ranks of one process, else graph.
[[nodiscard]] inline CallLaunch launch_of(const LogRun& run) {
  if (run.threads < 1 || run.gpus < 1) {
    const int gpus = run.graph ? 0 : std::min(65535, gpus_of_one_process(run));
    return gpus > 0 ? CallLaunch{.mode = LaunchMode::one_process, .gpus = static_cast<unsigned short>(gpus)} : CallLaunch{};
  }
  if (run.graph) return {.mode = LaunchMode::queued};
  const LaunchMode mode = run.threads > 1 ? LaunchMode::threads : run.gpus > 1 ? LaunchMode::one_process : LaunchMode::process;
  return {.mode = mode, .gpus = static_cast<unsigned short>(std::min(65535, run.threads * run.gpus))};
}

/// Whether the head announces a size beyond the last row.
[[nodiscard]] inline bool stops_early(const LogRun& run) {
  if (run.rows.empty() || !(run.max_bytes > 0)) return false;
  const double last = run.rows.back().bytes;
  const double next = run.step_factor > 1 ? last * run.step_factor : last + run.step_bytes;
  return next > last && next <= run.max_bytes;
}

/// Printed by an nccl-tests of 2024 or before: short bus numbers, no line that names the test. Public logs of this kind that name their
/// library have NCCL 2.8 to 2.22.
[[nodiscard]] inline bool is_early(const LogRun& run) { return run.short_bus_ids && !run.says_start; }

/// Rows of a run that are held at most: enough to tell its operation and ranks.
inline constexpr std::size_t max_rows_held = 65536;

/// Receives a run, or the rows of it that are held, which are then discarded together with skipped ones.
/// `last`: the run ends here.
using RunSink = std::function<void(const LogRun& run, bool last)>;

/// Reads the text of a log, run by run. \returns the number of runs \throws SpecError
[[nodiscard]] int read_nccl_runs(const std::filesystem::path& file, const RunSink& take);

/// Determines the operation, ranks, nodes and machine of a run from its first rows, and converts all rows.
class RunsToPoints {
 public:
  RunsToPoints(const std::filesystem::path& file, const PointDefaults& otherwise, const RunDescriptions& described, const PointSink& sink);
  RunsToPoints(const RunsToPoints&) = delete;
  RunsToPoints& operator=(const RunsToPoints&) = delete;
  ~RunsToPoints();
  /// \throws SpecError, RequestError
  void take(const LogRun& run, bool last);
  [[nodiscard]] std::vector<Skipped> skipped() && { return std::move(skipped_); }

 private:
  class RunPoints;
  const std::filesystem::path& file_;
  const PointDefaults& otherwise_;
  const RunDescriptions& described_;
  const PointSink& sink_;
  std::vector<Skipped> skipped_;
  std::unique_ptr<RunPoints> run_points_;
};

}  // namespace fabricost::core
