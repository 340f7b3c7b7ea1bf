#pragma once
/// \file interval.hpp
/// The 5-95 % interval around a predicted time or rate, with errors normal in the log.

#include <fabricost/shipped_numbers.hpp>

#include <cmath>
#include <utility>

namespace fabricost {

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

}  // namespace fabricost
