#pragma once
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

  static RequestTable<PipelineRequest> fields();
};

/// One piece of work of a stage.
struct PipelinePiece {
  WorkKind kind = WorkKind::forward;
  int chunk = 0, microbatch = 0;
  Time start{}, end{};

  static AnswerTable<PipelinePiece> fields();
};
struct PipelineStage {
  int stage = 0;
  double peak_activations = 0;
  Time waits{};
  std::vector<PipelinePiece> work;

  static AnswerTable<PipelineStage> fields();
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

  static AnswerTable<PipelineAnswer> fields();
};

/// \throws Refusal where something is missing or contradictory; RequestError for a schedule that cannot run
[[nodiscard]] PipelineAnswer answer(const PipelineRequest& request);

}  // namespace fabricost::plan
