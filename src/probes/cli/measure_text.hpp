#pragma once
/// Results of a measurement, or its plan, as text.

#include "cli/page.hpp"

#include <fabricost/probes/answers/this_machine.hpp>

namespace fabricost::cli {

void text_of(Page& page, const MeasureAnswer& a);
void text_of(Page& page, const MeasurePlanAnswer& a);

}  // namespace fabricost::cli
