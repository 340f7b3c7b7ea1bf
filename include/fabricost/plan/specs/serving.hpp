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
    std::vector<std::string> gpus{};  ///< names of those that the runs were on
    int rows = 0;
  };
  /// Further standard deviations of what a stack was not fitted to, in quadrature: those with which nine in ten published figures are
  /// inside where a fit leaves out each model, each GPU, each generation of a stack, and what has prefill apart.
  struct Unseen {
    ServingSpread model{}, gpu{}, generation{}, apart{};
  };
  std::vector<ServingStack> stacks;                                   ///< as data/workloads/serving-stacks.yaml describes them
  std::map<Generation, ServingConstants> gpus;                        ///< those fitted
  std::map<std::string, std::map<Generation, PerGeneration>> fitted;  ///< by stack
  ServingStack common;                                                ///< what the constants of fitted stacks have in common
  Unseen unseen{};

  /// A stack as its file describes it, before any fit. \throws RequestError naming the known stacks
  [[nodiscard]] const ServingStack& described(std::string_view name) const;
  /// Constants of a generation without a fit: the geometric mean of the fitted ones, or the defaults.
  [[nodiscard]] ServingConstants constants(Generation g) const;
  /// A stack on a generation. If it was not fitted there: the geometric mean of its other generations, or what all stacks have in common
  /// with spreads widened by 30 %, which holds 90 % of TPOT and 85 % of TTFT of stacks left out. Spreads include what is `unseen` of a GPU
  /// or a generation and, if no inference kernels were fitted on the generation, assumed_kernels_spread (parameters/interval.hpp), in
  /// quadrature. \param gpu its name; empty: one that the runs were on \throws RequestError naming the known stacks
  [[nodiscard]] ServingStack stack(std::string_view name, Generation g, std::string_view gpu = {}) const;

 private:
  [[nodiscard]] ServingStack stack_of_engine(std::string_view name, Generation g, std::string_view gpu) const;
};
/// \throws SpecError with every fault of the two files
[[nodiscard]] ServingTable load_serving_table();

}  // namespace fabricost::plan
