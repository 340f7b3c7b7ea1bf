#pragma once
/// One's own kernels, timed, as a software stack: a roofline for each GPU, kind and precision (kernels/own.hpp), each with what it misses
/// times by that it was not fitted to.

#include <fabricost/answers/calibrate.hpp>
#include <fabricost/plan/evaluation/ops.hpp>
#include <fabricost/plan/fields/named_models.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// A roofline and its errors.
struct KernelFit : OwnKernel {
  double median_error = 0, mean_error = 0;  ///< of |predicted / measured - 1|, each row by a fit without the fifth that holds it
  double within = 0;                        ///< share of those rows that its interval holds
  [[nodiscard]] std::string_view kind_name() const { return kernel_kind_names[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::string_view precision_name() const { return kernel_precision_names[static_cast<std::size_t>(precision)]; }
  [[nodiscard]] double share() const { return rate.share; }
  [[nodiscard]] double memory() const { return rate.memory; }
  [[nodiscard]] double start() const { return rate.start; }
  [[nodiscard]] double depth() const { return rate.depth; }
  bool operator==(const KernelFit&) const = default;

  static AnswerTable<KernelFit> fields();
};

/// A stack that holds one's own kernels.
struct KernelStackAnswer {
  std::string name, recipe, factor;  ///< of the stack; of the one that it extends; whose spread of steps it has
  std::vector<KernelFit> kernels{};
  std::vector<Skipped> left{};
  std::string origin{};
  double median = 0, mean = 0;
  [[nodiscard]] int rows() const;
  [[nodiscard]] double median_error() const { return median; }
  [[nodiscard]] double mean_error() const { return mean; }
  [[nodiscard]] std::vector<SkippedRows> skipped_rows() const { return listed(left); }
  [[nodiscard]] ByName<int> skipped() const { return by_reason(left); }
  /// stacks/NAME.yaml, with the path it has in data/.
  [[nodiscard]] std::vector<FittedFile> files(std::string_view date) const { return {{"stacks/" + name + ".yaml", yaml(name, date)}}; }
  /// The stack's file under another name.
  [[nodiscard]] std::string yaml(std::string_view called, std::string_view date) const;

  static AnswerTable<KernelStackAnswer> fields();
};

/// Least squares on log(predicted / measured) with a robust loss and wide priors around the constants of the GPU's generation.
/// \throws RequestError when no kernel has rows enough
[[nodiscard]] KernelStackAnswer calibrate_kernels(std::vector<OpsRow> rows, const Stack& recipe,
                                                  const std::vector<std::string>& leave_out = {});

/// Times of kernels, and the stack whose recipe they run in.
struct CalibrateStackRequest {
  std::vector<Sample> samples;
  NamedStack stack;
  std::vector<std::string> leave_out;
  static constexpr std::array<std::string_view, 2> by_place{"stack", "samples"};

  static RequestTable<CalibrateStackRequest> fields();
};
/// \throws as calibrate_kernels, SpecError for faulty files
[[nodiscard]] KernelStackAnswer answer(const CalibrateStackRequest& request);

}  // namespace fabricost::plan
