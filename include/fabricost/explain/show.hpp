#pragma once
/// \file show.hpp
/// A machine as text: its tiers with their one-way rates, the parts of its headline rate, the sources.

#include <fabricost/compiled_part.hpp>
#include <fabricost/hardware/system.hpp>

#include <cstddef>
#include <string>

namespace fabricost::core {

/// The text that `fabricost machine` prints: rates in GB/s, one way and per endpoint.
[[nodiscard]] std::string show(const System& system);

/// One-way rate of tier i over that of the next one outward; 0 for the last, or if unknown.
[[nodiscard]] double ratio_to_next(const System& system, std::size_t i);

}  // namespace fabricost::core
