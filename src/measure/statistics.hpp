#pragma once
/// \file statistics.hpp
/// What a handful of batch times says: their median, how far they spread, and which of them are set aside.
///
/// A batch is an outlier when it lies more than 5 times 1.4826 MAD from the median (MAD: median absolute deviation; times 1.4826 it is the
/// standard deviation of normal noise, so that 2 in 10 million such batches would be set aside). Below a thousandth of the median nothing
/// is an outlier, or clocks that tick coarsely would make some. Outliers are counted, never hidden.

#include <vector>

namespace fabricost::measure {

inline constexpr double outlier_deviations = 5;
inline constexpr double normal_deviation = 1.4826;  ///< standard deviation / MAD of normal noise: 1 / the 3/4 quantile of N(0, 1)
inline constexpr double min_deviation = 1e-3;       ///< of the median

/// Seconds, as those that were kept say.
struct Statistics {
  double median = 0;
  double spread = 0;  ///< (p75 - p25) / median
  int kept = 0, outliers = 0;

  /// Standard error of the median over the median, for normal noise: 1.2533 x (p75 - p25) / 1.349 / sqrt(kept).
  [[nodiscard]] double relative_error() const;
};

[[nodiscard]] Statistics statistics_of(const std::vector<double>& batches);

}  // namespace fabricost::measure
