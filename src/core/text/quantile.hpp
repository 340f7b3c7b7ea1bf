#pragma once
/// Quantiles of measured values.

#include <fabricost/namespaces.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace fabricost::core {

/// The p-quantile of sorted values, interpolated between neighbours; 0 if there are none.
[[nodiscard]] inline double quantile(const std::vector<double>& sorted, double p) {
  if (sorted.empty()) return 0;
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// The same of values in any order, which are put into another.
[[nodiscard]] inline double quantile_among(std::vector<double>& values, double p) {
  if (values.empty()) return 0;
  const double at = p * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(at);
  std::nth_element(values.begin(), below, values.end());
  if (below + 1 == values.end()) return *below;
  return *below + (at - std::floor(at)) * (*std::min_element(below + 1, values.end()) - *below);
}

/// The same, which leaves them in their order.
[[nodiscard]] inline double quantile_of(std::vector<double> values, double p) { return quantile_among(values, p); }

/// The median of values in any order, of two in the middle the upper. \pre there are some; they are put into another order
template <class T>
[[nodiscard]] T upper_median(std::vector<T>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The same, of two in the middle the lower.
[[nodiscard]] inline double lower_median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace fabricost::core
