#pragma once
/// \file work.hpp
/// A schedule as one list of work per stage, and its execution in order: a piece of work starts when its
/// stage is free and its input has arrived; a hand-over takes C and blocks neither stage. This rule
/// reproduces the published tables (Qi 2023, arXiv 2401.10241: bubbles of 1F1B, ZB-H1, ZB-H2).

#include <fabricost/plan/pipeline/schedule.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
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

namespace detail {
/// Of sums of times that long, what only rounding makes.
inline constexpr double pipeline_rounding = 1e-10;
}  // namespace detail

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
    return std::fabs(waited) > detail::pipeline_rounding * work ? waited : 0;
  }
};

/// A place in the pipeline.
struct PipelinePlace {
  int stage = 0, chunk = 0;
};

/// The path of a microbatch through the places of a pipeline.
class PipelineWay {
 public:
  PipelineWay(PipelineSchedule schedule, int stages, int chunks)
      : layout_(layout_of(schedule)), stages_(stages), chunks_(chunks_of(schedule, chunks)) {}

  [[nodiscard]] int stages() const { return stages_; }
  [[nodiscard]] int chunks() const { return chunks_; }
  [[nodiscard]] int length() const { return layout_ == PipelineLayout::both_ways ? stages_ : stages_ * chunks_; }
  /// Parts into which chunks divide a stage's time; a chunk of dualpipe is a whole stage.
  [[nodiscard]] int parts() const { return layout_ == PipelineLayout::both_ways ? 1 : chunks_; }
  /// Number of places before this one.
  [[nodiscard]] int position(PipelinePlace at) const;
  /// The place at a position of the path that the chunk belongs to.
  [[nodiscard]] PipelinePlace place(int position, int chunk) const;

 private:
  PipelineLayout layout_;
  int stages_, chunks_;
};

/// The next work of a stage: one piece, or two that run as one (Work::with_next).
struct PipelineTurn {
  double ready = -1;  ///< when all its inputs are available, s; below 0: unknown
  double seconds = 0;
  std::size_t pieces = 1;
};

/// Times of single pieces of work and the ends of finished ones; shared by executing and searching an order.
class PipelineClock {
 public:
  PipelineClock(PipelineSchedule schedule, int stages, int chunks, int microbatches, const StageTimes& times)
      : way_(schedule, stages, chunks),
        times_(times),
        microbatches_(microbatches),
        ends_(2 * static_cast<std::size_t>(stages) * static_cast<std::size_t>(way_.chunks()) * static_cast<std::size_t>(microbatches), -1) {
  }

  [[nodiscard]] const PipelineWay& way() const { return way_; }

  /// Seconds of one piece; the last place of the path adds last_extra, a third each to F, B and W.
  [[nodiscard]] double seconds(int stage, const Work& w) const;

  /// When a piece's inputs are available; below 0: unknown. A W needs only its own stage's backward.
  [[nodiscard]] double ready(int stage, const Work& w) const;

  /// The turn that starts with piece `next` of a stage's list.
  [[nodiscard]] PipelineTurn turn(int stage, const std::vector<Work>& list, std::size_t next) const;

  /// Seconds that two pieces save by running as one.
  [[nodiscard]] double saved() const { return times_.overlapped > 0 ? (times_.work() - times_.overlapped) / way_.parts() : 0; }

  void done(int stage, const Work& w, double end) {
    if (w.kind != WorkKind::weight) ends_[index(stage, w.chunk, w.kind == WorkKind::forward, w.microbatch)] = end;
  }

  /// Microbatch-stages a piece adds when it starts (above 0) or frees when it ends (below 0).
  [[nodiscard]] double activations(const Work& w) const;

 private:
  [[nodiscard]] std::size_t index(int stage, int chunk, bool forward, int microbatch) const;
  [[nodiscard]] double end(int stage, int chunk, bool forward, int microbatch) const {
    return ends_[index(stage, chunk, forward, microbatch)];
  }
  [[nodiscard]] double arrival(int stage, PipelinePlace from, bool forward, int microbatch) const {
    const double sent = end(from.stage, from.chunk, forward, microbatch);
    return sent < 0 ? -1 : sent + (from.stage == stage ? 0 : times_.exchange);
  }

  PipelineWay way_;
  StageTimes times_;
  int microbatches_;
  std::vector<double> ends_;
};

/// Sums up bars: peaks, spans, work. \param bars by stage \param work microbatches (F + B + W)
[[nodiscard]] PipelineRun measured_run(const PipelineClock& clock, std::vector<std::vector<Bar>> bars, double work);

namespace detail {
/// Visits the stages by turns down, as forwards go, and up, as backwards do, until nothing moved on a way.
/// \param visit runs what a stage can run now; true where that was something
template <class Visit>
void by_turns(std::size_t stages, Visit visit) {
  for (bool moved = true, down = true; moved; down = !down) {
    moved = false;
    for (std::size_t i = 0; i < stages; ++i) moved = visit(down ? i : stages - 1 - i) || moved;
  }
}
}  // namespace detail

/// Executes the lists. \throws RequestError for a deadlock between them, and as check_pipeline
[[nodiscard]] PipelineRun execute_pipeline(PipelineSchedule schedule, int stages, int chunks, int microbatches,
                                           const StageTimes& times, const PipelineOrders& orders);

}  // namespace fabricost::plan
