/// \file this_machine.cpp
/// The figures of a measured machine.

#include <fabricost/answers/this_machine.hpp>

namespace fabricost {

std::vector<FigureAnswer> MachineAnswer::figures() const {
  std::vector<FigureAnswer> out;
  for (const MeasuredFigure& figure : made.figures) out.push_back({figure});
  return out;
}

ByName<std::string> MachineAnswer::facts() const {
  ByName<std::string> out;
  out.assign(made.facts.begin(), made.facts.end());
  return out;
}

std::vector<FindingAnswer> MachineAnswer::findings() const {
  std::vector<FindingAnswer> out;
  for (const MachineFinding& f : made.findings) out.push_back({f.cause, f.confidence, f.evidence, f.remedy});
  return out;
}

std::optional<FitAnswer> MachineAnswer::fit() const {
  return made.calibration ? std::optional{answer_of(*made.calibration)} : std::nullopt;
}

MachineAnswer answer(const CalibrateMachineRequest& request) {
  if (request.path.empty()) throw Refusal("which measurement? Name what fabricost measure wrote: <path>", true);
  return {calibrate_machine(request.path, {.system = request.system.name, .calibration = request.calibration, .date = request.date}), {}};
}

}  // namespace fabricost
