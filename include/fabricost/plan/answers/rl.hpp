#pragma once
/// \file rl.hpp
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
  Machine system;
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

  static constexpr auto fields() {
    using R = RlRequest;
    using enum Amount;
    return Table{
        field::ask_machine<R>,
        field::ask_model<R>,
        field::ask_gpus<R>,
        asks(&R::prompts, "prompts", "--prompts", count, any_count, "N", "Prompts per iteration", true),
        asks(&R::samples, "samples", "--samples", count, any_count, "N", "Answers per prompt; default 8"),
        asks(&R::isl, "isl", "--isl", length, any_count, "N", "Tokens per prompt, as in 128k (131072); default 1024"),
        asks(&R::osl, "osl", "--osl", length, any_count, "N", "Mean tokens per answer", true),
        asks(&R::max_osl, "max_osl", "--max-osl", length, any_count, "N", "Longest answer, tokens", true),
        asks(&R::length_spread, "length_spread", "--length-spread", number, {0, 5}, "X",
             "Standard deviation of the log of an answer's length; 0: all equal;\ndefault 0.8"),
        asks(&R::updates, "updates", "--updates", count, any_count, "N", "Optimizer steps of an iteration; default 1"),
        asks(&R::epochs, "epochs", "--epochs", count, any_count, "N", "Passes over the answers; default 1"),
        asks(&R::colocated, "colocated", "--colocated", "YES",
             "Generate and train on the same GPUs in turn (yes) or apart\n(no); default the faster"),
        asks(&R::overlap, "overlap", "--overlap", "HOW",
             "Overlap: none (default); one_step: generate the next answers\nmeanwhile; continuous: generation never ends, weights change\nunder it"),
        asks(&R::train_gpus, "train_gpus", "--train-gpus", count, any_count, "N", "GPUs that train (the others generate); default searched"),
        asks(&R::log_probs, "log_probs", "--no-log-probs", "", "Skip the forward pass for probabilities before the update"),
        asks(&R::reference, "reference", "--reference", "", "Add a forward pass of a reference model of the same shape"),
        asks(&R::critic, "critic", "--critic", "", "Train a value model of the same shape as well (PPO)"),
        asks(&R::reward_model, "reward_model", "--reward-model", "NAME", "Model that reads all answers to judge them"),
        asks(&R::reward, "reward_seconds", "--reward-time", seconds, {0, 1e6}, "TIME", "Time until all answers are judged, as 10s"),
        asks(&R::precision, "precision", "--precision", "P", "Precision of training: bf16 (default), fp16, fp8, fp4"),
        asks(&R::stack, "stack", "--stack", "NAME", "Training software; default as for training alone"),
        asks(&R::tp, "tp", "--tp", count, any_count, "N", "Training: tensor parallel size (TP); default searched"),
        asks(&R::pp, "pp", "--pp", count, any_count, "N", "Training: pipeline stages (PP); default searched"),
        asks(&R::cp, "cp", "--cp", count, any_count, "N", "Training: context parallel size (CP); default searched"),
        asks(&R::ep, "ep", "--ep", count, any_count, "N", "Training: expert parallel size (EP); default searched"),
        asks(&R::zero, "zero", "--zero", count, {0, 3}, "0..3", "Training: ZeRO stage; default searched"),
        asks(&R::microbatch, "microbatch", "--microbatch", count, any_count, "N", "Training: packed sequences per microbatch"),
        asks(&R::recompute, "recompute", "--recompute", "KIND", "Activation recomputation: none, selective or full; default\nsearched"),
        asks(&R::rollout_precision, "rollout_precision", "--rollout-precision", "P", "Precision of the engines' weights; default bf16"),
        asks(&R::rollout_stack, "rollout_stack", "--rollout-stack", "NAME", "Serving framework: vllm (default), sglang, trtllm, ..."),
        asks(&R::rollout_tp, "rollout_tp", "--rollout-tp", count, any_count, "N", "Engine: tensor parallel size (TP)"),
        asks(&R::rollout_pp, "rollout_pp", "--rollout-pp", count, any_count, "N", "Engine: pipeline stages (PP)"),
        asks(&R::rollout_ep, "rollout_ep", "--rollout-ep", count, any_count, "N", "Engine: expert parallel size (EP)"),
        asks(&R::rollout_dp, "rollout_dp", "--rollout-dp", count, any_count, "N", "Engine: replicas of attention (DP)"),
        asks(&R::batch, "batch", "--batch", count, any_count, "N", "Largest number of sequences that an engine decodes at once"),
        asks(&R::scale, "scale", "--rl-scale", number, {0.2, 10}, "X",
             "Multiply generation and training by X (measured / predicted on\nyour own run); default what published frameworks took"),
        asks(&R::top, "top", "--top,-k", count, any_count, "K", "Number of divisions to print; default 10"),
        field::ask_calibration<R>,
        field::ask_overrides<R>};
  }
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

  static constexpr auto fields() {
    using A = PlannedRl;
    return Table{
        field::give_system_to_python<A>,
        gives(&A::model, "", "model", "Name of the model."),
        gives(&A::stack, "", "stack", "Name of the training stack."),
        gives(&A::rollout_stack, "", "rollout_stack", "Name of the serving framework."),
        gives(&A::gpus, "", "gpus", "GPUs of both together."),
        gives(&A::colocated, "colocated", "colocated", "Whether all GPUs generate and train in turn."),
        gives(&A::offloads, "offloads", "offloads", "Whether the trainer's states wait in host memory meanwhile."),
        gives(&A::train_gpus, "train_gpus", "train_gpus", "GPUs that train."),
        gives(&A::rollout_gpus, "rollout_gpus", "rollout_gpus", "GPUs that generate."),
        gives(&A::iteration, "iteration_s", "iteration_seconds", "One iteration, s: the sum of terms."),
        gives(&A::interval, "interval_s", "interval_seconds", "(low, high), s: nine iterations in ten should fall between."),
        gives(&A::tokens_per_second, "tokens_per_s", "tokens_per_second", "Tokens of prompts and answers trained on, over the iteration."),
        gives(&A::tokens_per_second_per_gpu, "tokens_per_s_per_gpu", "tokens_per_second_per_gpu", "The same over all GPUs."),
        gives(&A::answers_per_second, "answers_per_s", "answers_per_second", "Answers over the iteration."),
        gives(&A::rollout_idle, "rollout_idle", "rollout_idle", "Share of the iteration that the generating GPUs wait for training."),
        gives(&A::train_idle, "train_idle", "train_idle", "Share of the iteration that the training GPUs wait for answers."),
        gives(&A::terms, "terms", "terms",
              "prompts, generation at the full batch, tail (few long answers), reward, log_probs, training, sync, reload; framework: what "
              "it adds; hidden: what overlap saves; a list of StepTerm."),
        gives(&A::tp, "training.tp", "tp", "Tensor ranks of training."),
        gives(&A::pp, "training.pp", "pp", "Its stages."),
        gives(&A::vp, "training.vp", "vp", "Chunks of layers a stage."),
        gives(&A::cp, "training.cp", "cp", "Its context ranks."),
        gives(&A::ep, "training.ep", "ep", "Its expert ranks."),
        gives(&A::dp, "training.dp", "dp", "Its replicas."),
        gives(&A::zero, "training.zero", "zero", "What is sharded over them."),
        gives(&A::microbatch, "training.microbatch", "microbatch", "Packed sequences a microbatch."),
        gives(&A::recompute, "training.recompute", "recompute", "Its recomputation."),
        gives(&A::step, "training.step_s", "step_seconds", "One update, s."),
        gives(&A::memory, "training.memory_GiB", "memory_bytes", "Bytes of the fullest training GPU.", gibibyte),
        gives(&A::rollout_tp, "rollout.tp", "rollout_tp", "Tensor ranks of an engine."),
        gives(&A::rollout_pp, "rollout.pp", "rollout_pp", "Its stages."),
        gives(&A::rollout_ep, "rollout.ep", "rollout_ep", "Its expert ranks."),
        gives(&A::rollout_dp, "rollout.dp", "rollout_dp", "Its attention replicas."),
        gives(&A::engines, "rollout.engines", "engines", "Engines."),
        gives(&A::running, "rollout.batch", "running", "Sequences that an engine decodes at once before it drains."),
        gives(&A::tpot, "rollout.tpot_s", "tpot_seconds", "Time per token of an answer then, s.")};
  }
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

  static constexpr auto fields() {
    using A = RlAnswer;
    return Table{gives(&A::layouts, "layouts", "", "Divisions of the GPUs, shortest iteration first."),
                 gives(&A::evaluated, "evaluated", "evaluated", "Engines whose generation was priced."),
                 field::give_search_time<A>,
                 gives(&A::model, "model", "", "Name of the model."),
                 gives(&A::system, "system", "", "Name of the machine."),
                 gives(&A::gpus, "gpus", "gpus", "GPUs of the job."),
                 gives(&A::stack, "stack", "", "Name of the training stack."),
                 gives(&A::rollout_stack, "rollout_stack", "", "Name of the serving framework."),
                 gives(&A::global_batch, "global_batch", "global_batch", "Packed sequences of an update, of the first division."),
                 gives(&A::sequence, "sequence", "sequence", "Tokens of a packed sequence."),
                 gives(&A::answers, "answers", "answers", "Answers of an iteration."),
                 gives(&A::mean_tokens, "mean_tokens", "mean_tokens", "Tokens of a prompt and its answer, the mean."),
                 gives(&A::longest_tokens, "longest_tokens", "longest_tokens", "The same of the longest that is expected.")};
  }
};

/// \throws UnmetError where nothing fits; Refusal, RequestError as plan_rl; SpecError, RequestError as load_system, load_model
[[nodiscard]] RlAnswer answer(const RlRequest& request);

}  // namespace fabricost::plan
