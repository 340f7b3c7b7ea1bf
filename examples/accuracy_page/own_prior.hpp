#pragma once
/// A fit that knows nothing of the machines left out of it. The shipped prior (hardware/constants.hpp) is the geometric mean of three
/// generations; one left out would still pull the others' fit through it.

#include <fabricost/calibrate/calibrate.hpp>

namespace accuracy {

/// The machines of `points` fitted with their own geometric mean as prior: the mean of a fit is the prior of the next, three times,
/// which leaves of the first prior what no point of theirs says anything of. \throws fabricost::core::RequestError as calibrate
inline fabricost::core::Calibration fit_with_own_prior(const fabricost::core::Points& points) {
  fabricost::core::Calibration fit = fabricost::core::calibrate(points);
  for (int round = 0; round < 3; ++round) {
    const auto mean = [before = fit](fabricost::core::Constants& prior) {
      fabricost::core::System machine;
      fabricost::core::apply_mean(before, machine);
      prior = machine.constants;
    };
    fit = fabricost::core::calibrate(points, {.prior = mean});
  }
  return fit;
}

}  // namespace accuracy
