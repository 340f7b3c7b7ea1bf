#pragma once
/// \file calibrate_machine.hpp
/// fabricost calibrate, from the output of fabricost measure.

#include "cli/calibrate.hpp"

namespace fabricost::cli {

/// A CalibrateJob: the files of fabricost measure as a system file of this machine.
[[nodiscard]] std::optional<std::string> calibrate_machine_files(const CalibrateTyped& typed, bool json, const Terminal& terminal);

}  // namespace fabricost::cli
