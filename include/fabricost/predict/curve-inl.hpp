#pragma once
/// Bodies of curve.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/predict/compile.hpp>
#include <fabricost/predict/curve.hpp>

namespace fabricost::core {

FABRICOST_BODY Curve compile(const System& system, const Operation& operation, const Choice& choice) {
  Curve curve = compile_lines(system, operation, choice);
  curve.tabulate();
  return curve;
}

}  // namespace fabricost::core
