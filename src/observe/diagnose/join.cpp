/// Joins the readers of logs and traces to the readers of measurements, in every program that links them.

#include "diagnose/diagnose.hpp"
#include "readings/traces/readers.hpp"
#include "trace/points.hpp"

#include <fabricost/readings/points.hpp>

/// The linker is told to look for this name (src/observe/CMakeLists.txt), so that a static library keeps this file.
extern "C" {
extern const bool fabricost_observe_joined;
const bool fabricost_observe_joined = [] {
  fabricost::core::use_job_files({.is_trace = &fabricost::observe::is_trace,
                                  .points_of = &fabricost::observe::timeline::points_of,
                                  .contradiction = &fabricost::observe::contradiction,
                                  .usual_system = &fabricost::observe::usual_system});
  return true;
}();
}
