#pragma once
/// What a training job must have, and options of its recipe that no program runs together. Private.

#include <fabricost/plan/answers/plan.hpp>

namespace fabricost::plan {

/// \throws Refusal naming what is missing of a model, GPUs and a batch; RequestError as check_ranges
void need_job(const PlanRequest& request);

/// \throws Refusal for options that Megatron-Core, Transformer Engine or Megatron Bridge refuse together, naming the fields
void check_recipe(const PlanRequest& request, const TrainingQuestion& question, const System& system);

}  // namespace fabricost::plan
