#pragma once
/// Steps common to all fits to published rows: leaving groups out, numbering common values.

#include <algorithm>
#include <string>
#include <vector>

namespace fabricost::plan {

/// Whether a group or source is left out on request. \param leave_out names, or beginnings of names
[[nodiscard]] inline bool is_left_out(const std::string& name, const std::vector<std::string>& leave_out) {
  return std::any_of(leave_out.begin(), leave_out.end(), [&](const std::string& beginning) { return name.starts_with(beginning); });
}
inline constexpr const char* left_out_as_asked = "left out as asked";

/// The place of a value in a list, which gets it where it has none yet.
template <class T>
[[nodiscard]] int index_of(std::vector<T>& list, const T& wanted) {
  const auto at = std::find(list.begin(), list.end(), wanted);
  const auto index = static_cast<int>(at - list.begin());
  if (at == list.end()) list.push_back(wanted);
  return index;
}

}  // namespace fabricost::plan
