#pragma once
/// \file load_constants.hpp
/// Calibration files: fitted constants of price/, and the machines they apply to.

#include "specs/store.hpp"

#include <fabricost/hardware/system.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// Parts overridden by hand, which therefore differ from the measured machine.
struct OverriddenParts {
  bool inside = false;   ///< the GPU or the scale-up tier
  bool outside = false;  ///< the NICs or the network
};

/// Fills `system.constants`. \param calibration "" shipped, "none" prior, else a file \param kernels shipped
/// sets of kernels to read \param chain names of the machines that this one extends, and its own (SpecStore::resolve)
void load_constants(System& system, SpecStore& library, std::string_view calibration, KernelSets kernels, OverriddenParts altered,
                      const std::vector<std::string>& chain, Faults& faults);

}  // namespace fabricost::core
