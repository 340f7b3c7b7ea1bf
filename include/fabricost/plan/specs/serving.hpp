#pragma once
/// Serving stacks of data/workloads, with the constants fitted for each on each GPU generation.

#include <fabricost/compiled_part.hpp>
#include <fabricost/plan/serving/serving.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// Fitted constants of GPU generations and stacks (data/workloads/serving.yaml).
struct ServingTable {
  struct PerGeneration {
    ServingStack stack;
    int rows = 0;
  };
  std::vector<ServingStack> stacks;                                   ///< as data/workloads/serving-stacks.yaml describes them
  std::map<Generation, ServingConstants> gpus;                        ///< those fitted
  std::map<std::string, std::map<Generation, PerGeneration>> fitted;  ///< by stack
  ServingStack common;                                                ///< what the constants of fitted stacks have in common

  /// A stack as its file describes it, before any fit. \throws RequestError naming the known stacks
  [[nodiscard]] const ServingStack& described(std::string_view name) const;
  /// Constants of a generation without a fit: the geometric mean of the fitted ones, or the defaults.
  [[nodiscard]] ServingConstants constants(Generation g) const;
  /// A stack on a generation. If it was not fitted there: the geometric mean of its other generations, or what all stacks have in common, with
  /// spreads widened by 30 %. If no inference kernels were fitted on the generation, assumed_kernels_spread
  /// (parameters/interval.hpp) is added in quadrature.
  /// \throws RequestError naming the known stacks
  [[nodiscard]] ServingStack stack(std::string_view name, Generation g) const;

 private:
  [[nodiscard]] ServingStack stack_of_engine(std::string_view name, Generation g) const;
};
/// \throws SpecError with every fault of the two files
[[nodiscard]] ServingTable load_serving_table();

}  // namespace fabricost::plan
