#pragma once
/// Values to compare one after the other, as a tuple would, for a fraction of its compile time.

#include <fabricost/namespaces.hpp>

#include <array>

namespace fabricost::core {

/// Numbers, flags and enumerators below 2^53, each exactly as a double.
template <class... Value>
[[nodiscard]] constexpr std::array<double, sizeof...(Value)> in_order(Value... values) {
  return {static_cast<double>(values)...};
}

}  // namespace fabricost::core
