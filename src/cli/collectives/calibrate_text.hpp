#pragma once
/// \file calibrate_text.hpp
/// Fits of all kinds as text.

#include "cli/runner.hpp"

#include <fabricost/answers/constants.hpp>
#include <fabricost/evaluation/calibrate.hpp>
#include <fabricost/machine/this_machine.hpp>

#include <string>

namespace fabricost::cli {

[[nodiscard]] std::string text_of(const Calibration& fit, const Terminal& terminal);
[[nodiscard]] std::string text_of(const KernelCalibration& fit, const Terminal& terminal);
[[nodiscard]] std::string text_of(const TrainingFit& fit, const Terminal& terminal);
[[nodiscard]] std::string text_of(const ServingFit& fit, const Terminal& terminal);
[[nodiscard]] std::string text_of(const ConstantsAnswer& constants, const Terminal& terminal);
/// \param written the file that it was written to
[[nodiscard]] std::string text_of(const ThisMachine& machine, const std::string& written, const Terminal& terminal);

}  // namespace fabricost::cli
