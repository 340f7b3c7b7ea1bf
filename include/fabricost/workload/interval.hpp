#pragma once
/// \file interval.hpp
/// The 5-95 % interval around a predicted time or rate whose errors are normal in the log: nine measurements in ten fall inside.

#include <cmath>
#include <utility>

namespace fabricost {

/// Standard deviations on either side that hold nine in ten of a normal distribution.
inline constexpr double nine_in_ten = 1.645;

/// low and high: `predicted` divided and multiplied by exp(nine_in_ten x spread). \param spread standard deviation in log
[[nodiscard]] inline std::pair<double, double> interval_around(double predicted, double spread) {
  const double factor = std::exp(nine_in_ten * spread);
  return {predicted / factor, predicted * factor};
}

}  // namespace fabricost
