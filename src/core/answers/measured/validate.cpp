/// Compares measured points with predictions.

#include <fabricost/answers/validate.hpp>
#include <fabricost/explain/assumptions.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/readings/points.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace fabricost::core {

RequestTable<ValidateRequest> ValidateRequest::fields() {
  using R = ValidateRequest;
  using enum Amount;
  return {asks(&R::samples, "samples", "FILES", " ", "Point CSVs, output of nccl-tests, nvbandwidth, OSU, perftest, ...", true),
          asks(&R::system, "system", "--system,-s", "NAME", "The machine, if a file does not say"),
          field::ask_nodes_of_files<R>,
          field::ask_ranks_of_files<R>,
          field::ask_choice<R>,
          asks(&R::calibration, "calibration", "--calibration", "FILE", "none or a file; default the shipped one"),
          asks(&R::raw, "raw", "--raw", "", "Keep repeats; default: their median"),
          field::ask_launch_of_files<R>,
          field::ask_library_of_files<R>,
          asks(&R::stack, "stack", "--stack", "NAME", "Of tables of kernels: a stack whose own kernels price them")};
}

AnswerTable<Errors> Errors::fields() {
  using A = Errors;
  using E = ErrorSummary;
  return {gives(&E::points, "points", "points", "How many points."),
          gives(&E::median_ape, "", "", ""),
          gives(&A::if_any<&E::median_ape>, "median_ape", "", ""),
          gives(&A::median_error, "", "median_error", "Median of |predicted / measured - 1|."),
          gives(&E::mape, "", "", ""),
          gives(&A::if_any<&E::mape>, "mape", "", ""),
          gives(&A::mean_error, "", "mean_error", "Mean of the same."),
          gives(&E::p90_abs_log2, "", "p90_abs_log2", "Nine in ten are within this many factors of two."),
          gives(&A::if_any<&E::p90_abs_log2>, "p90_abs_log2", "", ""),
          gives(&E::within_10pct, "", "within_10_percent", "Share of points at most 10 % off."),
          gives(&A::if_any<&E::within_10pct>, "within_10pct", "", ""),
          gives(&E::within_25pct, "", "within_25_percent", "Share of points at most 25 % off."),
          gives(&A::if_any<&E::within_25pct>, "within_25pct", "", ""),
          gives(&E::interval_coverage, "", "interval_coverage", "Share of points inside the predicted interval of nine in ten."),
          gives(&A::if_any<&E::interval_coverage>, "interval_coverage", "", "")};
}

AnswerTable<SkippedRows> SkippedRows::fields() {
  return {gives(&Skipped::reason, "reason", "", ""), gives(&Skipped::rows, "rows", "", "")};
}

AnswerTable<ValidationAnswer> ValidationAnswer::fields() {
  using A = ValidationAnswer;
  return {Errors::fields(),
          gives(&A::total, "", "total", "Errors over all points."),
          gives(&A::worst_error, "", "worst_error", "The largest."),
          gives(&A::skipped_rows, "skipped", "", ""),
          gives(&A::skipped, "", "skipped", "Rows that could not be priced, by reason."),
          gives(&A::untrustworthy_rows, "untrustworthy", "", ""),
          gives(&A::untrustworthy, "", "untrustworthy", "Rows that a fit leaves out, by reason; they count in the errors."),
          gives(&A::by_operation, "by_operation", "by_operation", "Errors of each operation, by name."),
          gives(&A::by_system, "by_system", "by_system", "Errors on each machine, by name."),
          gives(&A::by_size, "by_size", "by_size", "Errors in ranges of sizes: <=64 KiB, <=1 MiB, <=32 MiB, above."),
          gives(&A::by_library, "by_library", "by_library", "Errors with each library."),
          gives(&A::by_launch, "by_launch", "by_launch", "Errors by launch and by how the release of NCCL was known."),
          gives(&A::guessed_system, "guessed_system", "guessed_system",
                "Machine taken for logs that name none: the usual one of their GPUs; empty: none was.", 1, true)};
}

PointDefaults stated(std::string system, int nodes, int ranks, std::optional<LaunchMode> launch, const std::optional<Inference>& library) {
  if (library && !is_nccl(*library))
    throw Refusal("<library>: of measured runs a release of NCCL, as in <library=nccl-2.18>; engines are named in the points");
  PointDefaults out{.system = std::move(system), .nodes = nodes, .ranks = ranks, .launch = launch};
  if (library) out.library = library->rccl ? "rccl" : "nccl";
  if (library && library->version > 0) out.library_version = fmt::format("{}.{}", library->version / 1000000, release_of(*library));
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
                        .raw = r.raw,
                        .adjust = r.adjust};
  if (r.system.value != nullptr) {
    const bool unnamed = r.system.name.empty();
    for (Point& p : points.points) p.system = unnamed ? r.system.value->name : r.system.name;
    if (unnamed)
      how.adjust = [&](System& system) {
        system = *r.system.value;
        if (r.adjust) r.adjust(system);
      };
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

[[nodiscard]] static bool is_log(const Sample& one) {
  return std::filesystem::is_regular_file(one.file) && !job_files().is_trace(one.file) && is_benchmark_output(one.file);
}

bool are_logs(const std::vector<Sample>& samples) { return std::all_of(samples.begin(), samples.end(), is_log); }

std::string usual_system_of(const std::vector<Sample>& samples) {
  std::string out;
  for (const Sample& one : samples) {
    if (!is_log(one)) continue;
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
  if (r.system && !(r.library && r.library->rccl))
    (void)with_library(r.system.get({}, KernelSets::none(), r.calibration), r.library);  // what was given must exist
  ValidationAnswer out = validated(read(r.samples, otherwise, !r.raw), r);
  const auto& points = out.report.points;
  if (points.empty()) {
    std::string reasons;
    for (const Skipped& one : out.report.skipped)
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", counted(one.rows, "row"), one.reason);
    throw Refusal(fmt::format("no measured time could be compared: {}", reasons.empty() ? "there is none" : reasons));
  }
  if (std::any_of(points.begin(), points.end(), [&](const ComparedPoint& p) { return p.point.system == guessed; }))
    out.report.guessed_system = guessed;
  for (Skipped& one : contradictions(r.samples, r.system, otherwise)) out.report.untrustworthy.push_back(std::move(one));
  return out;
}

}  // namespace fabricost::core
