/// \file diagnose.cpp
/// Reads a log and reports the diagnosis.

#include <fabricost/fields/field.hpp>
#include <fabricost/observe/answers/diagnose.hpp>

#include "answers/trace/diagnosis.hpp"

#include <fabricost/observe/diagnose/diagnose.hpp>

#include <fmt/format.h>

namespace fabricost::observe {

DiagnosisAnswer answer(const DiagnoseRequest& request) {
  if (request.log.empty()) throw Refusal("which log? Name a file that nccl-tests or NCCL wrote", true);
  check_ranges(request);
  if (request.system && request.system.name.empty())
    throw Refusal("<system>: a machine that has a name, or a file of its own, is compared with a log");
  if (!request.follow && detail::asks_of_traces(request)) return detail::diagnosis_of_traces(request);
  std::vector<std::filesystem::path> logs{request.log};
  logs.insert(logs.end(), request.more.begin(), request.more.end());
  const PointSource said = stated(request.system.name, request.nodes, request.ranks, request.launch, request.library);
  const DiagnosisRequest asked{.system = request.system.name,
                               .nodes = request.nodes,
                               .ranks = request.ranks,
                               .expected = request.expected,
                               .overrides = request.system.overrides,
                               .calibration = request.system.calibration,
                               .against = request.against,
                               .otherwise = said};
  const Diagnosis d = request.follow ? diagnose_while_it_runs(logs, asked) : diagnose(logs, asked);
  DiagnosisAnswer out{.state = std::string{name(d.state)},
                      .healthy = d.healthy,
                      .verdict = d.verdict,
                      .normal = d.normal,
                      .system = d.system,
                      .system_guessed = d.system_guessed,
                      .basis = std::string{name(d.basis)},
                      .notes = d.notes};
  if (!d.system.empty()) out.compared_with = d.system;
  for (const Finding& f : d.causes) out.causes.push_back({std::string{name(f.cause)}, f.confidence, f.evidence, f.remedy, f.what, f.rule,
                                                           fmt::format("docs/causes.md#{}", name(f.cause))});
  for (const NextQuestion& q : d.next) out.next.push_back({q.ask, q.tells, q.bits});
  for (const RuleSeen& r : d.rules) out.rules.push_back({r.rule, std::string{name(r.cause)}, r.weight});
  for (const ComparedSize& s : d.sizes)
    out.sizes.push_back({std::string{name(s.operation.collective)}, s.operation.bytes, s.ranks, s.operation.nodes, units::s(s.measured),
                         units::s(s.predicted), units::s(s.low), units::s(s.high), units::B_per_s(s.bus), s.measured / s.predicted});
  for (const Difference& one : d.differences) out.differences.push_back({one.what, one.here, one.there});
  return out;
}

}  // namespace fabricost::observe
