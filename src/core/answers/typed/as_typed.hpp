#pragma once
/// \file as_typed.hpp
/// Numbers written back as people type them.

#include <fabricost/fields/fields.hpp>

#include <string>
#include <string_view>

namespace fabricost::core {

/// "18.5ms" for 0.0185 seconds: a number in the notation of its amount; other values are unchanged.
[[nodiscard]] std::string as_typed(std::string_view value, Amount amount);

}  // namespace fabricost::core
