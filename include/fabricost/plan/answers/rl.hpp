#pragma once
/// An iteration of reinforcement learning, and how GPUs are best divided between training and generation (rl/plan.hpp).
///
///   answers     prompts x samples, log-normal lengths of mean <osl>, none longer than <max_osl>
///   iteration   rollout + reward + forward passes + updates + weights to the engines; overlapped where <overlap> says so
///   tokens      of prompts and answers that are trained on

#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/rl/plan.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::plan {

[[nodiscard]] constexpr auto words_of(RlOverlap) { return EnumWords{rl_overlap_names, "a way to overlap"}; }

struct RlRequest {
  Machine system;  ///< the machine
  NamedModel model;
  std::optional<int> gpus, prompts, osl, max_osl;
  int samples = 8, isl = 1024;
  std::optional<double> length_spread, scale;
  int updates = 1, epochs = 1;
  std::optional<bool> colocated;
  RlOverlap overlap = RlOverlap::none;
  std::optional<int> train_gpus;
  bool log_probs = true, reference = false, critic = false;
  NamedModel reward_model;
  Time reward{};
  Precision precision = Precision::bf16;
  NamedStack stack{};
  std::optional<int> tp, pp, cp, ep, zero, microbatch;
  std::optional<Recompute> recompute;
  std::optional<WeightFormat> rollout_precision;
  std::string rollout_stack = ServingStack{}.name;
  std::optional<int> rollout_tp, rollout_pp, rollout_ep, rollout_dp, batch;
  int top = 10;
  std::string calibration;
  std::vector<std::string> overrides;

  static RequestTable<RlRequest> fields();
};

/// One division of the GPUs, with its iteration.
struct PlannedRl {
  std::string system{}, model{}, stack{}, rollout_stack{};
  int gpus = 0;
  bool colocated = false, offloads = false;
  int train_gpus = 0, rollout_gpus = 0, idle_gpus = 0;
  Time iteration{};
  std::pair<Time, Time> interval{};
  double tokens_per_second = 0, tokens_per_second_per_gpu = 0, answers_per_second = 0, rollout_idle = 0, train_idle = 0;
  std::vector<StepTerm> terms{};
  int tp = 1, pp = 1, vp = 1, cp = 1, ep = 1, dp = 1, zero = 0, microbatch = 1;
  std::string recompute{};
  Time step{};
  Bytes memory{};
  int rollout_tp = 1, rollout_pp = 1, rollout_ep = 1, rollout_dp = 1, engines = 1;
  double running = 0;
  Time tpot{};
  bool operator==(const PlannedRl&) const = default;

  static AnswerTable<PlannedRl> fields();
};

struct RlAnswer {
  std::vector<PlannedRl> layouts;
  std::optional<Time> in_turn{};
  long long evaluated = 0;
  Time search_time{};
  std::string model, system;
  int gpus = 0;
  std::string stack, rollout_stack;
  int global_batch = 0, sequence = 0;
  double answers = 0, mean_tokens = 0, longest_tokens = 0;
  std::string engine_note, stack_note;

  static AnswerTable<RlAnswer> fields();
};

/// \throws UnmetError where nothing fits; Refusal, RequestError as plan_rl; SpecError, RequestError as load_system, load_model
[[nodiscard]] RlAnswer answer(const RlRequest& request);

}  // namespace fabricost::plan
