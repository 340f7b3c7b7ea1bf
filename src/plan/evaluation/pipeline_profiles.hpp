#pragma once
/// \file pipeline_profiles.hpp
/// Stage times measured with one layout, scaled to others in proportion to layers, to the FLOPs of a layer,
/// and to tokens plus the tokens needed to fill a GPU.

#include <fabricost/plan/pipeline/schedule.hpp>

#include <string>
#include <vector>

namespace fabricost::plan {

/// The pipeline of stage times. Counts are 0 if unknown.
struct PipelineSetting {
  std::string model;
  int layers = 0, hidden = 0, heads = 0, sequence = 0, stages = 0, microbatch = 0;
  [[nodiscard]] double tokens() const { return static_cast<double>(microbatch) * sequence; }
  [[nodiscard]] bool complete() const { return layers > 0 && hidden > 0 && heads > 0 && sequence > 0 && stages > 0 && microbatch > 0; }
  /// Layers of a stage: the first and last have one fewer, for the embedding and the logits (Qi 2023).
  [[nodiscard]] double stage_layers() const { return (layers + 2.0) / stages; }
  /// Fraction of a layer's activations that W holds: 32 of 34 + 5 a s / h (Qi 2023; Korthikanti 2022).
  [[nodiscard]] double held_for_weight() const { return 32 / (34 + 5.0 * heads * sequence / hidden); }
};

struct PipelineProfile {
  PipelineSetting setting;
  StageTimes times;
};

/// The contents of data/workloads/pipeline.yaml.
struct PipelineStack {
  double stretch = 0, filling_tokens = 0;
  std::vector<PipelineProfile> profiles;
};

/// \throws SpecError
[[nodiscard]] PipelineStack load_pipeline_stack();

/// Times at `wanted`, scaled from a profile of the same model or of the nearest width. \param profiles not
/// empty
[[nodiscard]] StageTimes scaled_times(const std::vector<PipelineProfile>& profiles, double filling_tokens, const PipelineSetting& wanted);

}  // namespace fabricost::plan
