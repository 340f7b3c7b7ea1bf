#pragma once
/// \file calibrate_training.hpp
/// Fits the kernel efficiencies of each GPU generation and the factor of each software stack to published
/// training steps and kernels.

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/plan/evaluation/inference.hpp>
#include <fabricost/plan/evaluation/ops.hpp>
#include <fabricost/plan/evaluation/workload.hpp>

#include <map>
#include <string>
#include <vector>

namespace fabricost::plan {

struct TrainingFitOptions {
  std::vector<std::string> leave_out{};  ///< groups, or prefixes of their names, not to be fitted
  bool every_group = false;              ///< fit also groups that training-groups.yaml sets aside (a user's own file)
  std::vector<InferenceRow> served{};    ///< runs that the constants of generations are fitted to as well
  std::map<std::string, double> hold{};  ///< compute constants by key, at a value in SI units for every generation instead of fitted
  bool factors = true;                   ///< false: every stack and publisher has the factor 1
};

struct TrainingFit {
  std::vector<CalibratedSet> generations;  ///< sets of kind compute
  std::vector<FittedStack> stacks;
  int rows = 0, constants = 0, steps = 0;
  double median_ape = 0, mape = 0;  ///< percent, over the rows fitted
  std::vector<Skipped> skipped;
  std::optional<ServingFit> served{};  ///< where serving runs were given
};

/// Least squares on log(predicted / measured) of a step, soft-L1 beyond 6 %, with priors: the compute
/// constants (hardware/parameters.hpp) of every generation in the rows, a factor per publisher of kernels with a spread of 15 % around 1, one
/// that all programs of stacks share, and one per program of five steps or more, with the same spread around that. A group counts as at most
/// 40 rows. \throws RequestError when no row is left to fit
[[nodiscard]] TrainingFit calibrate_training(const std::vector<TrainingRow>& rows, const std::vector<OpsRow>& kernels,
                                             const TrainingFitOptions& options = {});
[[nodiscard]] inline TrainingFit calibrate_training(const std::vector<TrainingRow>& rows, const TrainingFitOptions& options = {}) {
  return calibrate_training(rows, {}, options);
}

/// Predicts rows with the constants of a fit instead of the shipped ones.
void predict_training_rows(std::vector<TrainingRow>& rows, const TrainingFit& fit);

/// The text of data/workloads/stacks.yaml.
[[nodiscard]] std::string stacks_yaml(const TrainingFit& fit, std::string_view date, std::string_view origin);

}  // namespace fabricost::plan
