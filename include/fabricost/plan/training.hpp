#pragma once
/// \file training.hpp
/// Which layout trains a model fastest on a machine. The question is training_question.hpp, how it is searched training_search.hpp.

#include <fabricost/plan/training_search.hpp>

#include <algorithm>
#include <string>

namespace fabricost {

/// The fastest layouts. Deterministic. \throws RequestError when no layout is possible, saying why and what the nearest possible is
[[nodiscard]] inline TrainingPlan plan_training(const TrainingQuestion& question, const System& system) {
  check(question, system);
  TrainingPlan plan = detail::TrainingSearch{question, system}.run();
  if (plan.layouts.empty() && plan.nearest && plan.unfit == 1 && plan.bounded == 0) {  // one layout, given in full: priced all the same
    GroupCosts costs{system};
    plan.nearest->time = step_time(question.model, plan.nearest->layout, question.stack, Processor::of(system), costs);
    plan.layouts.push_back(*plan.nearest);
    plan.evaluated = 1;
    plan.unfit = 0;
  }
  if (!plan.layouts.empty() || plan.nearest) return plan;
  const std::string why = why_impossible(question.model, detail::stated(question));
  if (!why.empty()) throw RequestError(why);
  // no fault in what is stated: the rest found nothing, most often because replicas outnumber sequences or do not divide the batch
  const int most = std::min(question.gpus, question.global_batch);
  throw RequestError("no layout of " + std::to_string(question.gpus) + " GPUs divides a batch of " + std::to_string(question.global_batch) +
                     " sequences and the layers and heads of " + question.model.name + "; take " +
                     std::to_string(detail::nearest_divisor(question.global_batch, most)) + " GPUs, or another batch");
}

}  // namespace fabricost
