#pragma once
/// Quantiles of measured values.

#include <fabricost/namespaces.hpp>

#include <algorithm>
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

/// The same of values in any order.
[[nodiscard]] inline double quantile_of(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  return quantile(values, p);
}

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
