#pragma once
/// The deployment of a model on N GPUs with the highest tokens per second within limits on TTFT and TPOT.
///
/// The space: engines of tensor ranks x attention replicas x stages with experts split over all ranks, distributed over all, or, where the
/// engine can (ServingKernels::divides_experts), both; as many as the GPUs hold, at every batch size (src/plan/serving/batches.hpp); or
/// prefill workers of any such layout and decode workers of any other, in all numbers, on all GPUs together or the same in every domain
/// (beside it, workers.hpp). Host memory is used only as far as a batch needs it. GPUs may stay idle. A looser limit, more memory, host
/// memory or GPUs never make the best deployment worse, since each only enlarges the space; sizes that are given only make it smaller.
///
/// Limits of the space: tensor ranks are in one domain, at most 16 stages, at most 8,192 sequences per attention replica. Stages of more
/// than 16 ranks have no prime factor above 7. Of the deployments that leave GPUs idle only the best is listed, where it is the best of
/// all.

#include <fabricost/plan/serving/question.hpp>

#include <vector>

namespace fabricost::plan {

/// The deployments of that space with the highest throughput, within `usual_ttft` where no limit on TTFT is given. Deterministic. `layouts`
/// is empty if none fits or meets the limits; `nearest` or `nearest_fit` are then the closest ones. \throws RequestError when no layout is
/// possible, with the reason
[[nodiscard]] ServingPlan plan_serving(const System& system, const ServingQuestion& question);

/// Throughput against interactivity: the deployments and batches within the limits for which no other has
/// both more tokens per second and GPU and more per user; most per user first. Both ends, and between them
/// rows that differ by a tenth in one of the two rates. \throws as plan_serving
[[nodiscard]] std::vector<PricedServing> serving_pareto(const System& system, const ServingQuestion& question);

/// Engines that hold the weights and a sequence for each attention replica. \throws as plan_serving
[[nodiscard]] std::vector<EngineLayout> engine_layouts(const System& system, const ServingQuestion& question);

}  // namespace fabricost::plan
