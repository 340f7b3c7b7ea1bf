#pragma once
/// \file kernels.hpp
/// Fits the constants of kernels that do not belong to a communication library: inference engines'
/// all-reduces, expert exchange.

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/readings/points.hpp>

#include <string>
#include <vector>

namespace fabricost::core {

/// One set of constants for each GPU generation in the data.
struct KernelCalibration {
  std::vector<CalibratedSet> sets;
  int points = 0, constants = 0, determined = 0, steps = 0;
  double median_before = 0, mean_before = 0, median_ape = 0, mape = 0;  ///< percent, over the points fitted
  bool converged = false;
  std::vector<Skipped> skipped;
};

/// Fits the custom constants (price/custom_reduce.hpp) to the points of a CSV whose library is an inference
/// engine: its own kernels replayed in CUDA graphs, and calls from Python of at most 64 KiB, where the host's
/// time dominates. Points that NCCL ran are skipped. Repeats are merged.
/// \param leave_out as validation/leave_out.hpp reads it \throws RequestError when no point is left to fit
[[nodiscard]] KernelCalibration calibrate_custom(const Points& points, const std::vector<std::string>& leave_out = {});

}  // namespace fabricost::core
