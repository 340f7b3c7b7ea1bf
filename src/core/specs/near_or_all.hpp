#pragma once
/// \file near_or_all.hpp
/// The remedy for a word that is not in a table of names.

#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// "did you mean ring?", or "one of: " and all names if none is near.
template <std::size_t N>
[[nodiscard]] std::string near_or_all(std::string_view wanted, const std::array<std::string_view, N>& names) {
  const std::vector<std::string> all(names.begin(), names.end());
  const auto near = near_names(wanted, all);
  return near.empty() ? fmt::format("one of: {}", fmt::join(names, " ")) : fmt::format("did you mean {}?", fmt::join(near, " or "));
}

}  // namespace fabricost::core
