#pragma once
/// \file nvbandwidth.hpp
/// The transfer that a test of nvbandwidth measures, from its name and the title of its matrix, for the
/// readers of its text and its JSON.
///
/// All rates are GB/s (10^9). One-way tests time one copy at a time. Bidirectional tests time one stream
/// while the other direction is loaded and print the rate of the timed stream. The exception are copies
/// between GPUs by kernels: versions before 0.5 print the sum of both streams, later ones both streams and a
/// total (NVIDIA/nvbandwidth, README.md "Bidirectional Device <-> Device Bandwidth Tests" and
/// testcases_sm.cpp).

#include "readings/logs/pair_points.hpp"

#include <fabricost/namespaces.hpp>

#include <string>
#include <string_view>

namespace fabricost::core {

struct NvbandwidthTest {
  Path path = Path::gpu_gpu;
  bool both_ways = false;
  bool sum_of_both = false;
  std::string skipped;  ///< the reason why it is not a transfer between two ends; empty if it is
};
[[nodiscard]] NvbandwidthTest nvbandwidth_test(std::string_view name, std::string_view title);

/// Default bytes of one copy: 64 MiB before version 0.3, 512 MiB since (common.h, default_constants.h,
/// README.md there).
[[nodiscard]] double nvbandwidth_bytes(std::string_view version);

/// Converts a matrix to points.
void add_nvbandwidth(PointMaker& points, const Matrix& matrix, std::string_view name, std::string_view title, double bytes);

}  // namespace fabricost::core
