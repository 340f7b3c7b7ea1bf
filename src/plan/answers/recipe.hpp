#pragma once
/// Options of a training recipe that no program runs together. Private.

#include <fabricost/plan/answers/plan.hpp>

namespace fabricost::plan {

/// \throws Refusal for options that Megatron-Core, Transformer Engine or Megatron Bridge refuse together, naming the fields
void check_recipe(const PlanRequest& request, const TrainingQuestion& question, const System& system);

}  // namespace fabricost::plan
