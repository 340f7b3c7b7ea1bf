#pragma once
/// The 5-95 % interval around a predicted time or rate, with errors normal in the log.

#include <fabricost/shipped_numbers.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace fabricost::core {

/// Standard deviations on either side that contain nine tenths of a normal distribution.
inline constexpr double nine_in_ten = 1.645;

/// Standard deviation, in log, added in quadrature for processors without kernel measurements, which are
/// assumed to reach NVIDIA's fractions of the peak (data/priors/stack.yaml). Evidence: predicted tokens/s of
/// MLPerf Inference 5.1 (Llama 2 70B, Mixtral) on MI300X to MI355X exceed the measured ones, relative to
/// NVIDIA's, by 8 to 43 %; large products reach 0.40 to 0.45 of MI300X's peak where 0.59 to 0.65 are assumed.
inline constexpr double assumed_kernels_spread = prior::stack::kernels_spread;

/// low and high: `predicted` divided and multiplied by exp(nine_in_ten x spread). \param spread standard deviation in log
[[nodiscard]] inline std::pair<double, double> interval_around(double predicted, double spread) {
  const double factor = std::exp(nine_in_ten * spread);
  return {predicted / factor, predicted * factor};
}

/// The probability that a step is shorter than another. Errors are normal in the log; a share of them is common (data/priors/stack.yaml):
/// Phi(log(longer) / sigma), sigma^2 = a^2 + b^2 - 2 share a b. \param longer predicted seconds of the other over its own
/// \param half_width, other_half_width log of the interval's high end over the predicted seconds
[[nodiscard]] inline double likely_shorter(double longer, double half_width, double other_half_width, bool one_gpu) {
  const double shared = one_gpu ? prior::stack::shared_gpu : prior::stack::shared_steps;
  const double a = half_width / nine_in_ten, b = other_half_width / nine_in_ten;
  const double spread = std::sqrt(std::max(0.0, a * a + b * b - 2 * shared * a * b));
  if (!(spread > 0)) return longer > 1 ? 1 : longer < 1 ? 0 : 0.5;
  return 0.5 * std::erfc(-std::log(longer) / (spread * std::sqrt(2.0)));
}

}  // namespace fabricost::core
