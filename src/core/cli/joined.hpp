#pragma once
/// \file joined.hpp
/// Lists in messages.

#include <fabricost/namespaces.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace fabricost::cli {

/// "a, b, c"
template <class Names>
[[nodiscard]] std::string joined(const Names& names, std::string_view between = ", ") {
  return fmt::format("{}", fmt::join(names, between));
}

}  // namespace fabricost::cli
