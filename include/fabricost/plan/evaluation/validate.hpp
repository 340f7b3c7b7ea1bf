#pragma once
/// `validate` for any files, by their columns: points, tables of published workloads or of expert exchange.

#include <fabricost/answers/validate.hpp>
#include <fabricost/plan/evaluation/moe_kernel_rows.hpp>
#include <fabricost/plan/evaluation/workload.hpp>

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

struct ExchangesAnswer : Errors {
  MoeKernelReport report;
  [[nodiscard]] Errors total() const { return *this; }
  [[nodiscard]] std::vector<SkippedRows> skipped_rows() const { return listed(report.skipped); }
  [[nodiscard]] ByName<int> skipped() const { return by_reason(report.skipped); }
  [[nodiscard]] ByName<Errors> by_operation() const { return by_name(report.by_operation); }
  [[nodiscard]] ByName<Errors> by_system() const { return by_name(report.by_system); }
  [[nodiscard]] ByName<Errors> by_size() const { return by_name(report.by_size); }
  [[nodiscard]] ByName<Errors> by_library() const { return by_name(report.by_library); }
  [[nodiscard]] ByName<Errors> by_group() const { return by_name(report.by_group); }

  static AnswerTable<ExchangesAnswer> fields();
};

/// A ValidateRequest whose files may be tables.
struct ValidateFilesRequest : ValidateRequest {};

/// \throws Refusal for options that do not apply to this kind of files; RequestError for files of several
/// kinds; as answer of its base
[[nodiscard]] std::variant<ValidationAnswer, WorkloadsAnswer, ExchangesAnswer> answer(const ValidateFilesRequest& request);

/// The same for tables of published workloads and of expert exchange together, row by row. \param stack whose own kernels price kernels \throws as
/// validate_workloads
[[nodiscard]] WorkloadsAnswer validated(const std::vector<std::filesystem::path>& tables, std::string_view stack = {});

/// Whether all files are tables of expert exchange; false for none. \throws RequestError when only some are
[[nodiscard]] bool are_exchange_tables(const std::vector<std::string>& files);

}  // namespace fabricost::plan
