#pragma once
/// \file plan.hpp
/// The way to divide GPUs between training and generation that makes an iteration of reinforcement learning shortest.
///
/// The space: all GPUs for both, one after the other (colocated; the trainer's states stay or move to host memory), and splits
/// in steps of a node, at least a sixteenth of the GPUs. Training takes its fastest layout (training/search.hpp). Engines are
/// those on the front of throughput against speed (serving/plan.hpp): for each, the whole generation is priced.

#include <fabricost/hardware/host_rate.hpp>
#include <fabricost/parameters/interval.hpp>
#include <fabricost/refusal.hpp>
#include <fabricost/plan/rl/question.hpp>
#include <fabricost/plan/serving/plan.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/plan.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::plan {

namespace detail {

class RlSearch {
 public:
  RlSearch(const RlQuestion& q, const System& system)
      : q_(q), system_(system), machine_(system, q.rollout.constants, q.rollout.stack.kernels), costs_(system, {.ways = q.training.ways}) {}

  [[nodiscard]] RlPlan run();

 private:
  /// Training on so many GPUs.
  struct Trainer {
    PricedLayout layout;
    double update = 0, forward = 0;  ///< s of one update, and of its forward passes alone
    double low = 1, high = 1;        ///< of the interval, over the prediction
  };

  [[nodiscard]] std::vector<int> splits() const;

  [[nodiscard]] std::optional<Trainer> trainer(int gpus);

  [[nodiscard]] double bytes() const { return weight_bytes(q_.rollout.format.weights) * parameters_of(q_.training.model).total; }

  /// Engines to try on so many GPUs, each layout once.
  [[nodiscard]] std::vector<EngineLayout> engines(const ServingQuestion& q);

  /// The fastest generation on so many GPUs. \param taken bytes of each GPU that stay with the trainer
  void generate(PricedRl& way, RolloutTime& best, double taken);

  /// Seconds to judge all answers, on `gpus` GPUs.
  [[nodiscard]] double reward(int gpus);

  void finish(PricedRl way, const Trainer& trainer, const RolloutTime& rollout);
  /// Errors of generation and training are independent, the framework's is of both; of two at the same time, the longer counts.
  void set_interval(PricedRl& way, const Trainer& trainer) const;

  void colocated();

  void apart(int gpus);

  const RlQuestion& q_;
  const System& system_;
  ServingMachine machine_;
  GroupCosts costs_;
  RlPlan plan_;
  std::string why_;
};

}  // namespace detail

/// The ways to divide the GPUs, fastest first; none, and the last reason where nothing holds both. Deterministic.
/// \throws Refusal, RequestError
[[nodiscard]] RlPlan plan_rl(const RlQuestion& question, const System& system);

}  // namespace fabricost::plan
