#pragma once
/// \file nearest_plan.hpp
/// What to say where no layout of a job fits or keeps the limits: what comes nearest, what it lacks, and the smallest change that helps.
/// One wording for the command and the Python package.

#include <fabricost/compiled_part.hpp>
#include <fabricost/serving/plan.hpp>
#include <fabricost/training/plan.hpp>

#include <string>
#include <string_view>

namespace fabricost {

/// Training: the nearest layout, its GiB against a GPU's, and the cheapest change on as many GPUs (memory_advice.hpp).
/// \param nearest what plan_training gives where it finds no layout
[[nodiscard]] std::string nothing_fits(const TrainingQuestion& question, const System& system, const PricedLayout& nearest);

/// Training: a layout that is named and does not fit, its GiB against a GPU's, and the cheapest change that fits, as advice.
[[nodiscard]] std::string does_not_fit(const TrainingQuestion& question, const System& system, const PricedLayout& named);

/// How whoever asks writes what a remedy names.
struct ServingWords {
  std::string (*limits)(double ttft, double tpot);           ///< s; as in "--ttft 1.2 s --tpot 30 ms"
  std::string (*precision)(std::string_view weight_format);  ///< as in "--precision fp8"
  std::string_view together;                                 ///< how to have prefill and decode on the same GPUs
};

/// Serving: the limits that are missed and by whom least; or what the nearest layout lacks of memory, and which narrower weights (fp8,
/// fp4) or how many more GPUs (2, 4, 8, ... times as many, to 4,096) would do: searches of their own, without limits on time.
/// \param plan an answer of plan_serving without layouts \throws RequestError as plan_serving, for a narrower question that is impossible
[[nodiscard]] std::string nothing_found(const ServingQuestion& question, const System& system, const ServingPlan& plan,
                                        const ServingWords& words);

/// "tp 8 pp 1", of a mixture of experts " ep 8 dp 1" too.
[[nodiscard]] std::string engine_text(const EngineLayout& layout, bool mixture);

}  // namespace fabricost
