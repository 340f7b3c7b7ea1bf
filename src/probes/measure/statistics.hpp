#pragma once
/// \file statistics.hpp
/// Statistics of a few batch times: median, spread, and outliers.
///
/// A batch is an outlier when it is more than 5 times 1.4826 MAD from the median (MAD: median absolute
/// deviation; 1.4826 MAD is the standard deviation of normal noise, for which 6 in 10 million batches would
/// be rejected). Deviations below a thousandth of the median are never outliers, since coarse clocks would
/// produce some. Outliers are counted and reported.

#include <vector>

namespace fabricost::probes::measure {

inline constexpr double outlier_deviations = 5;
inline constexpr double normal_deviation = 1.4826;  ///< standard deviation / MAD of normal noise: 1 / the 3/4 quantile of N(0, 1)
inline constexpr double min_deviation = 1e-3;       ///< of the median

/// Seconds, from the batches that were kept.
struct Statistics {
  double median = 0;
  double spread = 0;  ///< (p75 - p25) / median
  int kept = 0, outliers = 0;

  /// Standard error of the median over the median, for normal noise: 1.2533 x (p75 - p25) / 1.349 / sqrt(kept).
  [[nodiscard]] double relative_error() const;
};

[[nodiscard]] Statistics statistics_of(const std::vector<double>& batches);

}  // namespace fabricost::probes::measure
