#pragma once
/// \file clock.hpp
/// Processor time of this program: other programs on the machine do not count.

#include <ctime>

namespace machines {

inline double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace machines
