/// \file calibrate_serving.cpp
/// Fits efficiencies of inference kernels and overheads of serving frameworks to published serving runs.

#include "evaluation/serving_model.hpp"

#include <fabricost/calibrate/least_squares.hpp>

namespace fabricost::plan {

ServingFit calibrate_serving(const std::vector<InferenceRow>& rows, const std::vector<std::string>& leave_out) {
  detail::ServingModel model(rows, leave_out);
  if (model.rows() == 0) throw RequestError("no row of the files can be fitted: fully specified serving runs are needed");
  const LeastSquares found = minimise(model, Eigen::VectorXd::Zero(model.size()), model.weights(), 60);
  ServingFit out = model.fit(found.unknowns);
  out.steps = found.steps;
  return out;
}

}  // namespace fabricost::plan
