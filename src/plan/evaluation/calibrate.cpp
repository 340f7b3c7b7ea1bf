/// Detects the kind of measurements in files, and runs their fit.

#include <fabricost/plan/evaluation/calibrate.hpp>
#include <fabricost/plan/evaluation/calibrate_custom.hpp>
#include <fabricost/plan/evaluation/moe_kernel_rows.hpp>
#include <fabricost/plan/evaluation/workload.hpp>

#include "text/joined.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fabricost::plan {
namespace {

/// Rows name their machines, and their fits always start from the same constants.
void refuse_fields_of_points(const CalibrateRequest& r, std::string_view tables) {
  for (const auto& [given, field] : {std::pair{r.only.has_value(), "only"},
                                     {static_cast<bool>(r.system), "system"},
                                     {r.nodes > 0, "nodes"},
                                     {r.ranks > 0, "ranks"},
                                     {!r.calibration.empty(), "calibration"},
                                     {!r.hold.empty(), "hold"}})
    if (given) throw fabricost::core::Refusal(fmt::format("<{}> is for points of collectives; leave it out of {}", field, tables));
  if (!r.stack.empty()) throw fabricost::core::Refusal("<stack> is for tables of kernels alone; leave it out");
}

[[nodiscard]] KernelFitAnswer kernels_of(Calibration fit, const std::vector<Sample>& samples) {
  KernelFitAnswer out{answer_of(fit), std::move(fit)};
  out.origin = fit_origin(out.points, "merged points", samples);
  return out;
}

}  // namespace

bool are_tables(const CalibrateRequest& r) {
  return std::any_of(r.samples.begin(), r.samples.end(),
                     [](const Sample& one) { return !one.file.empty() && workload_table(one.file) != WorkloadTable::none; });
}

bool are_kernels(const CalibrateRequest& r) {
  return !r.samples.empty() && std::all_of(r.samples.begin(), r.samples.end(), [](const Sample& one) {
    return !one.file.empty() && workload_table(one.file) == WorkloadTable::ops;
  });
}

FilesAnswer answer(const CalibrateFilesRequest& r) {
  if (are_kernels(r)) {
    CalibrateRequest points{r};
    points.stack.clear();
    refuse_fields_of_points(points, "tables of kernels");
    return answer(CalibrateStackRequest{r.samples, NamedStack{r.stack}, r.leave_out});
  }

  std::vector<std::string> files;
  for (const Sample& sample : r.samples)
    if (!sample.file.empty()) files.push_back(sample.file);
  if (!files.empty() && files.size() == r.samples.size()) {
    std::set<WorkloadTable> kinds;
    for (const std::string& file : files) kinds.insert(workload_table(file));
    if (kinds == std::set{WorkloadTable::moe_kernels}) {
      refuse_fields_of_points(r, "tables of MoE dispatch and combine");
      std::vector<MoeKernelRow> rows;
      for (const std::string& file : files)
        for (MoeKernelRow& row : read_moe_kernel_rows(file)) rows.push_back(std::move(row));
      return kernels_of(calibrate_moe_kernels(rows, r.leave_out), r.samples);
    }
    if (kinds.contains(WorkloadTable::moe_kernels))
      throw RequestError("tables of MoE dispatch and combine are fitted apart from other measurements: give them in two calls");
    if (kinds != std::set{WorkloadTable::none})
      throw RequestError(fmt::format(
          "steps, serving runs, and kernels fitted with them, by `python -m fabricost.evaluation --fit FOLDER {}`; kernels alone "
          "make a stack, points have a call of their own",
          joined(files, " ")));
  }
  if (r.only == ConstantSet::custom) {
    if (!r.calibration.empty()) throw Refusal("<only=custom> always starts from what is shipped; leave <calibration> out");
    if (!r.hold.empty()) throw Refusal("<hold> goes with scale_up, pcie and transport");
    return kernels_of(calibrate_custom(measured_points(r), r.leave_out), r.samples);
  }
  return answer(static_cast<const CalibrateRequest&>(r));
}

}  // namespace fabricost::plan
