#pragma once
/// \file calibrate_text.hpp
/// Fits as text.

#include "cli/page.hpp"

#include <fabricost/answers/calibrate.hpp>
#include <fabricost/answers/constants.hpp>

#include <string>

namespace fabricost::cli {

/// "12.3 us", or a plain number.
[[nodiscard]] std::string value_text(const FittedConstant& c, double value);
[[nodiscard]] std::string narrowed_text(const FittedConstant& c);

void text_of(Page& page, const Calibration& fit);
void text_of(Page& page, const KernelCalibration& fit);
void text_of(Page& page, const ConstantsAnswer& constants);

}  // namespace fabricost::cli
