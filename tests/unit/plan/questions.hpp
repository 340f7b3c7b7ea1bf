#pragma once
/// Trainings to plan.

#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/plan.hpp>

namespace fabricost::test {

using namespace observe;

/// A model trained with Megatron core, on all GPUs, the fastest layout first.
inline TrainingQuestion question(const char* model, int gpus, int batch, int sequence = 4096) {
  TrainingQuestion q;
  q.model = load_model(model);
  q.stack = load_stack("megatron-core");
  q.gpus = gpus;
  q.global_batch = batch;
  q.sequence = sequence;
  q.fewer = false;
  q.plain_within = 0;
  return q;
}

}  // namespace fabricost::test
