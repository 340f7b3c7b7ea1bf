#pragma once
/// \file step.hpp
/// A traced step by the use of its time, replayed, compared with a plan's, and what is notable in it as sentences.

#include "answers/trace/machine.hpp"
#include "trace/timeline.hpp"

#include <fabricost/observe/answers/trace.hpp>

#include <string>
#include <utility>
#include <vector>

namespace fabricost::observe::detail {

/// Seconds of a step, and its terms, which sum to it: means of the ranks.
[[nodiscard]] std::pair<double, std::vector<StepTerm>> step_of(const timeline::Job& job);

/// Replays the job on the requested machine. \throws Refusal where something is missing; RequestError, SpecError as load_system
void say_replay(const TraceRequest& request, const timeline::Job& job, TraceMachine& here, TraceAnswer& answer);

/// Compares with a plan's step. \param file as `plan --json` printed it \throws SpecError where it is no plan
void say_against(const std::string& file, TraceAnswer& answer);

/// Adds findings and notes, from all other fields of the answer.
void say_findings(TraceAnswer& answer);

}  // namespace fabricost::observe::detail
