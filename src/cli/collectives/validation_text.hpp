#pragma once
/// \file validation_text.hpp
/// Measurements compared with predictions, as text: tables, a histogram of errors, and for a single run a
/// plot of its bandwidth; and as CSV.

#include "cli/page.hpp"

#include <fabricost/evaluation/moe_kernel_rows.hpp>
#include <fabricost/evaluation/workload.hpp>
#include <fabricost/validation/validate.hpp>

#include <string>
#include <vector>

namespace fabricost::cli {

void text_of(Page& page, const ValidationReport& report);
/// The same for tables of published workloads, by group.
void text_of(Page& page, const WorkloadReport& report);
/// The same for measured kernels of expert exchange.
void text_of(Page& page, const MoeKernelReport& report);

/// One line a point: the columns of a point CSV, then the prediction.
[[nodiscard]] std::string csv_of(const ValidationReport& report);
[[nodiscard]] std::string csv_of(const WorkloadReport& report);
[[nodiscard]] std::string csv_of(const MoeKernelReport& report);

/// Rows that were left out, by reason; nothing where there are none.
void add_reasons(Page& page, const char* title, const std::vector<Skipped>& reasons);

}  // namespace fabricost::cli
