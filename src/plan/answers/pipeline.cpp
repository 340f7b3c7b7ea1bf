/// Runs a pipeline schedule with given stage times.

#include <fabricost/fields/field.hpp>
#include <fabricost/plan/answers/pipeline.hpp>
#include <fabricost/plan/pipeline/run.hpp>

#include "text/joined.hpp"

#include <fmt/format.h>

namespace fabricost::plan {

RequestTable<PipelineRequest> PipelineRequest::fields() {
  using R = PipelineRequest;
  using enum Amount;
  constexpr Range stage_time{0, 1e6};
  constexpr bool needed = true;
  return {
      asks(&R::schedule, "schedule", "--schedule", "NAME",
           "One of: gpipe 1f1b interleaved zb_h1 zb_h2 zb_1p zb_2p\nzb_v v_half v_min dualpipe dualpipe_v", needed),
      asks(&R::stages, "stages", "--stages,-p", count, any_count, "P", "Pipeline stages", needed),
      asks(&R::microbatches, "microbatches", "--microbatches,-m", count, any_count, "M", "Microbatches of a step", needed),
      asks(&R::chunks, "chunks", "--chunks,-v", count, any_count, "V", "Chunks of a stage when interleaved (default 2) or with gpipe (1)"),
      asks(&R::forward, "forward_seconds", "--forward", seconds, stage_time, "TIME",
           "Forward time of a microbatch in one stage, as in 18.5ms", needed),
      asks(&R::backward, "backward_seconds", "--backward", seconds, stage_time, "TIME",
           "Backward time, gradient of the input alone; default as forward"),
      asks(&R::weight, "weight_seconds", "--weight", seconds, stage_time, "TIME",
           "Backward time, gradient of the weights; default as forward"),
      asks(&R::exchange, "exchange_seconds", "--exchange", seconds, stage_time, "TIME", "Transfer to the next stage, one way; default 0ms"),
      asks(&R::head, "head_seconds", "--head", seconds, stage_time, "TIME",
           "Extra time of the last stage, forward and both backwards\ntogether; default 0ms"),
      asks(&R::overlapped, "overlapped_seconds", "--overlapped", seconds, stage_time, "TIME",
           "dualpipe: time of a forward and a full backward run as one;\ndefault their sum"),
      asks(&R::held, "held", "--held", share, any_share, "SHARE",
           "Share of activations kept for the weight gradient;\ndefault 32/34 (fused attention)")};
}

AnswerTable<PipelinePiece> PipelinePiece::fields() {
  using A = PipelinePiece;
  return {gives(&A::kind, "kind", "kind", "forward, backward, weight or full_backward."),
          gives(&A::chunk, "chunk", "chunk", "Chunk of the stage."), gives(&A::microbatch, "microbatch", "microbatch", "Which one."),
          gives(&A::start, "start_s", "start_seconds", "When it starts, s."), gives(&A::end, "end_s", "end_seconds", "When it ends, s.")};
}

AnswerTable<PipelineStage> PipelineStage::fields() {
  using A = PipelineStage;
  return {gives(&A::stage, "stage", "stage", "Which one."),
          gives(&A::peak_activations, "peak_activations", "peak_activations",
                "Microbatches' activations in 1/stages of the layers that it holds at the most."),
          gives(&A::waits, "waits_s", "waits_seconds", "Waiting between its first and last piece, s."),
          gives(&A::work, "work", "work", "Its pieces, in order of time.")};
}

AnswerTable<PipelineAnswer> PipelineAnswer::fields() {
  using A = PipelineAnswer;
  return {
      gives(&A::schedule, "schedule", "schedule", "Its name: gpipe, 1f1b, interleaved, zb_h1, ..., dualpipe_v."),
      gives(&A::stages, "stages", "stages", "Pipeline stages."),
      gives(&A::chunks, "chunks", "chunks", "Chunks of layers a stage holds."),
      gives(&A::microbatches, "microbatches", "microbatches", "Microbatches of a step."),
      gives(&A::step, "step_s", "step_seconds", "The longest stage, first to last piece, s."),
      gives(&A::work, "work_s", "work_seconds", "microbatches x (forward + backward + weight), less what pairs that run as one save, s."),
      gives(&A::bubble, "bubble_s", "bubble_seconds", "step_seconds - work_seconds."),
      gives(&A::bubble_over_total, "bubble_over_total", "bubble_over_total",
            "bubble / (work + bubble), as the zero-bubble papers have it."),
      gives(&A::bubble_over_ideal, "bubble_over_ideal", "bubble_over_ideal", "bubble / work, as Megatron has it."),
      gives(&A::makespan, "makespan_s", "makespan_seconds", "First start to last end of all stages, s."),
      gives(&A::closed_form_bubble, "closed_form_bubble_s", "closed_form_bubble_seconds",
            "The bubble by the closed form that searches use, s."),
      gives(&A::closed_form_exact, "closed_form_exact", "closed_form_exact", "Whether that is exact, or an estimate."),
      gives(&A::exposed_exchange, "exposed_exchange_s", "exposed_exchange_seconds", "What of that bubble hand-overs cause, s."),
      gives(&A::hops, "hops", "hops", "Hand-overs of one microbatch, forward and backward."),
      gives(&A::by_stage, "by_stage", "", "What each stage does, when.")};
}

namespace {

/// The request with defaults filled in.
[[nodiscard]] PipelineRequest filled_in(PipelineRequest r) {
  if (!r.schedule) throw Refusal(fmt::format("which schedule? Add <schedule>, one of: {}", joined(pipeline_schedule_names, " ")), true);
  if (!r.stages) throw Refusal("how many stages? Add <stages>, as in <stages=8>", true);
  if (!r.microbatches) throw Refusal("how many microbatches? Add <microbatches>, as in <microbatches=24>", true);
  if (!r.forward) throw Refusal("how long is a forward? Add <forward_seconds>, as in <forward_seconds=0.0185>", true);
  const int chunks = chunks_of(*r.schedule, r.chunks.value_or(*r.schedule == PipelineSchedule::interleaved ? 2 : 1));
  if (r.chunks.value_or(chunks) != chunks)
    throw Refusal(fmt::format("<chunks> {}: a stage of {} holds {}; leave it out", *r.chunks, name(*r.schedule), chunks));
  r.chunks = chunks;
  if (!r.backward) r.backward = r.forward;
  if (!r.weight) r.weight = r.forward;
  if (r.held && !splits_backward(*r.schedule))
    throw Refusal(
        fmt::format("<held>: {} computes both gradients at once, and frees all activations then; leave it out", name(*r.schedule)));
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
                         .held_for_weight = r.held.value_or(StageTimes{}.held_for_weight)};
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
