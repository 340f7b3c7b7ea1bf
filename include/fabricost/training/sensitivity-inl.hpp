#pragma once
/// \file sensitivity-inl.hpp
/// Bodies of sensitivity.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/training/sensitivity.hpp>

namespace fabricost {

FABRICOST_BODY std::vector<StepSensitivity> sensitivity_of(const TrainingQuestion& question, const System& system, double seconds) {
  std::vector<StepSensitivity> out;
  TrainingQuestion one = question;
  one.top = 1;
  for_each_change(system, [&](const std::string& change, const System& other) {
    const TrainingPlan plan = plan_training(one, other);
    if (plan.layouts.empty()) return;
    const double now = plan.layouts.front().time.seconds;
    out.push_back({change, now, seconds / now - 1});
  });
  std::stable_sort(out.begin(), out.end(), [](const StepSensitivity& a, const StepSensitivity& b) { return a.gain > b.gain; });
  return out;
}

FABRICOST_BODY std::vector<PricedLayout> pareto_of(TrainingQuestion question, const System& system) {
  question.prune = false;
  question.top = 10000000;
  std::vector<PricedLayout> out;
  for (const PricedLayout& p : plan_training(question, system).layouts)  // fastest first
    if (out.empty() || p.memory.total() < out.back().memory.total()) out.push_back(p);
  return out;
}

}  // namespace fabricost
