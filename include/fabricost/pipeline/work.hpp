#pragma once
/// \file work.hpp
/// A schedule as one list of work per stage, and its execution in order: a piece of work starts when its
/// stage is free and its input has arrived; a hand-over takes C and blocks neither stage. This rule
/// reproduces the published tables (Qi 2023, arXiv 2401.10241: bubbles of 1F1B, ZB-H1, ZB-H2).

#include <fabricost/pipeline/schedule.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace fabricost {

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
[[nodiscard]] inline double waiting(const std::vector<Bar>& bars) {
  double out = 0;
  for (std::size_t i = 1; i < bars.size(); ++i)
    if (const double gap = bars[i].start - bars[i - 1].end; gap > detail::pipeline_rounding * bars[i].start) out += gap;
  return out;
}

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
  [[nodiscard]] int position(PipelinePlace at) const {
    if (layout_ == PipelineLayout::loop) return at.chunk * stages_ + at.stage;
    if (at.chunk == 0) return at.stage;
    return (layout_ == PipelineLayout::v ? 2 * stages_ : stages_) - 1 - at.stage;
  }
  /// The place at a position of the path that the chunk belongs to.
  [[nodiscard]] PipelinePlace place(int position, int chunk) const {
    if (layout_ == PipelineLayout::loop) return {position % stages_, position / stages_};
    if (layout_ == PipelineLayout::v) return position < stages_ ? PipelinePlace{position, 0} : PipelinePlace{2 * stages_ - 1 - position, 1};
    return {chunk == 0 ? position : stages_ - 1 - position, chunk};
  }

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
  [[nodiscard]] double seconds(int stage, const Work& w) const {
    const double third = way_.position({stage, w.chunk}) == way_.length() - 1 ? times_.last_extra / 3 : 0;
    switch (w.kind) {
      case WorkKind::forward: return times_.forward / way_.parts() + third;
      case WorkKind::backward: return times_.backward / way_.parts() + third;
      case WorkKind::weight: return times_.weight / way_.parts() + third;
      case WorkKind::full_backward: return times_.full_backward() / way_.parts() + 2 * third;
    }
    return 0;
  }

  /// When a piece's inputs are available; below 0: unknown. A W needs only its own stage's backward.
  [[nodiscard]] double ready(int stage, const Work& w) const {
    const int at = way_.position({stage, w.chunk});
    if (w.kind == WorkKind::forward) return at == 0 ? 0 : arrival(stage, way_.place(at - 1, w.chunk), true, w.microbatch);
    if (w.kind == WorkKind::weight) return end(stage, w.chunk, false, w.microbatch);
    if (at == way_.length() - 1) return end(stage, w.chunk, true, w.microbatch);
    const double own = end(stage, w.chunk, true, w.microbatch);
    const double gradient = arrival(stage, way_.place(at + 1, w.chunk), false, w.microbatch);
    return own < 0 || gradient < 0 ? -1 : std::max(own, gradient);
  }

  /// The turn that starts with piece `next` of a stage's list.
  [[nodiscard]] PipelineTurn turn(int stage, const std::vector<Work>& list, std::size_t next) const {
    const Work& work = list[next];
    PipelineTurn out{.ready = ready(stage, work), .seconds = seconds(stage, work)};
    if (!work.with_next || next + 1 >= list.size() || out.ready < 0) return out;
    const Work& second = list[next + 1];
    const double also = ready(stage, second);
    out.ready = also < 0 ? -1 : std::max(out.ready, also);
    out.seconds += seconds(stage, second);
    out.seconds -= saved();
    out.pieces = 2;
    return out;
  }

  /// Seconds that two pieces save by running as one.
  [[nodiscard]] double saved() const { return times_.overlapped > 0 ? (times_.work() - times_.overlapped) / way_.parts() : 0; }

  void done(int stage, const Work& w, double end) {
    if (w.kind != WorkKind::weight) ends_[index(stage, w.chunk, w.kind == WorkKind::forward, w.microbatch)] = end;
  }

  /// Microbatch-stages a piece adds when it starts (above 0) or frees when it ends (below 0).
  [[nodiscard]] double activations(const Work& w) const {
    const double one = 1.0 / way_.parts();
    switch (w.kind) {
      case WorkKind::forward: return one;
      case WorkKind::backward: return -(1 - times_.held_for_weight) * one;
      case WorkKind::weight: return -times_.held_for_weight * one;
      case WorkKind::full_backward: return -one;
    }
    return 0;
  }

 private:
  [[nodiscard]] std::size_t index(int stage, int chunk, bool forward, int microbatch) const {
    return ((static_cast<std::size_t>(stage) * static_cast<std::size_t>(way_.chunks()) + static_cast<std::size_t>(chunk)) * 2 +
            (forward ? 1U : 0U)) *
               static_cast<std::size_t>(microbatches_) +
           static_cast<std::size_t>(microbatch);
  }
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
[[nodiscard]] inline PipelineRun measured_run(const PipelineClock& clock, std::vector<std::vector<Bar>> bars, double work) {
  PipelineRun run;
  run.bars = std::move(bars);
  run.work = work;
  double first = run.bars.empty() || run.bars.front().empty() ? 0 : run.bars.front().front().start;
  for (const auto& stage : run.bars) {
    double now = 0, peak = 0;
    for (const Bar& bar : stage) {
      now += clock.activations(bar.work);
      peak = std::max(peak, now);
    }
    run.peak_activations.push_back(peak);
    if (stage.empty()) continue;
    const double span = stage.back().end - stage.front().start;
    const auto pairs = std::count_if(stage.begin(), stage.end(), [](const Bar& bar) { return bar.work.with_next; });
    const double own = work - static_cast<double>(pairs) * clock.saved();
    if (span > run.longest_stage * (1 + 1e-12)) run.work = own;
    if (span > run.longest_stage * (1 - 1e-12)) run.work = std::max(run.work, own);  // of several as long the one that waits least
    run.longest_stage = std::max(run.longest_stage, span);
    run.makespan = std::max(run.makespan, stage.back().end);
    first = std::min(first, stage.front().start);
  }
  run.makespan -= first;
  return run;
}

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
[[nodiscard]] inline PipelineRun execute_pipeline(PipelineSchedule schedule, int stages, int chunks, int microbatches,
                                                  const StageTimes& times, const PipelineOrders& orders) {
  check_pipeline(schedule, stages, chunks, microbatches, times);
  PipelineClock clock(schedule, stages, chunks, microbatches, times);
  const auto count = static_cast<std::size_t>(stages);
  std::vector<std::size_t> next(count, 0);
  std::vector<double> free_at(count, 0);
  std::vector<std::vector<Bar>> bars(count);
  for (std::size_t s = 0; s < count; ++s) bars[s].reserve(orders.at(s).size());
  detail::by_turns(count, [&](std::size_t s) {
    const int stage = static_cast<int>(s);
    const std::size_t before = next[s];
    while (next[s] < orders[s].size()) {
      const PipelineTurn turn = clock.turn(stage, orders[s], next[s]);
      if (turn.ready < 0) break;
      const double start = std::max(free_at[s], turn.ready);
      free_at[s] = start + turn.seconds;
      for (const std::size_t last = next[s] + turn.pieces; next[s] < last; ++next[s]) {
        clock.done(stage, orders[s][next[s]], free_at[s]);
        bars[s].push_back({orders[s][next[s]], start, free_at[s]});
      }
    }
    return next[s] > before;
  });
  for (std::size_t s = 0; s < count; ++s)
    if (next[s] < orders[s].size())
      throw RequestError("schedule " + std::string(name(schedule)) + ": stage " + std::to_string(s) + " waits for ever for its work " +
                         std::to_string(next[s]) + "; the orders of the stages contradict each other");
  return measured_run(clock, std::move(bars), microbatches * times.work());
}

}  // namespace fabricost
