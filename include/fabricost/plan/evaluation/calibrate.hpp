#pragma once
/// `calibrate` for any files: points, or tables of kernels, which make a stack, or of expert exchange. The columns tell which.

#include <fabricost/answers/calibrate.hpp>
#include <fabricost/plan/evaluation/calibrate_kernels.hpp>

#include <string_view>
#include <variant>
#include <vector>

namespace fabricost::plan {

/// Constants of kernels that do not belong to a communication library.
struct KernelFitAnswer : FitAnswer {
  Calibration made;
  [[nodiscard]] std::vector<FittedFile> files(std::string_view date) const { return files_of(made.sets, date, origin); }
};

/// A CalibrateRequest whose files may be tables.
struct CalibrateFilesRequest : CalibrateRequest {};

using FilesAnswer = std::variant<CalibrationAnswer, KernelFitAnswer, KernelStackAnswer>;

/// Whether all files are tables of kernels.
[[nodiscard]] bool are_kernels(const CalibrateRequest& request);
/// Whether a file among those that it names is a table of published results.
[[nodiscard]] bool are_tables(const CalibrateRequest& request);

/// \throws Refusal for options that do not apply to this kind of files; RequestError for tables that cannot
/// be fitted together; as answer of its base
[[nodiscard]] FilesAnswer answer(const CalibrateFilesRequest& request);

}  // namespace fabricost::plan
