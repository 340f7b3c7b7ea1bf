#pragma once
/// \file interval-inl.hpp
/// Bodies of interval.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/parameters/interval.hpp>

namespace fabricost::core {

FABRICOST_BODY std::pair<double, double> interval_around(double predicted, double spread) {
  const double factor = std::exp(nine_in_ten * spread);
  return {predicted / factor, predicted * factor};
}

FABRICOST_BODY double likely_shorter(double longer, double half_width, double other_half_width, bool one_gpu) {
  const double shared = one_gpu ? prior::stack::shared_gpu : prior::stack::shared_steps;
  const double a = half_width / nine_in_ten, b = other_half_width / nine_in_ten;
  const double spread = std::sqrt(std::max(0.0, a * a + b * b - 2 * shared * a * b));
  if (!(spread > 0)) return longer > 1 ? 1 : longer < 1 ? 0 : 0.5;
  return 0.5 * std::erfc(-std::log(longer) / (spread * std::sqrt(2.0)));
}

}  // namespace fabricost::core
