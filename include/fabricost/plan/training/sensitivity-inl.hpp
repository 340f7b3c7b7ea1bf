#pragma once
/// \file sensitivity-inl.hpp
/// Bodies of sensitivity.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/training/sensitivity.hpp>

namespace fabricost::plan {

FABRICOST_BODY std::vector<StepSensitivity> sensitivity_of(const TrainingQuestion& question, const System& system) {
  std::vector<StepSensitivity> out;
  TrainingQuestion one = question;
  one.top = 1;
  one.plain_within = 0;
  one.batch_within = 0;
  const TrainingPlan before = plan_training(one, system);
  if (before.layouts.empty()) return out;
  for_each_change(system, [&](const std::string& change, const System& other) {
    const TrainingPlan plan = plan_training(one, other);
    if (plan.layouts.empty()) return;
    const double now = plan.layouts.front().time.seconds;
    out.push_back({change, now, before.layouts.front().time.seconds / now - 1});
  });
  std::stable_sort(out.begin(), out.end(), [](const StepSensitivity& a, const StepSensitivity& b) { return a.gain > b.gain; });
  return out;
}

FABRICOST_BODY std::vector<PricedLayout> pareto_of(TrainingQuestion question, const System& system) {
  std::vector<PricedLayout> out;
  question.top = 1;
  question.plain_within = 0;
  const TrainingPlan fastest = plan_training(question, system);
  if (fastest.layouts.empty()) return out;
  question.gpus = fastest.layouts.front().layout.gpus();
  question.global_batch = fastest.layouts.front().layout.global_batch;
  question.prune = false;
  question.top = 10000000;
  for (const PricedLayout& p : plan_training(question, system).layouts)  // fastest first
    if (out.empty() || p.memory.total() < out.back().memory.total()) out.push_back(p);
  return out;
}

}  // namespace fabricost::plan
