#pragma once
/// \file rough_size.hpp
/// Approximate sizes, for places where the exact byte does not matter. Private to the sources.

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>

namespace fabricost {

/// "1.8 MiB", "219 KiB": binary units, one decimal below ten.
[[nodiscard]] inline std::string rough_size(double bytes) {
  static constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1023.5 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, bytes < 9.95 && bytes != std::floor(bytes) ? 1 : 0, units[unit]);
}

}  // namespace fabricost
