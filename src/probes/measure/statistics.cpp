/// \file statistics.cpp
/// Median, quartiles, and the rejection of outliers.

#include "measure/statistics.hpp"

#include "text/quantile.hpp"

#include <algorithm>
#include <cmath>

namespace fabricost::probes::measure {

double Statistics::relative_error() const { return kept > 0 ? 1.2533 * spread / 1.349 / std::sqrt(kept) : 0; }

Statistics statistics_of(const std::vector<double>& batches) {
  Statistics out;
  if (batches.empty()) return out;
  std::vector<double> sorted = batches;
  std::sort(sorted.begin(), sorted.end());
  const double centre = quantile(sorted, 0.5);
  std::vector<double> away;
  for (const double b : sorted) away.push_back(std::fabs(b - centre));
  std::sort(away.begin(), away.end());
  const double deviation = std::max(normal_deviation * quantile(away, 0.5), min_deviation * centre);
  std::vector<double> kept;
  for (const double b : sorted)
    if (std::fabs(b - centre) <= outlier_deviations * deviation) kept.push_back(b);
  out.kept = static_cast<int>(kept.size());
  out.outliers = static_cast<int>(sorted.size()) - out.kept;
  out.median = quantile(kept, 0.5);
  out.spread = out.median > 0 ? (quantile(kept, 0.75) - quantile(kept, 0.25)) / out.median : 0;
  return out;
}

}  // namespace fabricost::probes::measure
