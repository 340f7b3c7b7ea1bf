/// \file pipeline.cpp
/// Runs a pipeline schedule with given stage times.

#include <fabricost/fields/field.hpp>
#include <fabricost/plan/answers/pipeline.hpp>
#include <fabricost/plan/pipeline/run.hpp>

#include <fmt/format.h>

namespace fabricost::plan {
namespace {

/// The request with defaults filled in.
[[nodiscard]] PipelineRequest filled_in(PipelineRequest r) {
  if (!r.schedule) throw Refusal(fmt::format("which schedule? Add <schedule>, one of: {}", fmt::join(pipeline_schedule_names, " ")), true);
  if (!r.stages) throw Refusal("how many stages? Add <stages>, as in <stages=8>", true);
  if (!r.microbatches) throw Refusal("how many microbatches? Add <microbatches>, as in <microbatches=24>", true);
  if (!r.forward) throw Refusal("how long is a forward? Add <forward_seconds>, as in <forward_seconds=0.0185>", true);
  if (!r.chunks) r.chunks = *r.schedule == PipelineSchedule::interleaved ? 2 : 1;
  if (!r.backward) r.backward = r.forward;
  if (!r.weight) r.weight = r.forward;
  if (!r.held) r.held = StageTimes{}.held_for_weight;
  return r;
}

}  // namespace

std::vector<PipelineStage> PipelineAnswer::by_stage() const {
  std::vector<PipelineStage> out;
  for (std::size_t s = 0; s < run.bars.size(); ++s) {
    out.push_back({static_cast<int>(s), run.peak_activations[s], units::s(waiting(run.bars[s])), {}});
    for (const Bar& bar : run.bars[s]) out.back().work.push_back({bar.work.kind, bar.work.chunk, bar.work.microbatch, units::s(bar.start), units::s(bar.end)});
  }
  return out;
}

PipelineAnswer answer(const PipelineRequest& request) {
  check_ranges(request);
  PipelineAnswer out;
  out.request = filled_in(request);
  const PipelineRequest& r = out.request;
  const StageTimes times{.forward = r.forward->value(),
                         .backward = r.backward->value(),
                         .weight = r.weight->value(),
                         .exchange = r.exchange.value(),
                         .last_extra = r.head.value(),
                         .overlapped = r.overlapped.value(),
                         .held_for_weight = *r.held};
  if (times.overlapped > 0 && !runs_both_ways(*r.schedule))
    throw Refusal("<overlapped_seconds> is for dualpipe and dualpipe_v, where a forward and a backward run as one");
  check_pipeline(*r.schedule, *r.stages, *r.chunks, *r.microbatches, times);
  constexpr double max_pieces = 1e6;
  if (6.0 * *r.stages * *r.chunks * *r.microbatches > max_pieces)
    throw RequestError(fmt::format("{} stages, {} chunks and {} microbatches are more than can be executed here; ask for fewer of them",
                                   *r.stages, *r.chunks, *r.microbatches));
  out.run = run_pipeline(*r.schedule, *r.stages, *r.chunks, *r.microbatches, times);
  const PipelineCost cost = pipeline_cost(*r.schedule, *r.stages, *r.chunks, *r.microbatches, times);
  out.schedule = name(*r.schedule);
  out.stages = *r.stages;
  out.chunks = chunks_of(*r.schedule, *r.chunks);
  out.microbatches = *r.microbatches;
  out.step = units::s(out.run.longest_stage);
  out.work = units::s(out.run.work);
  out.bubble = units::s(out.run.bubble());
  out.bubble_over_total = bubble_over_total(out.run.bubble(), out.run.work);
  out.bubble_over_ideal = bubble_over_ideal(out.run.bubble(), out.run.work);
  out.makespan = units::s(out.run.makespan);
  out.closed_form_bubble = units::s(cost.bubble + (cost.work - out.run.work));
  out.closed_form_exact = cost.exact;
  out.exposed_exchange = units::s(cost.exposed_exchange);
  out.hops = cost.hops;
  return out;
}

}  // namespace fabricost::plan
