/// \file join.cpp
/// Joins the readers of logs and traces to the readers of measurements, in every program that links them.

#include "trace/points.hpp"

#include <fabricost/observe/diagnose/diagnose.hpp>
#include <fabricost/readings/job_files.hpp>

/// The linker is told to look for this name (src/observe/CMakeLists.txt), so that a static library keeps this file.
extern "C" {
extern const bool fabricost_observe_joined;
const bool fabricost_observe_joined = [] {
  fabricost::use_job_files({.is_trace = &fabricost::laid::is_trace,
                            .points_of = &fabricost::laid::points_of,
                            .contradiction = &fabricost::contradiction,
                            .usual_system = &fabricost::usual_system});
  return true;
}();
}
