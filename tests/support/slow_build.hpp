#pragma once
/// \file slow_build.hpp
/// What tests allow for in a build without optimisation or with sanitizers.

#include <cstdlib>

namespace support {

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
inline constexpr bool slow_build = false;
#else
inline constexpr bool slow_build = true;
#endif

/// Allowed slow-down.
inline constexpr double patience = slow_build ? 20 : 1;

/// Of so many random draws of a property: all of them, or FABRICOST_DRAWS times as many; a tenth in a slow build, which looks for what a few show.
inline int draws(int many) {
  static const char* const times = std::getenv("FABRICOST_DRAWS");
  return slow_build ? many / 10 : times == nullptr ? many : static_cast<int>(many * std::atof(times));
}

}  // namespace support
