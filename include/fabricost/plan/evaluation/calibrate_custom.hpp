#pragma once
/// Fits the constants of inference engines' all-reduces.

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/readings/points.hpp>

#include <string>
#include <vector>

namespace fabricost::plan {

/// Fits the custom constants (price/custom_reduce.hpp) to the points of a CSV whose library is an inference
/// engine: its own kernels replayed in CUDA graphs, and calls from Python of at most 64 KiB, where the host's
/// time dominates. Points that NCCL ran are skipped. Repeats are merged.
/// \param leave_out as validation/set_aside.hpp reads it \throws RequestError when no point is left to fit
[[nodiscard]] Calibration calibrate_custom(const Points& points, const std::vector<std::string>& leave_out = {});

}  // namespace fabricost::plan
