#pragma once
/// Execution of any schedule: exact where a closed form is not, and the data of a Gantt chart. Costs
/// microseconds to milliseconds (every piece of work is visited, hundreds of times if the order is searched);
/// a search over layouts uses pipeline_cost first.

///
/// A schedule is a list of work per stage, executed in order: a piece of work starts when its stage is free and its input has arrived; a
/// hand-over takes C and blocks neither stage. This rule reproduces the published tables (Qi 2023, arXiv 2401.10241: bubbles of 1F1B,
/// ZB-H1, ZB-H2).

#include <fabricost/plan/pipeline/schedule.hpp>

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

namespace fabricost::plan {

enum class WorkKind : unsigned char { forward, backward, weight, full_backward };
inline constexpr std::array<std::string_view, 4> work_kind_names{"forward", "backward", "weight", "full_backward"};
[[nodiscard]] constexpr std::string_view name(WorkKind k) { return work_kind_names[static_cast<std::size_t>(k)]; }

/// One piece of a stage's work.
struct Work {
  WorkKind kind = WorkKind::forward;
  int chunk = 0, microbatch = 0;
  bool with_next = false;  ///< runs as one with the next in the list (dualpipe: a forward and a backward)
};
using PipelineOrders = std::vector<std::vector<Work>>;  ///< by stage

/// Of sums of times that long, what only rounding makes.
inline constexpr double pipeline_rounding = 1e-10;

/// One piece of work in time, seconds from the start of the step.
struct Bar {
  Work work;
  double start = 0, end = 0;
};

/// Waiting between a stage's first and last piece, s; two pieces that run as one (Work::with_next) start and end
/// together.
[[nodiscard]] double waiting(const std::vector<Bar>& bars);

/// The result of executing a schedule.
struct PipelineRun {
  std::vector<std::vector<Bar>> bars;    ///< by stage, in order
  std::vector<double> peak_activations;  ///< by stage, in microbatch-stages: one microbatch's activations in 1/stages of the layers
  double makespan = 0;                   ///< from the first start to the last end, s
  double longest_stage = 0;              ///< longest time from a stage's first start to its last end: the time of a step
                                         ///< when steps follow one another
  double work = 0;                       ///< microbatches (F + B + W), s, less what pairs that run as one save in the longest stage
  /// What the longest stage takes beyond its work, s; 0 where the two differ by the rounding of their sums alone.
  [[nodiscard]] double bubble() const {
    const double waited = longest_stage - work;
    return std::fabs(waited) > pipeline_rounding * work ? waited : 0;
  }
};

/// Microbatch-stages a stage may hold in schedules whose order is searched: p (zb_1p), 2p (zb_2p), the memory
/// of the pattern (v_half, v_min), p + 1 (dualpipe) and p + 1/2 (dualpipe_v); 0 for the others.
[[nodiscard]] double pipeline_room(PipelineSchedule schedule, int stages, int microbatches);

/// \throws RequestError as check_pipeline
[[nodiscard]] PipelineRun run_pipeline(PipelineSchedule schedule, int stages, int chunks, int microbatches, const StageTimes& times);

/// The orders of all stages, also of schedules whose order depends on times. \throws RequestError as
/// check_pipeline
[[nodiscard]] PipelineOrders pipeline_orders(PipelineSchedule schedule, int stages, int chunks, int microbatches, const StageTimes& times);

}  // namespace fabricost::plan
