#pragma once
/// A diagnosis of a job from its traces alone.

#include <fabricost/observe/diagnose/diagnose.hpp>
#include <fabricost/observe/answers/trace.hpp>

namespace fabricost::observe::detail {

/// Whether all logs of the request are traces of profilers; dumps that `diagnose` reads as such are not.
[[nodiscard]] bool asks_of_traces(const DiagnoseRequest& request);
[[nodiscard]] Diagnosis diagnosis_of_traces(const DiagnoseRequest& request);

}  // namespace fabricost::observe::detail
