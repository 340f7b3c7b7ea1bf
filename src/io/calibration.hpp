#pragma once
/// \file calibration.hpp
/// Calibration files: the constants of price/, fitted somewhere, and for which machines they speak.

#include "io/spec_store.hpp"

#include <fabricost/hardware/system.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::io {

/// Fills `system.constants`. \param calibration "" shipped, "none" prior, else a file; \param chain names of the specs the system
/// was laid from; \param altered the scale-up tier or the GPU was overridden by hand
void calibrate_system(System& system, SpecStore& library, std::string_view calibration, const std::vector<std::string>& chain, bool altered, Faults& faults);

}  // namespace fabricost::io
