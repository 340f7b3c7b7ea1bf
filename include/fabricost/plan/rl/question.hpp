#pragma once
/// An iteration of reinforcement learning: a batch of prompts is answered by serving engines, the answers are scored, the
/// policy is trained on them, and its new weights go to the engines.
///
///   rollout    generation of all answers (rollout.hpp), on the GPUs of the engines
///   trainer    reward + forward passes (log-probabilities before the update, of a reference, of a critic) + updates
///   sync       all_gather of the weights over the training GPUs; where engines are apart, a broadcast to them; the engines
///              take them in at their own rate
///   framework  generation and training take its factor longer; nothing else does
///   colocated  one after the other on all GPUs. The trainer's weights and optimizer either stay, which leaves the engines
///              less memory, or move to host memory and back
///   apart      rollout + trainer + sync, or with overlap  max(rollout, trainer) + sync

#include <fabricost/plan/model/dimension.hpp>
#include <fabricost/plan/rl/rollout.hpp>
#include <fabricost/plan/training/question.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// Generation while the policy is trained. none: no generation, answers come from the newest weights; one_step: that of
/// the next batch; continuous: engines generate without end, weights change under answers that are not complete.
enum class RlOverlap : unsigned char { none, one_step, continuous };
inline constexpr std::array<std::string_view, 3> rl_overlap_names{"none", "one_step", "continuous"};
[[nodiscard]] constexpr std::string_view name(RlOverlap o) { return rl_overlap_names[static_cast<std::size_t>(o)]; }

/// The request: the given parts of training and engines are fixed, the others are searched.
struct RlQuestion {
  TrainingQuestion training;  ///< one update; its GPUs are set by the search
  ServingQuestion rollout;    ///< likewise
  std::optional<ServingQuestion> reward{};  ///< a reward model that reads prompts with their answers
  RolloutLoad load;
  AnswerLengths lengths{1, 1, 0};
  int gpus = 0;
  double updates = 1;         ///< of the optimizer, on equal parts of the batch, over all epochs
  double epochs = 1;          ///< times that the batch is trained on
  bool log_probs = true;      ///< a forward pass before the update, for the probabilities the answers were sampled with
  bool reference = false;     ///< a forward pass of a reference model of the same shape
  bool critic = false;        ///< a value model of the same shape: a forward pass, and training
  double reward_seconds = 0;  ///< until all answers are judged, beside a reward model
  double load_rate = 0;                     ///< bytes per second of weights that an engine takes in
  std::optional<bool> colocated{};          ///< not given: the faster
  RlOverlap overlap = RlOverlap::none;
  std::optional<int> train_gpus{};
  double scale = 1;   ///< of generation and training, which a framework stretches: batches of unequal length, padding, data on the host
  double spread = 0;  ///< standard deviation of its log
  int top = 10;
};

/// Seconds of an iteration by cause; they sum to `seconds`.
struct RlTime {
  double seconds = 0;
  double prompts = 0, generation = 0, tail = 0;  ///< of RolloutTime
  double reward = 0;
  double log_probs = 0;  ///< forward passes
  double training = 0;
  double sync = 0;
  double reload = 0;  ///< trainer's states to host memory and back
  double framework = 0;  ///< time that the framework adds to generation and training
  double hidden = 0;     ///< time that overlap saves; subtracted

  /// Without the framework's part.
  [[nodiscard]] double rollout() const { return prompts + generation + tail; }
  [[nodiscard]] double trainer() const { return log_probs + training; }
};

/// One way to divide the GPUs.
struct PricedRl {
  bool colocated = false;
  bool offloads = false;  ///< trainer's states wait in host memory while answers are generated
  int train_gpus = 0, rollout_gpus = 0, idle_gpus = 0;  ///< that train, that generate, that do neither
  PricedLayout training;
  EngineLayout engine;
  int engines = 1;
  double running = 0;  ///< sequences of an engine at the full batch
  double token = 0;    ///< s per token of a sequence then
  RlTime time;
  double low = 0, high = 0;  ///< s, nine in ten iterations
  /// Shares of the iteration in which the GPUs of one kind wait for the others.
  double rollout_idle = 0, train_idle = 0;
};

struct RlPlan {
  std::vector<PricedRl> ways;  ///< fastest first
  std::optional<PricedRl> in_turn{};  ///< where overlap was asked for: the fastest without it, on all GPUs in turn
  long long evaluated = 0;     ///< engines whose generation was priced
  std::string why;             ///< of no way, the last reason
};

/// One update on so many GPUs. Answers are packed into sequences long enough for the longest, so that tokens and scores are
/// those of the answers; scores count inside each, E[L^2] / E[L] tokens. Packed sequences are fewer by up to an eighth, and
/// longer, where that makes their number a multiple of more GPUs: frameworks divide tokens, not sequences, over replicas.
[[nodiscard]] TrainingQuestion update_on(const RlQuestion& q, int gpus);

}  // namespace fabricost::plan
