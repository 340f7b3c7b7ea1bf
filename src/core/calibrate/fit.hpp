#pragma once
/// Fits the constants of price/ to measured times.
///
///   residual_i = (log predicted_i - log measured_i) / scale_i,  soft-L1 loss;   unknowns: log(constant / prior)
///
/// The pair that ran (algorithm, protocol) is determined before, by the choice: never a minimum over pairs,
/// since NCCL does not choose the minimum. Machines share constants as physics suggests: those of one
/// generation their scale-up constants, those of one transport the ones between nodes; in a joint fit of
/// several generations the constants marked `shared` are one for all. The prior is Gaussian: a spread of its
/// own for every constant, and a common factor on all latencies and on all rates of a block, so that one
/// measured latency informs the others. A block may have a relative (a cluster: its transport; EFA v4: v2): its constants then
/// scatter around the relative's instead of the mean, so each is informed by the measurements of the other. The relative itself need not
/// have been measured: a transport's constants are then the centre of its clusters, each cluster with one vote.

#include <fabricost/hardware/constants.hpp>
#include <fabricost/price/price.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace fabricost::core {

/// One set of constants to be fitted.
struct Block {
  ConstantSet set = ConstantSet::scale_up;
  std::string name;    ///< of the group that shares it: a generation, a transport, a system
  Constants prior;     ///< starting values and centre of the prior
  double spread = 1;   ///< how much the table's own spreads are widened; ignored where `flat` is above zero
  double flat = 0;     ///< one spread for every constant
  double latency = 0;  ///< standard deviation, in log, of the common factor on latencies
  double rate = 0;     ///< the same on rates
  /// Index of the block that is the centre of this one's prior; `spread`, `latency` and `rate` are then
  /// relative to it.
  std::size_t relative = no_relative;
  static constexpr std::size_t no_relative = static_cast<std::size_t>(-1);
};

/// Points that one Line prices.
struct Series {
  std::size_t machine = 0;
  Fabric fabric;
  Schedule schedule;
  Candidate ran;
  Collective op = Collective::all_reduce;
  bool byte_wide = false;
  double scale = policy::fits::scale;  ///< of the loss, in log: smaller residuals count quadratically, larger ones linearly
  std::vector<double> bytes{}, log_seconds{}, weight{};  ///< weight 0: evaluated to obtain the prediction's uncertainty,
                                                         ///< but not part of the loss
  bool of_relative = false;  ///< measured points that the relative of their machine's block prices: none of them weighs
};

/// A machine of the data and the blocks of its constants; without a block the constants do not change.
struct FittedMachine {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  Constants constants;                                 ///< including those that are not fitted
  std::array<std::size_t, 3> block{none, none, none};  ///< by ConstantSet
};

struct FitOptions {
  int starts = 3;      ///< the first from the prior, the others scattered around it
  bool share = false;  ///< constants marked `shared` are one for all blocks of a set
  int max_steps = 200;
  std::vector<const Parameter*> hold{};  ///< not fitted, besides those the tables hold
};

/// A fitted constant.
struct Unknown {
  const Parameter* parameter = nullptr;
  std::vector<std::size_t> blocks;  ///< blocks that it belongs to
  double prior_deviation = 0;       ///< standard deviations in log
  double deviation = 0;
  double change = 0;  ///< log(fitted / prior)
  int partner = -1;   ///< the unknown it is most strongly correlated with
  double correlation = 0;
  /// false: the data left it at the prior, moved only with the common factors.
  [[nodiscard]] bool determined() const { return deviation < policy::fits::narrowed_to * prior_deviation; }
};

struct Fit {
  std::vector<Constants> blocks;  ///< the prior of each block with the fitted set
  std::vector<Unknown> unknowns;
  std::vector<std::vector<double>> residuals;  ///< log predicted - log measured, by series
  std::vector<std::vector<double>> deviation;  ///< of log predicted from the constants' uncertainty, by series
  double cost = 0, noise = 0;                  ///< noise: robust spread of the residuals, in units of their scale
  int steps = 0;
  bool converged = false;
};

/// Multiplies the prior's constants of a set by exp(change). A transport's other constants keep their ratio
/// to the value that follows from its tree_step.
void apply_changes(Constants& into, const Block& block, std::span<const double> change);

/// The constants that explain the measured times best, within the bounds of the parameter tables: the best of
/// `starts` minimisations. Machines, blocks and series refer to each other by index.
[[nodiscard]] Fit fit_constants(const std::vector<Block>& blocks, const std::vector<FittedMachine>& machines,
                                const std::vector<Series>& series, const FitOptions& options = {});

}  // namespace fabricost::core
