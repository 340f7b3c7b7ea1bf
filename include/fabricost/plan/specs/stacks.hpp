#pragma once
/// \file stacks.hpp
/// Software stacks: those of data/stacks, with their factors fitted to published rows (data/workloads).

#include <fabricost/compiled_part.hpp>
#include <fabricost/plan/kernels/stack.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::plan {

/// A software stack of data/stacks, or a YAML file. \throws SpecError, RequestError as load_system
[[nodiscard]] Stack load_stack(std::string_view name_or_path);
[[nodiscard]] std::vector<std::string> stack_names();
/// Those whose published steps were of this generation. \throws SpecError
[[nodiscard]] std::vector<std::string> stacks_fitted_on(Generation generation);

/// Which groups of published rows are evaluated, and which are excluded, with the reason
/// (data/workloads/training-groups.yaml).
struct TrainingGroups {
  std::vector<std::string> judged;
  std::vector<std::string> fitted;                             ///< besides the judged ones
  std::vector<std::string> kernels;                            ///< of ops.csv, fitted
  std::vector<std::string> unscaled;                           ///< stacks and groups of kernels whose factor a fit holds at 1
  std::vector<std::pair<std::string, std::string>> set_aside;  ///< prefix of the name, reason
};
[[nodiscard]] TrainingGroups load_training_groups();

/// The factor of a publisher's clocks on the arithmetic of products, and the standard deviation in log of the
/// rest: data/workloads/stacks.yaml by the group's name; 1 and 15 % for a group without a fit.
[[nodiscard]] Stack published_kernels(std::string_view group);

}  // namespace fabricost::plan
