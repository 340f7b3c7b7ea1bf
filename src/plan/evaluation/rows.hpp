#pragma once
/// Leaving groups out of a fit to published rows.

#include <algorithm>
#include <string>
#include <vector>

namespace fabricost::plan {

/// Whether a group or source is left out on request. \param leave_out names, or beginnings of names
[[nodiscard]] inline bool is_left_out(const std::string& name, const std::vector<std::string>& leave_out) {
  return std::any_of(leave_out.begin(), leave_out.end(), [&](const std::string& beginning) { return name.starts_with(beginning); });
}
inline constexpr const char* left_out_as_asked = "left out as asked";

}  // namespace fabricost::plan
