#pragma once
/// \file measure_text.hpp
/// Results of a measurement, or its plan, as text and as JSON.

#include <fabricost/answers/this_machine.hpp>

#include <string>

namespace fabricost::cli {

struct Terminal;

[[nodiscard]] std::string text_of(const MeasureAnswer& a, const Terminal& terminal);
[[nodiscard]] std::string text_of(const MeasurePlanAnswer& a, const Terminal& terminal);

}  // namespace fabricost::cli
