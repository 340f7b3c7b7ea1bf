#pragma once
/// \file pipeline.hpp
/// The time, bubble and memory of one step of a pipeline schedule with given stage times, with every piece of
/// work placed in time.
///
///   step      the longest stage, from its first to its last piece      bubble   step - work
///   work      microbatches x (forward + backward + weight)
///   defaults  backward and weight as forward: each of a GEMM's two gradients costs as much as its forward pass

#include <fabricost/fields/fields.hpp>
#include <fabricost/plan/pipeline/pipeline.hpp>
#include <fabricost/plan/pipeline/run.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

[[nodiscard]] constexpr auto words_of(PipelineSchedule) { return EnumWords{pipeline_schedule_names, "a schedule"}; }
[[nodiscard]] inline std::optional<PipelineSchedule> parse_word(PipelineSchedule, std::string_view text) {
  return text.empty() ? std::nullopt : parse_pipeline_schedule(text);
}

struct PipelineRequest {
  std::optional<PipelineSchedule> schedule{};
  std::optional<int> stages{}, microbatches{}, chunks{};
  std::optional<Time> forward{}, backward{}, weight{};
  Time exchange{}, head{}, overlapped{};
  std::optional<double> held{};
  bool operator==(const PipelineRequest&) const = default;

  static constexpr auto fields() {
    using R = PipelineRequest;
    using enum Amount;
    constexpr Range stage_time{0, 1e6};
    constexpr bool needed = true;
    return Table{asks(&R::schedule, "schedule", "--schedule", "NAME",
                      "One of: gpipe 1f1b interleaved zb_h1 zb_h2 zb_1p zb_2p\nzb_v v_half v_min dualpipe dualpipe_v", needed),
                 asks(&R::stages, "stages", "--stages,-p", count, any_count, "P", "Pipeline stages", needed),
                 asks(&R::microbatches, "microbatches", "--microbatches,-m", count, any_count, "M", "Microbatches of a step", needed),
                 asks(&R::chunks, "chunks", "--chunks,-v", count, any_count, "V", "Chunks of a stage when interleaved; default 2"),
                 asks(&R::forward, "forward_seconds", "--forward", seconds, stage_time, "TIME",
                      "Forward time of a microbatch in one stage, as in 18.5ms", needed),
                 asks(&R::backward, "backward_seconds", "--backward", seconds, stage_time, "TIME",
                      "Backward time, gradient of the input alone; default as forward"),
                 asks(&R::weight, "weight_seconds", "--weight", seconds, stage_time, "TIME",
                      "Backward time, gradient of the weights; default as forward"),
                 asks(&R::exchange, "exchange_seconds", "--exchange", seconds, stage_time, "TIME",
                      "Transfer to the next stage, one way; default 0ms"),
                 asks(&R::head, "head_seconds", "--head", seconds, stage_time, "TIME",
                      "Extra time of the last stage, forward and both backwards\ntogether; default 0ms"),
                 asks(&R::overlapped, "overlapped_seconds", "--overlapped", seconds, stage_time, "TIME",
                      "dualpipe: time of a forward and a full backward run as one;\ndefault their sum"),
                 asks(&R::held, "held", "--held", share, any_share, "SHARE",
                      "Share of activations kept for the weight gradient;\ndefault 0.94 (fused attention)")};
  }
};

/// One piece of work of a stage.
struct PipelinePiece {
  WorkKind kind = WorkKind::forward;
  int chunk = 0, microbatch = 0;
  Time start{}, end{};

  static constexpr auto fields() {
    using A = PipelinePiece;
    return Table{gives(&A::kind, "kind", "kind", "forward, backward, weight or full_backward."),
                 gives(&A::chunk, "chunk", "chunk", "Chunk of the stage."), gives(&A::microbatch, "microbatch", "microbatch", "Which one."),
                 gives(&A::start, "start_s", "start_seconds", "When it starts, s."),
                 gives(&A::end, "end_s", "end_seconds", "When it ends, s.")};
  }
};
struct PipelineStage {
  int stage = 0;
  double peak_activations = 0;
  Time waits{};
  std::vector<PipelinePiece> work;

  static constexpr auto fields() {
    using A = PipelineStage;
    return Table{gives(&A::stage, "stage", "stage", "Which one."),
                 gives(&A::peak_activations, "peak_activations", "peak_activations",
                       "Microbatches' activations in 1/stages of the layers that it holds at the most."),
                 gives(&A::waits, "waits_s", "waits_seconds", "Waiting between its first and last piece, s."),
                 gives(&A::work, "work", "work", "Its pieces, in order of time.")};
  }
};

struct PipelineAnswer {
  PipelineRequest request;  ///< with defaults filled in
  std::string schedule;
  int stages = 1, chunks = 1, microbatches = 1;
  Time step{}, work{}, bubble{};
  double bubble_over_total = 0, bubble_over_ideal = 0;
  Time makespan{}, closed_form_bubble{};
  bool closed_form_exact = false;
  Time exposed_exchange{};
  int hops = 0;
  PipelineRun run;
  [[nodiscard]] std::vector<PipelineStage> by_stage() const;

  static constexpr auto fields() {
    using A = PipelineAnswer;
    return Table{
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
};

/// \throws Refusal where something is missing or contradictory; RequestError for a schedule that cannot run
[[nodiscard]] PipelineAnswer answer(const PipelineRequest& request);

}  // namespace fabricost::plan
