#pragma once
/// \file clock.hpp
/// Time of this program's own thread on the processor: what others run on the machine does not count.

#include <ctime>

namespace machines {

inline double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// How much slower a build may be that checks itself, or is not optimised.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
inline constexpr double patience = 20;
#else
inline constexpr double patience = 1;
#endif

}  // namespace machines
