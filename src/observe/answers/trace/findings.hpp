#pragma once
/// \file findings.hpp
/// The notable findings in a job's traces, as sentences.

#include <fabricost/observe/answers/trace.hpp>

namespace fabricost::observe::detail {

/// Adds findings and notes, from all other fields of the answer.
void say_findings(TraceAnswer& answer);

}  // namespace fabricost::observe::detail
