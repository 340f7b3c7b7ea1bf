#pragma once
/// \file calibration.hpp
/// Calibration files: the constants of price/, fitted somewhere, and for which machines they speak.

#include "specs/store.hpp"

#include <fabricost/hardware/system.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::io {

/// What was overridden by hand, so that it is no longer the machine that was measured.
struct Altered {
  bool inside = false;   ///< the GPU or the scale-up tier
  bool outside = false;  ///< the NICs or the network
};

/// Fills `system.constants`. \param calibration "" shipped, "none" prior, else a file \param kernels which shipped sets of kernels are read
void calibrate_system(System& system, SpecStore& library, std::string_view calibration, KernelSets kernels, Altered altered,
                      Faults& faults);

}  // namespace fabricost::io
