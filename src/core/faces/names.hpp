#pragma once
/// \file names.hpp
/// Names in messages.

#include <fabricost/fields/fields.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace fabricost::faces {

/// "a, b, c"
template <class Names>
[[nodiscard]] std::string joined(const Names& names, std::string_view between = ", ") {
  return fmt::format("{}", fmt::join(names, between));
}

using fabricost::unknown_text;

}  // namespace fabricost::faces
