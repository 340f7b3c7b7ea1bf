#pragma once
/// Measured times of dispatch and combine kernels: the MoE CSV, predictions of its rows, and the fit of the
/// kernels' constants.

#include <fabricost/experts/moe_kernels.hpp>
#include <fabricost/plan/evaluation/calibrate_custom.hpp>
#include <fabricost/plan/evaluation/workload.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace fabricost::plan {

/// One row of a MoE CSV: columns source,system,ranks,phase,implementation,dtype,tokens_per_rank,hidden,experts,top_k,distribution,sms,
/// time_us,notes. Its id is the source, its group machine, kernel and phase, its figures are seconds.
struct MoeKernelRow : WorkloadRow {
  MoeQuestion question;
  std::string system, implementation, distribution, dtype, notes;
  Basis basis = Basis::datasheet;
  int repeats = 1;  ///< number of rows merged into this one
};

/// Reads a MoE CSV. A well-formed row that is incomplete or not modelled gives the reason in `skipped`.
/// \throws SpecError with file, line and column for missing columns, and for invalid numbers or names
[[nodiscard]] std::vector<MoeKernelRow> read_moe_kernel_rows(const std::filesystem::path& file);

/// Merges rows that differ only in time, by its median, in the order of first occurrence.
[[nodiscard]] std::vector<MoeKernelRow> merge_repeats(const std::vector<MoeKernelRow>& rows);

/// Fills in the predictions. \param adjust called on every machine once it is loaded
void predict_moe_kernel_rows(std::vector<MoeKernelRow>& rows, const std::function<void(System&)>& adjust = {});

/// Fits the moe constants of every GPU generation in the rows, starting from the prior. \param leave_out
/// sources, or prefixes of their names
/// \throws RequestError when no row is left to fit
[[nodiscard]] Calibration calibrate_moe_kernels(const std::vector<MoeKernelRow>& rows,
                                                      const std::vector<std::string>& leave_out = {});

}  // namespace fabricost::plan
