#pragma once
/// \file plan-inl.hpp
/// Bodies of plan.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/serving/plan.hpp>

namespace fabricost {

FABRICOST_BODY ServingPlan plan_serving(const ServingQuestion& question, const System& system) {
  check(question, system);
  return detail::ServingSearch{question, system}.run();
}

FABRICOST_BODY std::vector<PricedServing> serving_pareto(const ServingQuestion& question, const System& system) {
  check(question, system);
  return detail::ServingSearch{question, system}.pareto();
}

}  // namespace fabricost
