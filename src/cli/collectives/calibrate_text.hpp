#pragma once
/// \file calibrate_text.hpp
/// Fits of all kinds as text.

#include "cli/page.hpp"

#include <fabricost/answers/constants.hpp>
#include <fabricost/evaluation/calibrate.hpp>
#include <fabricost/machine/this_machine.hpp>

namespace fabricost::cli {

void text_of(Page& page, const Calibration& fit);
void text_of(Page& page, const KernelCalibration& fit);
void text_of(Page& page, const TrainingFit& fit);
void text_of(Page& page, const ServingFit& fit);
void text_of(Page& page, const ConstantsAnswer& constants);
/// \param written the file that it was written to
void text_of(Page& page, const ThisMachine& machine, const std::string& written);

}  // namespace fabricost::cli
