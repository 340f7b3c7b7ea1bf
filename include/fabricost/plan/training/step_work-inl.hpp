#pragma once
/// \file step_work-inl.hpp
/// Bodies of step_work.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/training/step_work.hpp>

namespace fabricost::plan {

FABRICOST_BODY StepWork step_work(const Model& model, double sequence, double batch, double capacity, double document, bool frozen) {
  const double kept = capacity > 0 ? std::min(1.0, capacity) : 1;
  const double passes = frozen ? 2 : 3;  // forward and gradients of inputs and, trained, of weights
  const int mixed = model.expert_layers() + (model.mixture() ? model.predict_layers : 0);
  const double routed = 2 * passes * mixed * model.top_k * parameters_of(model).expert * sequence;
  const double attended = document > 0 ? std::min(document, sequence) : sequence;
  const double unlearned = frozen ? 2 * parameters_of(model).multiplied * sequence : 0;
  const auto count = [&](Scores scores) {
    const double all = sequence / attended * training_flops(model, attended, FlopConvention::matmul, scores);
    const double predicting = sequence / attended * passes * prediction_flops(model, attended, scores);
    return batch * (all + predicting - unlearned - (1 - kept) * routed);
  };
  return {count(Scores::full), count(Scores::causal), model.mixture()};
}

}  // namespace fabricost::plan
