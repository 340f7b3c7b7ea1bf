#pragma once
/// The serving constants by name: tables for reading and writing data/workloads/serving.yaml and for the fit.

#include <fabricost/plan/serving/constants.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <array>
#include <string_view>

namespace fabricost::plan {

/// One constant of a T, with the bounds of a fit (data/priors/serving-*.yaml, in SI units). `shared`
/// constants have one value for all GPU generations. `own` ones have a common factor with the table's spread,
/// and a factor per generation with half of it. `held` ones are read and written but not fitted.
template <class T>
struct ServingParameter : FitRange {
  enum class Fit : unsigned char { own, shared, held };
  std::string_view key;
  bool time = false;  ///< written with a unit
  double T::*member = nullptr;
  Fit fit = Fit::own;
};

using GpuFit = ServingParameter<ServingConstants>::Fit;
inline constexpr std::array<ServingParameter<ServingConstants>, 5> serving_gpu_parameters{{
    {prior::serving_gpu::kv_fit, "kv", false, &ServingConstants::kv},
    {prior::serving_gpu::experts_fit, "experts", false, &ServingConstants::experts},
    {prior::serving_gpu::experts4_fit, "experts4", false, &ServingConstants::experts4, GpuFit::shared},
    {prior::serving_gpu::weights8_fit, "weights8", false, &ServingConstants::weights8},
    {prior::serving_gpu::weights4_fit, "weights4", false, &ServingConstants::weights4},
}};

using StackFit = ServingParameter<ServingStack>::Fit;
inline constexpr std::array<ServingParameter<ServingStack>, 13> serving_stack_parameters{{
    {prior::serving_stack::stretch_fit, "stretch", false, &ServingStack::stretch, StackFit::shared},
    {prior::serving_stack::prefill_fit, "prefill", false, &ServingStack::prefill, StackFit::shared},
    {prior::serving_stack::starts_fit, "starts", false, &ServingStack::starts, StackFit::shared},
    {prior::serving_stack::step_fit, "step", true, &ServingStack::step, StackFit::shared},
    {prior::serving_stack::sequence_fit, "sequence", true, &ServingStack::sequence, StackFit::held},
    {prior::serving_stack::host_launch_fit, "host_launch", true, &ServingStack::host_launch},
    {prior::serving_stack::first_fit, "first", true, &ServingStack::first, StackFit::own},
    {prior::serving_stack::first_steps_fit, "first_steps", false, &ServingStack::first_steps, StackFit::held},
    {prior::serving_stack::handover_fit, "handover", true, &ServingStack::handover, StackFit::shared},
    {prior::serving_stack::bunching_fit, "bunching", false, &ServingStack::bunching, StackFit::shared},
    {prior::serving_stack::bunching_apart_fit, "bunching_apart", false, &ServingStack::bunching_apart, StackFit::shared},
    {prior::serving_stack::spread_tpot_fit, "spread_tpot", false, &ServingStack::spread_tpot, StackFit::held},
    {prior::serving_stack::spread_ttft_fit, "spread_ttft", false, &ServingStack::spread_ttft, StackFit::held},
}};

}  // namespace fabricost::plan
