#pragma once
/// \file calibrate_text.hpp
/// Fits as text.

#include "cli/page.hpp"

#include <fabricost/answers/calibrate.hpp>
#include <fabricost/answers/constants.hpp>

#include <string>

namespace fabricost::cli {

void text_of(Page& page, const Calibration& fit);
void add_residuals(Page& page, const char* heading, const std::vector<ClassResidual>& classes);
void add_skipped(Page& page, const std::vector<Skipped>& skipped);
void text_of(Page& page, const ConstantsAnswer& constants);

}  // namespace fabricost::cli
