#pragma once
/// \file validation_text.hpp
/// Measurements compared with predictions, as text: tables, a histogram of errors, and for a single run a
/// plot of its bandwidth.

#include "cli/runner.hpp"

#include <fabricost/evaluation/moe_kernel_rows.hpp>
#include <fabricost/evaluation/workload.hpp>
#include <fabricost/validation/validate.hpp>

#include <string>
#include <vector>

namespace fabricost::cli {

/// The whole report for a terminal.
[[nodiscard]] std::string validation_text(const ValidationReport& report, const Terminal& terminal);

/// The same for tables of published workloads, by group.
[[nodiscard]] std::string workload_text(const WorkloadReport& report, const Terminal& terminal);
/// The same for measured kernels of expert exchange.
[[nodiscard]] std::string moe_kernel_text(const MoeKernelReport& report, const Terminal& terminal);
[[nodiscard]] std::string per_row_csv(const WorkloadReport& report);

/// Rows that were left out, by reason; nothing where there are none.
[[nodiscard]] std::string reasons_text(const char* title, const std::vector<Skipped>& reasons, const Terminal& terminal);

/// One line a point: the columns of a point CSV, then the prediction.
[[nodiscard]] std::string per_point_csv(const ValidationReport& report);

}  // namespace fabricost::cli
