#pragma once
/// \file calibrate.hpp
/// `calibrate` for any files: points, or tables of kernels, which make a stack, of serving runs, of expert exchange. The columns tell which.

#include <fabricost/answers/calibrate.hpp>
#include <fabricost/plan/evaluation/calibrate_kernels.hpp>
#include <fabricost/plan/evaluation/calibrate_training.hpp>
#include <fabricost/plan/evaluation/inference.hpp>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fabricost::plan {

/// Kernel efficiencies of a GPU generation.
struct GenerationFit {
  struct Constant {
    double value = 0, deviation = 0;
    bool determined = false;
    bool operator==(const Constant&) const = default;
    static constexpr auto fields() {
      using A = Constant;
      return Table{gives(&A::value, "value", "value", "As in its file."),
                   gives(&A::deviation, "deviation", "relative_error", "Standard error over the value."),
                   gives(&A::determined, "determined", "determined", "False: the data left it where it was.")};
    }
  };
  int rows = 0;
  double median_error = 0, mean_error = 0;
  ByName<Constant> constants{};
  bool operator==(const GenerationFit&) const = default;

  static constexpr auto fields() {
    using A = GenerationFit;
    constexpr bool left_out = true;
    return Table{gives(&A::rows, "rows", "rows", "Rows that were fitted."),
                 gives(&A::median_error, "median_ape", "median_error", "Median of |predicted / measured - 1| after the fit.", in_percent),
                 gives(&A::mean_error, "mape", "mean_error", "Mean of |predicted / measured - 1| after the fit.", in_percent),
                 gives(&A::constants, "constants", "constants", "By name.", 1, left_out)};
  }
};

/// The factor of a software stack.
struct StackFactor : FittedStack {
  static constexpr auto fields() {
    using S = FittedStack;
    return Table{gives(&S::scale, "scale", "scale", "Factor on the whole step."),
                 gives(&S::deviation, "deviation", "relative_error", "Its standard error over the value."),
                 gives(&S::spread, "spread", "spread", "Standard deviation, in log, of what is left."),
                 gives(&S::rows, "rows", "rows", "Rows that were fitted.")};
  }
};

/// Fitted constants of training steps and kernels (fabricost.evaluation).
struct TrainingFitAnswer {
  TrainingFit made;
  std::string origin;
  [[nodiscard]] int rows() const { return made.rows; }
  [[nodiscard]] int constants() const { return made.constants; }
  [[nodiscard]] double median_error() const { return made.median_ape / 100; }
  [[nodiscard]] double mean_error() const { return made.mape / 100; }
  [[nodiscard]] ByName<GenerationFit> generations() const;
  [[nodiscard]] ByName<StackFactor> stacks() const;
  [[nodiscard]] std::vector<SkippedRows> skipped_rows() const { return listed(made.skipped); }
  [[nodiscard]] ByName<int> skipped() const { return by_reason(made.skipped); }
  /// calibrations/compute-GENERATION.yaml and workloads/stacks.yaml, with the paths they have in data/.
  [[nodiscard]] std::vector<FittedFile> files(std::string_view date) const;

  static constexpr auto fields() {
    using A = TrainingFitAnswer;
    constexpr bool left_out = true;
    return Table{gives(&A::rows, "rows", "rows", "Steps and kernels that were fitted."),
                 gives(&A::constants, "constants", "constants", "How many constants."),
                 gives(&A::median_error, "median_ape", "median_error", "Median of |predicted / measured - 1| after the fit.", in_percent),
                 gives(&A::mean_error, "mape", "mean_error", "Mean of |predicted / measured - 1| after the fit.", in_percent),
                 gives(&A::generations, "generations", "generations", "A GenerationFit for each GPU generation."),
                 gives(&A::stacks, "stacks", "stacks", "A StackFactor for each software stack.", 1, left_out),
                 gives(&A::skipped_rows, "skipped", "", ""),
                 gives(&A::skipped, "", "skipped", "Rows that were not fitted, by reason.")};
  }
};

/// Fitted constants of serving runs.
struct ServingFitAnswer {
  ServingFit made;
  std::string origin;
  [[nodiscard]] int rows() const { return made.rows; }
  [[nodiscard]] int constants() const { return made.constants; }
  [[nodiscard]] int steps() const { return made.steps; }
  [[nodiscard]] double median_tpot_error() const { return made.median_tpot / 100; }
  [[nodiscard]] double median_ttft_error() const { return made.median_ttft / 100; }
  [[nodiscard]] std::vector<SkippedRows> skipped_rows() const { return listed(made.skipped); }
  [[nodiscard]] ByName<int> skipped() const { return by_reason(made.skipped); }
  /// workloads/serving.yaml, with the path it has in data/.
  [[nodiscard]] std::vector<FittedFile> files(std::string_view date) const;

  static constexpr auto fields() {
    using A = ServingFitAnswer;
    return Table{gives(&A::rows, "rows", "rows", "Figures that were fitted."),
                 gives(&A::constants, "constants", "constants", "How many constants."),
                 gives(&A::steps, "steps", "steps", "Of the fit."),
                 gives(&A::median_tpot_error, "median_tpot_ape", "median_tpot_error", "Median error of TPOT and batches.", in_percent),
                 gives(&A::median_ttft_error, "median_ttft_ape", "median_ttft_error", "Median error of TTFT.", in_percent),
                 gives(&A::skipped_rows, "skipped", "", ""),
                 gives(&A::skipped, "", "skipped", "Rows that were not fitted, by reason.")};
  }
};

/// Constants of kernels that do not belong to a communication library.
struct KernelFitAnswer : FitAnswer {
  Calibration made;
  [[nodiscard]] std::vector<FittedFile> files(std::string_view date) const { return files_of(made.sets, date, origin); }
};

/// A CalibrateRequest whose files may be tables.
struct CalibrateFilesRequest : CalibrateRequest {};

using FilesAnswer = std::variant<CalibrationAnswer, KernelFitAnswer, ServingFitAnswer, KernelStackAnswer>;

/// Whether all files are tables of kernels.
[[nodiscard]] bool are_kernels(const CalibrateRequest& request);
/// Whether a file among those that it names is a table of published results.
[[nodiscard]] bool are_tables(const CalibrateRequest& request);

/// \throws Refusal for options that do not apply to this kind of files; RequestError for tables that cannot
/// be fitted together; as answer of its base
[[nodiscard]] FilesAnswer answer(const CalibrateFilesRequest& request);

}  // namespace fabricost::plan
