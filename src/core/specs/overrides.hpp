#pragma once
/// One value of a spec replaced by hand.

#include "specs/tree.hpp"

#include <fabricost/namespaces.hpp>

#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::core {

/// Replaces the file's name in marks and messages: "overrides: nvlink.bandwidth".
inline constexpr std::string_view override_mark = "overrides: ";

/// Whether two values differ by no more than the digits that answers print.
inline bool is_same_as_printed(double a, double b) { return std::fabs(a - b) <= 5e-4 * std::fabs(b); }

/// PATH and VALUE of each override. \throws Refusal when there is no '='
[[nodiscard]] std::vector<std::pair<std::string, std::string>> split_overrides(std::span<const std::string> overrides);

/// True for a path into the GPU's own file: gpu.X, hbm.X, l2.X, tiers.hbm.X. `path` then becomes the path there.
[[nodiscard]] bool is_gpu_path(std::string& path);

/// Replaces the value at `path`: keys joined by dots, tiers by name (`tiers.nvlink.bandwidth`, or just `nvlink.bandwidth`) or index
/// (`tiers[0].bandwidth`). \throws SpecError when the path leads nowhere
void apply_override(SpecNode& tree, const std::string& path, const std::string& value);

}  // namespace fabricost::core
