/// Detects the kind of measurements in files, and computes the errors of their predictions.

#include <fabricost/fields/field.hpp>
#include <fabricost/plan/evaluation/validate.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include "fields/refuse_given.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::plan {

AnswerTable<WorkloadsAnswer> WorkloadsAnswer::fields() {
  using A = WorkloadsAnswer;
  return {Errors::fields(), gives(&A::total, "", "total", "Errors over all rows that are fully specified and could be priced."),
          gives(&A::skipped_rows, "skipped", "", ""), gives(&A::skipped, "", "skipped", "Rows that could not be priced, by reason."),
          gives(&A::by_group, "by_group", "by_group", "Errors of each group of rows, by name.")};
}

namespace {

/// The files if they are tables of published workloads; empty for points. \throws RequestError for both at
/// once
[[nodiscard]] std::vector<std::filesystem::path> workload_files(const std::vector<std::string>& files) {
  std::vector<std::filesystem::path> out;
  for (const std::string& file : files)
    if (workload_table(file) != WorkloadTable::none) out.emplace_back(file);
  if (!out.empty() && out.size() != files.size())
    throw RequestError("tables of published workloads and measured points are compared apart: give them in two calls");
  return out;
}

}  // namespace

WorkloadsAnswer validated(const std::vector<std::filesystem::path>& tables, std::string_view stack,
                          const std::function<void(System&)>& adjust) {
  WorkloadsAnswer out;
  if (stack.empty()) {
    out.report = validate_workloads(tables, nullptr, adjust);
  } else {
    const Stack own = load_stack(stack);
    if (own.kernels.empty())
      throw fabricost::core::Refusal(fmt::format("<stack>: {} states no kernels of its own; calibrate makes one that does", own.name));
    out.report = validate_workloads(tables, &own);
  }
  static_cast<ErrorSummary&>(out) = out.report.total;
  return out;
}

std::variant<ValidationAnswer, WorkloadsAnswer> answer(const ValidateFilesRequest& r) {
  std::vector<std::string> files;
  for (const Sample& sample : r.samples)
    if (!sample.file.empty()) files.push_back(sample.file);
  if (files.size() == r.samples.size()) {
    if (const auto tables = workload_files(files); !tables.empty()) {
      refuse_given(r, {"choice", "calibration", "raw", "launch", "library"}, "<{}> has no meaning for tables of workloads; leave it out");
      if (!r.stack.empty() &&
          std::any_of(tables.begin(), tables.end(), [](const auto& f) { return workload_table(f) != WorkloadTable::ops; }))
        throw fabricost::core::Refusal("<stack> prices tables of kernels; leave it out of others");
      return validated(tables, r.stack, r.adjust);
    }
  }
  return answer(static_cast<const ValidateRequest&>(r));
}

}  // namespace fabricost::plan
