/// \file validate.cpp
/// Compares measured points with predictions.

#include <fabricost/answers/validate.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/readings/points.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace fabricost::core {

PointDefaults stated(std::string system, int nodes, int ranks, std::optional<LaunchMode> launch, const std::optional<Inference>& library) {
  if (library && !is_nccl(*library))
    throw Refusal("<library>: of measured runs a release of NCCL, as in <library=nccl-2.18>; engines are named in the points");
  PointDefaults out{.system = std::move(system), .nodes = nodes, .ranks = ranks, .launch = launch};
  if (library) out.library = "nccl";
  if (library && is_release(*library)) out.library_version = fmt::format("{}.{}", library->version / 1000000, release_of(*library));
  return out;
}

std::vector<SkippedRows> listed(const std::vector<Skipped>& skipped) {
  std::vector<SkippedRows> out;
  for (const Skipped& one : skipped) out.push_back({one});
  return out;
}

ByName<int> by_reason(const std::vector<Skipped>& skipped) {
  ByName<int> out;
  for (const Skipped& one : skipped) out.emplace_back(one.reason, one.rows);
  return out;
}

ByName<Errors> by_name(const std::vector<ErrorGroup>& groups) {
  ByName<Errors> out;
  for (const ErrorGroup& group : groups) out.emplace_back(group.name, Errors{group.errors});
  return out;
}

double ValidationAnswer::worst_error() const {
  double out = 0;
  for (const ComparedPoint& p : report.points) out = std::max(out, std::fabs(p.error()));
  return out;
}

ValidationAnswer validated(Points points, const ValidateRequest& r) {
  ValidationOptions how{.rule = r.choice.value_or(Choice::Rule::nccl),
                        .calibration = r.calibration.empty() ? r.system.calibration : r.calibration,
                        .overrides = r.system.overrides,
                        .raw = r.raw};
  if (r.system.value != nullptr) {
    const bool unnamed = r.system.name.empty();
    for (Point& p : points.points) p.system = unnamed ? r.system.value->name : r.system.name;
    if (unnamed) how.adjust = [&](System& system) { system = *r.system.value; };
  }
  ValidationAnswer out;
  out.report = validate(points, how);
  static_cast<ErrorSummary&>(out) = out.report.total;
  return out;
}

std::vector<Skipped> contradictions(const std::vector<Sample>& samples, const Machine& machine, const PointDefaults& otherwise) {
  std::vector<Skipped> out;
  if (!machine) return out;
  const auto system = machine.get();
  for (const Sample& one : samples) {
    const bool log = !one.file.empty() && !job_files().is_trace(one.file);
    const std::string said = !log ? std::string{} : job_files().contradiction(one.file, *system);
    if (!said.empty()) count_skipped(out, said, static_cast<int>(read({one}, otherwise, false).points.size()));
  }
  return out;
}

/// The usual machine of the GPUs of logs: one for all that speak of any, else empty.
[[nodiscard]] static std::string usual_system_of(const std::vector<Sample>& samples) {
  std::string out;
  for (const Sample& one : samples) {
    if (!std::filesystem::is_regular_file(one.file) || job_files().is_trace(one.file) || !is_benchmark_output(one.file)) continue;
    const std::string there = job_files().usual_system(one.file);
    if (!there.empty() && !out.empty() && there != out) return {};
    if (!there.empty()) out = there;
  }
  return out;
}

ValidationAnswer answer(const ValidateRequest& r) {
  if (!r.stack.empty()) throw Refusal("<stack> prices tables of kernels; leave it out of others");
  if (r.samples.empty()) throw Refusal("which measurements? Name point CSVs or logs of benchmarks", true);
  check_ranges(r);
  const bool unnamed = r.system.value != nullptr && r.system.name.empty();
  const std::string guessed = r.system ? std::string{} : usual_system_of(r.samples);
  const std::string system = !guessed.empty() ? guessed : unnamed ? r.system.value->name : r.system.name;
  const PointDefaults otherwise = stated(system, r.nodes, r.ranks, r.launch, r.library);
  if (r.system) (void)r.system.load({}, {}, r.calibration);  // a name that was given must exist
  ValidationAnswer out = validated(read(r.samples, otherwise, !r.raw), r);
  const auto& points = out.report.points;
  if (std::any_of(points.begin(), points.end(), [&](const ComparedPoint& p) { return p.point.system == guessed; }))
    out.report.guessed_system = guessed;
  for (Skipped& one : contradictions(r.samples, r.system, otherwise)) out.report.untrustworthy.push_back(std::move(one));
  return out;
}

}  // namespace fabricost::core
