#pragma once
/// \file plan.hpp
/// Which deployment of a model on N GPUs answers most tokens per second within limits on TTFT and TPOT.
///
/// The space: engines of tensor ranks x attention replicas x stages with experts cut or divided, as many as fit the GPUs; every batch
/// (serving_batches.hpp); or prefill workers of one layout and decode workers of another, in the numbers that match their rates:
/// n_p R_p = n_d R_d. What may lie in the host's memory lies there only as far as a batch needs it. Of engines that do both, more memory,
/// more time, more room on the host and more GPUs of a machine never make the best worse: each only adds to what is chosen from.
///
/// Where it is cut: batches end at 8,192 sequences an attention replica. GPUs stay idle only within a machine of at most 128, and only
/// where that answers more than any layout that uses them all; beyond it engines share the GPUs evenly. Groups of experts' ranks above 16
/// have no prime factor above 7. Of the layouts of prefill workers 12 are tried, those that keep the limit on TTFT with most prompts per
/// second and GPU first, then the quickest; pairs with the others are neither priced nor counted.

#include <fabricost/serving/search.hpp>

#include <string>
#include <vector>

namespace fabricost {

/// The deployments of that space that answer most. Deterministic. Empty `layouts` where none fits or keeps the limits: `nearest` or
/// `nearest_fit` say which comes closest. \throws RequestError when no layout is possible, saying why
[[nodiscard]] inline ServingPlan plan_serving(const ServingQuestion& question, const System& system) {
  check(question, system);
  return detail::ServingSearch{question, system}.run();
}

/// Throughput against interactivity: deployments and batches within the limits that none other beats in tokens per second and GPU without
/// being slower for a user, most per user first. Both ends, and between them rows that differ by a tenth in one of the two. \throws as
/// plan_serving
[[nodiscard]] inline std::vector<PricedServing> serving_pareto(const ServingQuestion& question, const System& system) {
  check(question, system);
  return detail::ServingSearch{question, system}.pareto();
}

}  // namespace fabricost
