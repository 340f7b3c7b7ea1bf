#pragma once
/// \file parameters.hpp
/// The constants of serving by name: the reader of data/workloads/serving.yaml, its writer and the fit walk these tables.

#include <fabricost/serving/constants.hpp>

#include <array>
#include <string_view>

namespace fabricost {

/// One constant of a T. `spread` is the standard deviation, in log, around its prior before anything was measured; `shared` ones have one
/// value for all GPU generations, `own` ones a common factor of that spread and one of each generation of half of it, `held` ones are
/// written and read but not fitted.
template <class T>
struct ServingParameter {
  enum class Fit : unsigned char { own, shared, held };
  std::string_view key;
  bool time = false;  ///< written with a unit
  double T::*member = nullptr;
  double least = 0, most = 0;  ///< in SI units
  Fit fit = Fit::own;
  double spread = 0.3;
};

using GpuFit = ServingParameter<ServingConstants>::Fit;
inline constexpr std::array<ServingParameter<ServingConstants>, 9> serving_gpu_parameters{{
    {"kernel", true, &ServingConstants::kernel, 1e-7, 1e-4},
    {"memory", false, &ServingConstants::memory, 0.1, 1, GpuFit::held},
    {"kv", false, &ServingConstants::kv, 0.05, 1, GpuFit::own, 0.2},
    {"gemm", false, &ServingConstants::gemm, 0.05, 1, GpuFit::own, 0.2},
    {"gemm_fp8", false, &ServingConstants::gemm_fp8, 0.05, 1.5, GpuFit::shared, 0.2},
    {"gemm_fp4", false, &ServingConstants::gemm_fp4, 0.05, 1.5, GpuFit::shared, 0.2},
    {"experts", false, &ServingConstants::experts, 0.01, 1, GpuFit::own, 0.4},
    {"attention", false, &ServingConstants::attention, 0.05, 1, GpuFit::own, 0.3},
    {"elementwise", false, &ServingConstants::elementwise, 0.1, 50, GpuFit::own, 0.2},
}};

using StackFit = ServingParameter<ServingStack>::Fit;
inline constexpr std::array<ServingParameter<ServingStack>, 12> serving_stack_parameters{{
    {"stretch", false, &ServingStack::stretch, 0.2, 5, StackFit::shared, 0.1},
    {"step", true, &ServingStack::step, 0, 0.1, StackFit::shared},
    {"sequence", true, &ServingStack::sequence, 0, 1e-3, StackFit::held},
    {"interference", false, &ServingStack::interference, 0, 3, StackFit::shared, 0.2},
    {"host_launch", true, &ServingStack::host_launch, 0, 1e-2},
    {"first", true, &ServingStack::first, 0, 10, StackFit::own, 0.7},
    {"first_steps", false, &ServingStack::first_steps, 0, 100, StackFit::held, 0.5},
    {"handover", true, &ServingStack::handover, 0, 10, StackFit::shared, 0.7},
    {"bunching", false, &ServingStack::bunching, 0, 1, StackFit::shared, 0.4},
    {"bunching_apart", false, &ServingStack::bunching_apart, 0, 1, StackFit::own, 0.4},
    {"spread_tpot", false, &ServingStack::spread_tpot, 0.01, 3, StackFit::held},
    {"spread_ttft", false, &ServingStack::spread_ttft, 0.01, 3, StackFit::held},
}};

}  // namespace fabricost
