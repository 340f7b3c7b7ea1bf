#pragma once
/// Software stacks: those of data/stacks, with their factors fitted to published rows (data/workloads).

#include <fabricost/compiled_part.hpp>
#include <fabricost/plan/kernels/stack.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// A software stack of data/stacks, or a YAML file. \throws SpecError, RequestError as load_system
[[nodiscard]] Stack load_stack(std::string_view name_or_path);
[[nodiscard]] std::vector<std::string> stack_names();
/// Those whose published steps were of this generation. \throws SpecError
[[nodiscard]] std::vector<std::string> stacks_fitted_on(Generation generation);

/// The factor of a publisher's clocks on the arithmetic of products, and the standard deviation in log of the
/// rest: data/workloads/stacks.yaml by the group's name; 1 and 15 % for a group without a fit.
[[nodiscard]] Stack published_kernels(std::string_view group);

}  // namespace fabricost::plan
