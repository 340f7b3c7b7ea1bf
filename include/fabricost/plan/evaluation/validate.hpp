#pragma once
/// `validate` for any files, by their columns: points, or tables of kernels and of expert exchange.

#include <fabricost/answers/validate.hpp>
#include <fabricost/plan/evaluation/workload.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fabricost::plan {

struct WorkloadsAnswer : Errors {
  WorkloadReport report;
  [[nodiscard]] Errors total() const { return *this; }
  [[nodiscard]] std::vector<SkippedRows> skipped_rows() const { return listed(report.skipped); }
  [[nodiscard]] ByName<int> skipped() const { return by_reason(report.skipped); }
  [[nodiscard]] ByName<Errors> by_group() const { return by_name(report.by_group); }

  static AnswerTable<WorkloadsAnswer> fields();
};

/// A ValidateRequest whose files may be tables.
struct ValidateFilesRequest : ValidateRequest {};

/// \throws Refusal for options that do not apply to this kind of files; RequestError for files of several
/// kinds; as answer of its base
[[nodiscard]] std::variant<ValidationAnswer, WorkloadsAnswer> answer(const ValidateFilesRequest& request);

/// The same for tables alone, row by row. \param stack whose own kernels price kernels \param adjust called on the machines of expert
/// exchange \throws as validate_workloads
[[nodiscard]] WorkloadsAnswer validated(const std::vector<std::filesystem::path>& tables, std::string_view stack = {},
                                        const std::function<void(System&)>& adjust = {});

}  // namespace fabricost::plan
