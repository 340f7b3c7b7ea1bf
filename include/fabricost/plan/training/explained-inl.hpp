#pragma once
/// \file explained-inl.hpp
/// Bodies of explained.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/training/explained.hpp>

namespace fabricost::plan {

FABRICOST_BODY std::optional<PricedLayout> usual_layout(const TrainingQuestion& question, const System& system) {
  const Model& model = question.model;
  TrainingQuestion q = question;
  q.headroom = headroom_of(question);
  q.top = 1;
  q.zero = q.zero.value_or(1);
  q.microbatch = q.microbatch.value_or(1);
  q.cp = q.cp.value_or(1);
  const int node = std::min(system.gpus_per_node > 1 ? system.gpus_per_node : 8, system.domain);
  const auto fitting = [&](int tp, int pp, int ep, bool all_again) -> std::optional<PricedLayout> {
    q.tp = question.tp.value_or(tp);
    q.pp = question.pp.value_or(pp);
    if (model.mixture()) q.ep = question.ep.value_or(ep);
    for (const Recompute again : {Recompute::none, Recompute::selective, Recompute::full}) {
      if (question.recompute.value_or(again) != again || (again == Recompute::full && !all_again)) continue;
      q.recompute = again;
      try {
        TrainingPlan plan = plan_training(q, system);
        if (plan.fits && !plan.layouts.empty()) return plan.layouts.front();
      } catch (const RequestError&) {
        return std::nullopt;  // these ranks do not divide the job
      }
    }
    return std::nullopt;
  };
  int most_experts = 1;
  for (const int ep : divisors(std::max(1, model.experts), std::max(8, system.domain))) most_experts = std::max(most_experts, ep);
  for (const bool all_again : {question.recompute == Recompute::full, true})  // more stages rather than the whole forward again
    for (const int pp : divisors(question.gpus, model.layers)) {
      if (model.mixture()) {
        if (auto found = fitting(1, pp, most_experts, all_again)) return found;
        continue;
      }
      for (const int tp : divisors(node, node))
        if (pp == 1 || tp == node)
          if (auto found = fitting(tp, pp, 1, all_again)) return found;
    }
  return std::nullopt;
}

}  // namespace fabricost::plan
