#pragma once
/// Measured times of dispatch and combine kernels: the MoE CSV, predictions of its rows, and the fit of the
/// kernels' constants.

#include <fabricost/plan/evaluation/calibrate_custom.hpp>
#include <fabricost/experts/moe_kernels.hpp>
#include <fabricost/validation/validate.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// One row of a MoE CSV: columns source,system,ranks,phase,implementation,dtype,tokens_per_rank,hidden,experts,top_k,distribution,sms,
/// time_us,notes.
struct MoeKernelRow {
  MoeQuestion question;
  std::string source, system, implementation, distribution, dtype, notes;
  double seconds = 0;  ///< measured; 0 only in a skipped row
  double predicted = 0, low = 0, high = 0;
  Basis basis = Basis::datasheet;
  std::string skipped;  ///< the reason why there is no prediction; empty when there is one
  int line = 0;
  int repeats = 1;  ///< number of rows merged into this one
  [[nodiscard]] double error() const { return predicted / seconds - 1; }
};

/// Reads a MoE CSV. A well-formed row that is incomplete or not modelled gives the reason in `skipped`.
/// \throws SpecError with file, line and column for missing columns, and for invalid numbers or names
[[nodiscard]] std::vector<MoeKernelRow> read_moe_kernel_rows(const std::filesystem::path& file);

/// Merges rows that differ only in time, by its median, in the order of first occurrence.
[[nodiscard]] std::vector<MoeKernelRow> merge_repeats(const std::vector<MoeKernelRow>& rows);

/// Fills in the predictions. \param calibration as in load_system \param adjust called on every machine once it is loaded
void predict_moe_kernel_rows(std::vector<MoeKernelRow>& rows, std::string_view calibration = {},
                             const std::function<void(System&)>& adjust = {});

/// Errors of the priced rows; the others are counted by reason. `prepare` counts as dispatch.
struct MoeKernelReport {
  ErrorSummary total;
  std::vector<ErrorGroup> by_operation, by_system, by_size, by_library,
      by_group;  ///< sizes: tokens of a rank; group: system, kernel, phase
  std::vector<Skipped> skipped;
  std::vector<MoeKernelRow> rows;
};
[[nodiscard]] MoeKernelReport summarise(std::vector<MoeKernelRow> rows);

/// The columns of a MoE CSV and the prediction; cells that were not given, or were formulas, are empty.
[[nodiscard]] std::string per_row_csv(const MoeKernelReport& report);

/// Fits the moe constants of every GPU generation in the rows, starting from the prior. \param leave_out
/// sources, or prefixes of their names
/// \throws RequestError when no row is left to fit
[[nodiscard]] Calibration calibrate_moe_kernels(const std::vector<MoeKernelRow>& rows,
                                                      const std::vector<std::string>& leave_out = {});

}  // namespace fabricost::plan
