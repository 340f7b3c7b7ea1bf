#pragma once
/// \file nearest_plan.hpp
/// What to say where no layout of a job fits or keeps the limits: what comes nearest, what it lacks, and the smallest change that helps.
/// What a remedy changes stands in angle brackets, as a Refusal names fields: <precision=fp8>.

#include <fabricost/compiled_part.hpp>
#include <fabricost/serving/plan.hpp>
#include <fabricost/training/plan.hpp>

#include <string>

namespace fabricost {

/// Training: the nearest layout, its GiB against a GPU's, and the cheapest change on as many GPUs (memory_advice.hpp).
/// \param nearest what plan_training gives where it finds no layout
[[nodiscard]] std::string nothing_fits(const TrainingQuestion& question, const System& system, const PricedLayout& nearest);

/// Training: a layout that is named and does not fit, its GiB against a GPU's, and the cheapest change that fits, as advice.
[[nodiscard]] std::string does_not_fit(const TrainingQuestion& question, const System& system, const PricedLayout& named);

/// Serving: the limits that are missed and by whom least; or what the nearest layout lacks of memory, and which narrower weights (fp8,
/// fp4) or how many more GPUs (2, 4, 8, ... times as many, to 4,096) would do: searches of their own, without limits on time.
/// \param plan an answer of plan_serving without layouts \throws RequestError as plan_serving, for a narrower question that is impossible
[[nodiscard]] std::string nothing_found(const ServingQuestion& question, const System& system, const ServingPlan& plan);

/// "tp 8 pp 1", of a mixture of experts " ep 8 dp 1" too.
[[nodiscard]] std::string engine_text(const EngineLayout& layout, bool mixture);

}  // namespace fabricost
