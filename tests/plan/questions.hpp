#pragma once
/// \file questions.hpp
/// Trainings to plan.

#include <fabricost/io/load_model.hpp>
#include <fabricost/io/workload.hpp>
#include <fabricost/plan/training.hpp>

namespace fabricost::test {

/// A model trained with Megatron core.
inline TrainingQuestion question(const char* model, int gpus, int batch, int sequence = 4096) {
  TrainingQuestion q;
  q.model = load_model(model);
  q.stack = load_stack("megatron-core");
  q.gpus = gpus;
  q.global_batch = batch;
  q.sequence = sequence;
  return q;
}

}  // namespace fabricost::test
