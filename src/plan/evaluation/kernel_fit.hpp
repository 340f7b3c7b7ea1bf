#pragma once
/// Fits the constants of kernels, one set per GPU generation, to measured times.
///
///   residual = log(predicted / measured) / 0.04, soft-L1;   unknowns: log(constant / prior), prior spreads from the table
///
/// Shared constants have one value for all generations. A sample depends on the constants of a single section
/// of the table ("one_sided_combine" of "one_sided_combine.share"), which makes fits of 10,000 samples fast.

#include <fabricost/hardware/constants.hpp>

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// One measured time, and the function that prices it.
struct KernelSample {
  std::size_t generation = 0;  ///< index of its set of constants
  std::string_view section;    ///< of the parameter table
  std::function<double(const Constants&)> seconds;
  double measured = 0;
};

/// A constant of one generation, or of all.
struct KernelUnknown {
  const Parameter* parameter = nullptr;
  int of = -1;             ///< generation; -1: all
  double deviation = 0;    ///< standard error in log
  bool determined = true;  ///< false: the data left it at the prior
};

struct FittedKernels {
  std::vector<Constants> generations;
  std::vector<KernelUnknown> unknowns;
  std::vector<double> residuals;  ///< log(predicted / measured), by sample
  int steps = 0;
  bool converged = false;
};

/// \param prior constants of every generation of the samples; those that no sample depends on keep their value
[[nodiscard]] FittedKernels fit_kernels(ConstantSet set, const std::vector<Constants>& prior, const std::vector<KernelSample>& samples);

}  // namespace fabricost::plan
