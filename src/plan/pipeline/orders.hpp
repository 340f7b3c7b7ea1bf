#pragma once
/// Lists of work of a pipeline's stages: fixed ones, patterns whose gaps are filled, and searched ones; and how long they take.

#include <fabricost/plan/pipeline/run.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace fabricost::plan {

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

/// Visits the stages by turns down, as forwards go, and up, as backwards do, until nothing moved on a way.
/// \param visit runs what a stage can run now; true where that was something
template <class Visit>
void by_turns(std::size_t stages, Visit visit) {
  for (bool moved = true, down = true; moved; down = !down) {
    moved = false;
    for (std::size_t i = 0; i < stages; ++i) moved = visit(down ? i : stages - 1 - i) || moved;
  }
}

/// Executes the lists. \throws RequestError for a deadlock between them, and as check_pipeline
[[nodiscard]] PipelineRun execute_pipeline(PipelineSchedule schedule, int stages, int chunks, int microbatches, const StageTimes& times,
                                           const PipelineOrders& orders);

/// True if the order follows from the counts alone.
[[nodiscard]] constexpr bool has_fixed_order(PipelineSchedule s) {
  return s != PipelineSchedule::zb_1p && s != PipelineSchedule::zb_2p && s != PipelineSchedule::v_half && s != PipelineSchedule::v_min &&
         !runs_both_ways(s);
}

/// The work of one stage, in order. \throws RequestError as check_pipeline, for a stage that does not exist,
/// and for a schedule whose order depends on the times (use pipeline_orders)
[[nodiscard]] std::vector<Work> pipeline_order(PipelineSchedule schedule, int stage, int stages, int chunks, int microbatches);

/// One stage's forwards and backwards of a V schedule, without Ws.
[[nodiscard]] std::vector<Work> v_pattern_order(PipelineSchedule schedule, int stage, int stages, int microbatches);

/// Peak activations (in chunks) of one stage when Ws take the free slots of the pattern, oldest first: the
/// memory the schedule promises.
[[nodiscard]] int v_pattern_memory(PipelineSchedule schedule, int stages, int microbatches);

/// A pattern with its gaps filled by Ws, the shortest of three rules; empty when it does not run in that room.
/// \param room microbatch-stages a stage may hold
[[nodiscard]] std::optional<PipelineRun> best_filled_run(PipelineSchedule schedule, int stages, int microbatches, const StageTimes& times,
                                                         const PipelineOrders& pattern, double room);

/// The shortest run of dualpipe or dualpipe_v found; empty when no order runs in that room.
[[nodiscard]] std::optional<PipelineRun> best_paired_run(PipelineSchedule schedule, int stages, int microbatches, const StageTimes& times,
                                                         double room);

/// The shortest zero-bubble run found; empty when no order runs in that room.
[[nodiscard]] std::optional<PipelineRun> best_depths_run(PipelineSchedule schedule, int stages, int microbatches, const StageTimes& times,
                                                         double room);

}  // namespace fabricost::plan
