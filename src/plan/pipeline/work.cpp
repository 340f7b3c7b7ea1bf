#include "pipeline/orders.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace fabricost::plan {

double waiting(const std::vector<Bar>& bars) {
  double out = 0;
  for (std::size_t i = 1; i < bars.size(); ++i)
    if (const double gap = bars[i].start - bars[i - 1].end; gap > pipeline_rounding * bars[i].start) out += gap;
  return out;
}

int PipelineWay::position(PipelinePlace at) const {
  if (layout_ == PipelineLayout::loop) return at.chunk * stages_ + at.stage;
  if (at.chunk == 0) return at.stage;
  return (layout_ == PipelineLayout::v ? 2 * stages_ : stages_) - 1 - at.stage;
}

PipelinePlace PipelineWay::place(int position, int chunk) const {
  if (layout_ == PipelineLayout::loop) return {position % stages_, position / stages_};
  if (layout_ == PipelineLayout::v) return position < stages_ ? PipelinePlace{position, 0} : PipelinePlace{2 * stages_ - 1 - position, 1};
  return {chunk == 0 ? position : stages_ - 1 - position, chunk};
}

double PipelineClock::seconds(int stage, const Work& w) const {
  const double third = way_.position({stage, w.chunk}) == way_.length() - 1 ? times_.last_extra / 3 : 0;
  switch (w.kind) {
    case WorkKind::forward: return times_.forward / way_.parts() + third;
    case WorkKind::backward: return times_.backward / way_.parts() + third;
    case WorkKind::weight: return times_.weight / way_.parts() + third;
    case WorkKind::full_backward: return times_.full_backward() / way_.parts() + 2 * third;
  }
  return 0;
}

double PipelineClock::ready(int stage, const Work& w) const {
  const int at = way_.position({stage, w.chunk});
  if (w.kind == WorkKind::forward) return at == 0 ? 0 : arrival(stage, way_.place(at - 1, w.chunk), true, w.microbatch);
  if (w.kind == WorkKind::weight) return end(stage, w.chunk, false, w.microbatch);
  if (at == way_.length() - 1) return end(stage, w.chunk, true, w.microbatch);
  const double own = end(stage, w.chunk, true, w.microbatch);
  const double gradient = arrival(stage, way_.place(at + 1, w.chunk), false, w.microbatch);
  return own < 0 || gradient < 0 ? -1 : std::max(own, gradient);
}

PipelineTurn PipelineClock::turn(int stage, const std::vector<Work>& list, std::size_t next) const {
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

double PipelineClock::activations(const Work& w) const {
  const double one = 1.0 / way_.parts();
  switch (w.kind) {
    case WorkKind::forward: return one;
    case WorkKind::backward: return -(1 - times_.held_for_weight) * one;
    case WorkKind::weight: return -times_.held_for_weight * one;
    case WorkKind::full_backward: return -one;
  }
  return 0;
}

std::size_t PipelineClock::index(int stage, int chunk, bool forward, int microbatch) const {
  return ((static_cast<std::size_t>(stage) * static_cast<std::size_t>(way_.chunks()) + static_cast<std::size_t>(chunk)) * 2 +
          (forward ? 1U : 0U)) *
             static_cast<std::size_t>(microbatches_) +
         static_cast<std::size_t>(microbatch);
}

PipelineRun measured_run(const PipelineClock& clock, std::vector<std::vector<Bar>> bars, double work) {
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

PipelineRun execute_pipeline(PipelineSchedule schedule, int stages, int chunks, int microbatches, const StageTimes& times,
                             const PipelineOrders& orders) {
  check_pipeline(schedule, stages, chunks, microbatches, times);
  PipelineClock clock(schedule, stages, chunks, microbatches, times);
  const auto count = static_cast<std::size_t>(stages);
  std::vector<std::size_t> next(count, 0);
  std::vector<double> free_at(count, 0);
  std::vector<std::vector<Bar>> bars(count);
  for (std::size_t s = 0; s < count; ++s) bars[s].reserve(orders.at(s).size());
  by_turns(count, [&](std::size_t s) {
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

}  // namespace fabricost::plan
