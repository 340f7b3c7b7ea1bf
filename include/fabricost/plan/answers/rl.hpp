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
  Machine system;                                   ///< the machine
  NamedModel model;                                 ///< the model
  std::optional<int> gpus;                          ///< number of GPUs
  std::optional<int> prompts;                       ///< prompts per iteration
  std::optional<int> osl;                           ///< mean tokens per answer
  std::optional<int> max_osl;                       ///< longest answer, tokens
  int samples = 8;                                  ///< answers per prompt; default 8
  int isl = 1024;                                   ///< tokens per prompt, as in 128k (131072); default 1024
  std::optional<double> length_spread;              ///< standard deviation of the log of an answer's length; 0: all equal; default 0.8
  std::optional<double> scale;                      ///< multiply generation and training by X (measured / predicted on your own run)
  int updates = 1;                                  ///< optimizer steps of an iteration; default 1
  int epochs = 1;                                   ///< passes over the answers; default 1
  std::optional<bool> colocated;                    ///< generate and train on the same GPUs in turn (yes) or apart (no); default the faster
  RlOverlap overlap = RlOverlap::none;              ///< none (default), one_step (generate the next answers meanwhile) or continuous
  std::optional<int> train_gpus;                    ///< GPUs that train (the others generate); default searched
  bool log_probs = true;                            ///< a forward pass for probabilities before the update
  bool reference = false;                           ///< add a forward pass of a reference model of the same shape
  bool critic = false;                              ///< train a value model of the same shape as well (PPO)
  NamedModel reward_model;                          ///< model that reads all answers to judge them
  Time reward{};                                    ///< time until all answers are judged, as 10s
  Precision precision = Precision::bf16;            ///< precision of training: bf16 (default), fp16, fp8, fp4
  NamedStack stack{};                               ///< training software; default as for training alone
  std::optional<int> tp;                            ///< tensor parallel size (TP); default searched
  std::optional<int> pp;                            ///< pipeline stages (PP); default searched
  std::optional<int> cp;                            ///< context parallel size (CP); default searched
  std::optional<int> ep;                            ///< expert parallel size (EP); default searched
  std::optional<int> zero;                          ///< ZeRO stage; default searched
  std::optional<int> microbatch;                    ///< packed sequences per microbatch
  std::optional<Recompute> recompute;               ///< activation recomputation: none, selective or full; default searched
  std::optional<WeightFormat> rollout_precision;    ///< precision of the engines' weights; default bf16
  std::string rollout_stack = ServingStack{}.name;  ///< serving framework: vllm (default), sglang, trtllm
  std::optional<int> rollout_tp;                    ///< engine: tensor parallel size (TP)
  std::optional<int> rollout_pp;                    ///< engine: pipeline stages (PP)
  std::optional<int> rollout_ep;                    ///< engine: expert parallel size (EP)
  std::optional<int> rollout_dp;                    ///< engine: replicas of attention (DP)
  std::optional<int> batch;                         ///< largest number of sequences that an engine decodes at once
  int top = 10;                                     ///< number of divisions to print; default 10
  std::string calibration;                          ///< none, or a calibration file; default the shipped one
  std::vector<std::string> overrides;               ///< values of the machine, as in tiers.nic.endpoints=4

  static RequestTable<RlRequest> fields();
};

/// One division of the GPUs, with its iteration.
struct PlannedRl {
  std::string system{}, model{}, stack{}, rollout_stack{};
  int gpus = 0;
  bool colocated = false, offloads = false;
  int train_gpus = 0, rollout_gpus = 0;
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
  long long evaluated = 0;
  Time search_time{};
  std::string model, system;
  int gpus = 0;
  std::string stack, rollout_stack;
  int global_batch = 0, sequence = 0;
  double answers = 0, mean_tokens = 0, longest_tokens = 0;

  static AnswerTable<RlAnswer> fields();
};

/// \throws UnmetError where nothing fits; Refusal, RequestError as plan_rl; SpecError, RequestError as load_system, load_model
[[nodiscard]] RlAnswer answer(const RlRequest& request);

}  // namespace fabricost::plan
