#pragma once
/// \file clock.hpp
/// Processor time of this program: other programs on the machine do not count.

#include <ctime>

namespace machines {

inline double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Allowed slow-down of a build with sanitizers or without optimisation.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
inline constexpr double patience = 20;
#else
inline constexpr double patience = 1;
#endif

}  // namespace machines
