/// \file diagnose.cpp
/// Reads a log and reports the diagnosis.

#include <fabricost/fields/field.hpp>

#include "answers/trace/diagnosis.hpp"

#include "diagnose/diagnose.hpp"

namespace fabricost::observe {

Diagnosis answer(const DiagnoseRequest& request) {
  if (request.log.empty()) throw Refusal("which log? Name a file that nccl-tests or NCCL wrote", true);
  check_ranges(request);
  if (request.system && request.system.name.empty())
    throw Refusal("<system>: a machine that has a name, or a file of its own, is compared with a log");
  if (!request.follow && detail::asks_of_traces(request)) return detail::diagnosis_of_traces(request);
  std::vector<std::filesystem::path> logs{request.log};
  logs.insert(logs.end(), request.more.begin(), request.more.end());
  return request.follow ? diagnose_while_it_runs(logs, request) : diagnose(logs, request);
}

}  // namespace fabricost::observe
