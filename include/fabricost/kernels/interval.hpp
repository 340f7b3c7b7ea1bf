#pragma once
/// \file interval.hpp
/// The 5-95 % interval around a predicted time or rate whose errors are normal in the log: nine measurements in ten fall inside.

#include <fabricost/shipped_numbers.hpp>

#include <cmath>
#include <utility>

namespace fabricost {

/// Standard deviations on either side that hold nine in ten of a normal distribution.
inline constexpr double nine_in_ten = 1.645;

/// Standard deviation, in log, that is added in quadrature where nobody measured what kernels reach on a generation of processors, so that
/// the shares of the datasheet's peak that NVIDIA's reach are assumed (data/priors/stack.yaml). Tokens/s of MLPerf Inference 5.1 (Llama 2
/// 70B, Mixtral) on MI300X to MI355X are 8 to 43 % more, beside NVIDIA's, than they were; large products of MI300X reach 0.40 to 0.45 of
/// the peak where 0.59 to 0.65 are assumed.
inline constexpr double assumed_kernels_spread = prior::stack::kernels_spread;

/// low and high: `predicted` divided and multiplied by exp(nine_in_ten x spread). \param spread standard deviation in log
[[nodiscard]] inline std::pair<double, double> interval_around(double predicted, double spread) {
  const double factor = std::exp(nine_in_ten * spread);
  return {predicted / factor, predicted * factor};
}

}  // namespace fabricost
