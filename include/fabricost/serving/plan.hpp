#pragma once
/// \file plan.hpp
/// The deployment of a model on N GPUs with the highest tokens per second within limits on TTFT and TPOT.
///
/// The space: engines of tensor ranks x attention replicas x stages with split or distributed experts, as
/// many as fit the GPUs, at every batch size (batches.hpp); or prefill workers of one layout and decode
/// workers of another, in numbers that match their rates: n_p R_p = n_d R_d. Host memory is used only as far
/// as a batch needs it. For engines that do both prefill and decode, more memory, time, host memory or GPUs
/// never make the best deployment worse, since each only enlarges the space.
///
/// Limits of the space: at most 8,192 sequences per attention replica. GPUs may stay idle only on a machine
/// of at most 128 and only where that gives more throughput than any layout that uses all of them; on larger
/// machines, engines share the GPUs evenly. Expert groups above 16 ranks have no prime factor above 7. Only
/// 12 layouts of prefill workers are tried: first those within the limit on TTFT with the most prompts per
/// second and GPU, then the fastest. Pairs with other prefill layouts are neither priced nor counted.

#include <fabricost/serving/search.hpp>

#include <string>
#include <vector>

namespace fabricost {

/// The deployments of that space with the highest throughput. Deterministic. `layouts` is empty if none fits
/// or meets the limits; `nearest` or `nearest_fit` are then the closest ones. \throws RequestError when no
/// layout is possible, with the reason
[[nodiscard]] ServingPlan plan_serving(const ServingQuestion& question, const System& system);

/// Throughput against interactivity: the deployments and batches within the limits for which no other has
/// both more tokens per second and GPU and more per user; most per user first. Both ends, and between them
/// rows that differ by a tenth in one of the two rates. \throws as plan_serving
[[nodiscard]] std::vector<PricedServing> serving_pareto(const ServingQuestion& question, const System& system);

}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/serving/plan-inl.hpp>
#endif
