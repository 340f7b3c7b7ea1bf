#pragma once
/// \file moe_kernel_rows.hpp
/// Measured times of dispatch and combine kernels: the MoE CSV, what is predicted for each row, and the fit of the kernels' constants.

#include <fabricost/calibrate/kernels.hpp>
#include <fabricost/kernels/moe_kernels.hpp>
#include <fabricost/validation/validate.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

/// One row of a MoE CSV: columns source,system,ranks,phase,implementation,dtype,tokens_per_rank,hidden,experts,top_k,distribution,sms,
/// time_us,notes.
struct MoeKernelRow {
  MoeQuestion question;
  std::string source, system, implementation, distribution, dtype, notes;
  double seconds = 0;  ///< measured; 0 only in a row that is skipped
  double predicted = 0, low = 0, high = 0;
  Basis basis = Basis::datasheet;
  std::string skipped;  ///< why there is no prediction; empty when there is one
  int line = 0;
  int repeats = 1;  ///< rows this one stands for
  [[nodiscard]] double error() const { return predicted / seconds - 1; }
};

/// Reads a MoE CSV. A row that is well formed but says too little, or something that is not modelled, says so in `skipped`. \throws
/// SpecError with file, line and column for cells that are no number or name where one is due, negative, or for missing columns
[[nodiscard]] std::vector<MoeKernelRow> read_moe_kernel_rows(const std::filesystem::path& file);

/// Rows that differ in nothing but their time, merged by its median, in the order of their first members.
[[nodiscard]] std::vector<MoeKernelRow> merge_repeats(const std::vector<MoeKernelRow>& rows);

/// Fills in the predictions. \param calibration as in load_system \param adjust called on every machine once it is loaded
void predict_moe_kernel_rows(std::vector<MoeKernelRow>& rows, std::string_view calibration = {},
                             const std::function<void(System&)>& adjust = {});

/// Errors of the rows that were priced; all others counted with the reason. `prepare` counts with dispatch.
struct MoeKernelReport {
  ErrorSummary total;
  std::vector<ErrorGroup> by_operation, by_system, by_size, by_library,
      by_group;  ///< sizes: tokens of a rank; group: system, kernel, phase
  std::vector<Skipped> skipped;
  std::vector<MoeKernelRow> rows;
};
[[nodiscard]] MoeKernelReport summarise(std::vector<MoeKernelRow> rows);

/// The columns of a MoE CSV, then what was predicted; a cell that was not given, or was a formula, stays empty.
[[nodiscard]] std::string per_row_csv(const MoeKernelReport& report);

/// The moe constants of every GPU generation in the rows, from the prior. \param leave_out sources, or beginnings of their names
/// \throws RequestError when no row is left to fit
[[nodiscard]] KernelCalibration calibrate_moe_kernels(const std::vector<MoeKernelRow>& rows,
                                                      const std::vector<std::string>& leave_out = {});

}  // namespace fabricost
