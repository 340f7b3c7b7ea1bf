#pragma once
/// The remedy for a word that is not in a table of names.

#include <fabricost/specs/load.hpp>

#include "text/joined.hpp"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// "did you mean ring or tree?" of near names; `otherwise` where there are none.
[[nodiscard]] inline std::string did_you_mean(const std::vector<std::string>& near, const std::string& otherwise) {
  return near.empty() ? otherwise : fmt::format("did you mean {}?", joined(near, " or "));
}
[[nodiscard]] inline std::string near_or(std::string_view wanted, std::span<const std::string> names, const std::string& otherwise) {
  return did_you_mean(near_names(wanted, names), otherwise);
}
/// The same with the nearest alone, as a file spells it: "did you mean \"ring\"?".
[[nodiscard]] inline std::string nearest_or(std::string_view wanted, std::span<const std::string> names, const std::string& otherwise) {
  const std::vector<std::string> near = near_names(wanted, names);
  return near.empty() ? otherwise : fmt::format("did you mean \"{}\"?", near.front());
}

/// "did you mean ring?", or "one of: " and all names if none is near.
template <std::size_t N>
[[nodiscard]] std::string near_or_all(std::string_view wanted, const std::array<std::string_view, N>& names) {
  return near_or(wanted, std::vector<std::string>(names.begin(), names.end()), fmt::format("one of: {}", joined(names, " ")));
}

}  // namespace fabricost::core
