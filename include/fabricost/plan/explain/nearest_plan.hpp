#pragma once
/// Advice when no layout of a job fits or meets the limits: the nearest one, what it lacks, and the smallest
/// change that helps. Changes are in angle brackets, as in a Refusal: <precision=fp8>.

#include <fabricost/compiled_part.hpp>
#include <fabricost/plan/serving/plan.hpp>
#include <fabricost/plan/training/plan.hpp>

#include <string>

namespace fabricost::plan {

/// Training: the nearest layout, its GiB against a GPU's, and the cheapest change on the same number of GPUs
/// (memory/advice.hpp). \param nearest from a plan_training that finds no layout
[[nodiscard]] std::string nothing_fits(const System& system, const TrainingQuestion& question, const PricedLayout& nearest);

/// Training: a requested layout that does not fit, its GiB against a GPU's, and the cheapest change that
/// fits.
[[nodiscard]] std::string does_not_fit(const System& system, const TrainingQuestion& question, const PricedLayout& named);

/// Training: what waits less than the fastest layout, where that one mostly waits for its pipeline: another layout than the requested
/// one, another batch, fewer GPUs; each is a search. Empty where it computes more than it waits.
[[nodiscard]] std::string mostly_waits(const System& system, const TrainingQuestion& question, const PricedLayout& best);

/// Training: the step with activations of an eighth of the layers or more in host memory, where a searched layout saves memory otherwise and
/// takes longer by more than a plainer one may; else empty. A search keeps no activations there by itself.
[[nodiscard]] std::string with_activations_on_host(const System& system, const TrainingQuestion& question, const PricedLayout& best);

/// Serving: the limits that are missed and the smallest violation; or the memory the nearest layout lacks,
/// and which narrower weights (fp8, fp4) or larger number of GPUs (2, 4, 8, ... times as many, to 4,096)
/// would fit: separate searches without limits on time.
/// \param plan an answer of plan_serving without layouts \throws RequestError as plan_serving, for a narrower
/// request that is impossible
[[nodiscard]] std::string nothing_found(const System& system, const ServingQuestion& question, const ServingPlan& plan);

/// "tp 8 pp 1 ep 8 dp 2"; ep and dp only where they are above 1.
[[nodiscard]] std::string engine_text(const EngineLayout& layout);

}  // namespace fabricost::plan
