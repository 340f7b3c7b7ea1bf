#pragma once
/// What tests allow for in a build without optimisation or with sanitizers.

#include "support/number_of.hpp"

namespace support {

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
inline constexpr bool slow_build = false;
#else
inline constexpr bool slow_build = true;
#endif

/// Of so many random draws of a property: all of them, or FABRICOST_DRAWS times as many; a tenth in a slow build, which looks for what a few show.
inline int draws(int many) { return slow_build ? many / 10 : many * static_cast<int>(number_of("FABRICOST_DRAWS", 1)); }

}  // namespace support
