#pragma once
/// The layouts that train a model fastest on a machine, or the price of one given layout (training/plan.hpp).
///
///   given      a layout with tp, pp and one of cp, dp, microbatch: priced whether or not it fits, and without
///              recomputation unless that is given
///   headroom   share of the memory that stays free: 0.05, and 0 for a given layout
///   idle       fewer GPUs than given where that is faster; figures a GPU are of those given. Not for a layout given with its dp
///   batch      the one given; with batch_within any within that share of it, where it trains more tokens a second
///   first      the plainest layout within 1 % of the fastest (training/search_space.hpp)

#include <fabricost/answers/predict.hpp>
#include <fabricost/plan/answers/pipeline.hpp>
#include <fabricost/plan/economics/terms.hpp>
#include <fabricost/plan/explain/memory.hpp>
#include <fabricost/plan/explain/step.hpp>
#include <fabricost/plan/fields/named_models.hpp>
#include <fabricost/plan/training/plan.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::plan {

[[nodiscard]] constexpr auto words_of(Recompute) { return EnumWords{recompute_names, "a kind of recomputation"}; }

/// Formats that an optimizer keeps its values in; `none`: no such value.
enum class StateFormat : unsigned char { fp32, bf16, fp16, fp8, none };
inline constexpr std::array<std::string_view, 5> state_format_names{"fp32", "bf16", "fp16", "fp8", "none"};
[[nodiscard]] constexpr auto words_of(StateFormat) { return EnumWords{state_format_names, "a format of an optimizer's values"}; }
[[nodiscard]] constexpr auto words_of(AttentionKernel) { return EnumWords{attention_kernel_names, "a kind of attention"}; }
[[nodiscard]] constexpr auto words_of(ContextParallel) { return EnumWords{context_names, "a way of context ranks"}; }

/// Formats in which sites exchange what their weights have moved.
enum class OuterFormat : unsigned char { fp32, bf16, fp8, fp4 };
inline constexpr std::array<std::string_view, 4> outer_format_names{"fp32", "bf16", "fp8", "fp4"};
[[nodiscard]] constexpr auto words_of(OuterFormat) { return EnumWords{outer_format_names, "a format of exchanged values"}; }

/// Kernels that bring tokens to experts: every choice alone, a token once a domain (DeepEP), that and sorted (HybridEP).
enum class Dispatcher : unsigned char { alltoall, deepep, hybridep };
inline constexpr std::array<std::string_view, 3> dispatcher_names{"alltoall", "deepep", "hybridep"};
[[nodiscard]] constexpr auto words_of(Dispatcher) { return EnumWords{dispatcher_names, "a dispatcher of tokens"}; }
/// Scales of fp8: one a tensor (of the last steps, or of this one), one a block of 128, one for 32 values.
enum class Fp8Recipe : unsigned char { delayed, tensorwise, blockwise, mxfp8 };
inline constexpr std::array<std::string_view, 4> fp8_recipe_names{"delayed", "tensorwise", "blockwise", "mxfp8"};
[[nodiscard]] constexpr auto words_of(Fp8Recipe) { return EnumWords{fp8_recipe_names, "a recipe of fp8"}; }
[[nodiscard]] constexpr auto words_of(Placing) { return EnumWords{placing_names, "a placing of stages"}; }

struct PlanRequest {
  Machine system;  ///< the machine
  NamedModel model;
  std::optional<int> gpus, global_batch;
  int sequence = 4096;
  Precision precision = Precision::bf16;
  NamedStack stack{};
  std::optional<double> stack_scale;
  std::optional<Time> measured_step;
  int top = 10;
  std::optional<int> max_tp, tp, pp, vp, cp, ep, expert_tp, dp, zero, shard, microbatch;
  std::optional<PipelineSchedule> schedule;
  std::optional<Recompute> recompute;
  std::optional<bool> sequence_parallel;
  std::optional<Placing> placing;
  std::optional<Routing> routing;
  std::optional<double> capacity, headroom;
  std::string calibration;
  std::vector<std::string> overrides;
  bool sensitivity = false, pareto = false, explain = false;
  std::optional<Inference> library{};
  OnOff nvls = OnOff::on;
  bool symmetric = false;
  std::vector<std::string> recompute_modules;
  std::optional<int> recompute_num_layers, cpu_offloading_num_layers;
  std::string recompute_num_layers_per_stage;
  std::optional<double> optimizer_offload_fraction;
  std::optional<StateFormat> main_params_dtype, exp_avg_dtype, exp_avg_sq_dtype;
  std::optional<bool> store_param_remainders, grad_reduce_in_fp32, fp8_param_gather, activation_func_fp8_input_store, cuda_graphs;
  std::optional<int> lora_rank;
  std::vector<std::string> lora_modules;
  std::optional<int> document;
  std::optional<ContextParallel> cp_comm_type;
  std::optional<Fp8Recipe> fp8_recipe;
  std::optional<Dispatcher> moe_dispatcher;
  std::optional<bool> fp8_attention, overlap_moe_comm, tp_comm_overlap, overlap_grad_reduce;
  std::optional<int> mtp_num_layers;
  std::optional<AttentionKernel> attention;
  double batch_within = 0;
  std::string image;
  std::optional<int> images;
  double network_share = 1;
  std::optional<int> sites, sync_every, sync_fragments, sync_overlap;
  std::optional<Bandwidth> site_rate;
  std::optional<double> site_distance, sync_penalty;
  double site_availability = 1;
  std::optional<OuterFormat> sync_precision;
  std::optional<int> decoder_first_pipeline_num_layers, decoder_last_pipeline_num_layers;
  bool account_for_embedding_in_pipeline_split = false, account_for_loss_in_pipeline_split = false;
  std::optional<bool> reshard_after_forward;
  std::optional<int> prefetch_layers;
  bool load_in_4bit = false;
  NamedModel frozen_model{};
  std::optional<Time> data_time;
  double evaluation_share = 0;
  double plain_within = plainer_within;  ///< TrainingQuestion::plain_within; no field: need asks for the fastest
  WantedLayouts wanted{};                ///< by other questions

  static RequestTable<PlanRequest> fields();
  /// Those of a search among many points: without how many layouts are listed, what is said of the best, its sites and its share of a
  /// network.
  static RequestTable<PlanRequest> fields_of_search();
};

[[nodiscard]] AnswerTable<MemoryPart> table_for(std::type_identity<MemoryPart> of);

/// One layout of a training job, with its step.
struct PlannedLayout {
  std::string system{}, model{}, stack{};
  int gpus = 0, global_batch = 0, sequence = 0;
  std::string precision{};
  double headroom = 0;
  int tp = 1, pp = 1, vp = 1, cp = 1, ep = 1, dp = 1, zero = 0, microbatch = 1;
  std::string schedule{}, recompute{};
  int used_gpus = 0;
  Time step{};
  double tokens_per_second = 0, tokens_per_second_per_gpu = 0, flops_per_second_per_gpu = 0, mfu = 0;
  Bytes memory_size{};
  Time exposed_communication{};
  std::vector<StepTerm> terms{};
  int expert_tp = 1, shard = 0;
  bool fits = true, sequence_parallel = false;
  std::string placing{};
  std::pair<Time, Time> interval{};
  double gpu_hours_per_trillion_tokens = 0, mfu_causal = 0, flops_per_second_per_gpu_causal = 0;
  int idle_gpus = 0, needed_gpus = 0;
  std::string recompute_modules{}, cp_comm_type{};
  std::vector<MemoryPart> memory{};
  std::optional<Bytes> host{};
  std::optional<int> recompute_num_layers{}, cpu_offloading_num_layers{};
  std::optional<double> optimizer_offload_fraction{};
  std::optional<int> decoder_first_pipeline_num_layers{}, decoder_last_pipeline_num_layers{};
  std::string recompute_num_layers_per_stage{};
  bool operator==(const PlannedLayout&) const = default;

  static AnswerTable<PlannedLayout> fields();
};

/// A job on several sites: rounds of steps, then an exchange over the links between them.
struct PlannedSites {
  int sites = 0, gpus = 0, every = 0, fragments = 0, overlap = 0;
  std::string precision{};
  Time step{};
  double tokens_per_second = 0;
  std::vector<StepTerm> terms{};
  std::string bottleneck{};
  Bytes sent{};
  Time exchange{};
  double link_use = 0;
  Bytes state{};
  bool state_on_gpu = true;
  double penalty = 0;
  bool penalty_extrapolated = false;
  double useful_tokens_per_second = 0;
  Time plain_step{};
  double plain_tokens_per_second = 0, gain = 0;
  std::vector<std::string> how{};
  bool operator==(const PlannedSites&) const = default;

  static AnswerTable<PlannedSites> fields();
};

/// The effect of one change of the machine on a training job.
struct PlanChange {
  std::string change{};
  Time step{};
  double gain = 0;
  bool operator==(const PlanChange&) const = default;

  static AnswerTable<PlanChange> fields();
};

/// The fastest layout explained.
struct PlanExplanation {
  std::vector<ExplainedTerm> terms{};
  std::optional<PlannedLayout> usual{};
  std::string against_usual{}, interval{};
  bool operator==(const PlanExplanation&) const = default;

  static AnswerTable<PlanExplanation> fields();
};

/// The question and the result of the search, in full.
struct FoundPlan {
  TrainingQuestion question;
  System system;
  TrainingPlan plan;
  std::vector<PricedLayout> pareto;  ///< where it was requested
  std::optional<ExplainedStep> explained;
};

struct PlanAnswer {
  std::vector<PlannedLayout> layouts;
  long long evaluated = 0, pruned = 0;
  Time search_time{};
  std::string model, system;
  int gpus = 0;
  std::string stack;
  int global_batch = 0, sequence = 0;
  std::string precision;
  double headroom = 0;
  long long unfit = 0;
  bool fits = true;
  double beside_products = core::prior::beside::collective;
  std::string advice, kernels;
  std::vector<PlanChange> sensitivity;
  std::vector<PlannedLayout> pareto;
  std::optional<PlanExplanation> explanation;
  std::optional<PlannedSites> sites;
  std::optional<Time> alone, fastest;
  std::optional<PlannedLayout> best;  ///< best_of_job; of the command's JSON alone, since it takes a search
  std::optional<double> stack_scale;
  std::shared_ptr<const FoundPlan> found;

  static AnswerTable<PlanAnswer> fields();
};

/// \throws UnmetError where nothing fits; Refusal, RequestError as plan_training; SpecError, RequestError as load_system, load_model
[[nodiscard]] PlanAnswer answer(const PlanRequest& request);
/// The question of the search on a machine: the request with its model and stack loaded. \throws as answer
[[nodiscard]] TrainingQuestion training_question(const PlanRequest& request, const System& system);
/// A stack as it runs on a machine, loaded; where none is named its usual_stack. \throws as load_stack
[[nodiscard]] NamedStack stack_on(const NamedStack& stack, const System& system);
/// "stack nemo was not measured on ampere, so that times are less sure; ...", naming the field; empty: it was, or its factor is given.
[[nodiscard]] std::string stack_note(const Stack& stack, const System& system);

/// A file of a trace, and its content.
struct TimelineFile {
  std::string name, text;
};
/// The step of the fastest layout as traces (Kineto, JSON) of one rank of each stage. \throws RequestError without layouts
[[nodiscard]] std::vector<TimelineFile> timeline_of(const FoundPlan& found);

/// Where a request named one layout that fits, the best with its fields open, in the same stack: a search of its own.
[[nodiscard]] std::optional<PlannedLayout> best_of_job(const PlanAnswer& answer);
/// Repeats the search with 10 % more of each part of the machine (training/plan.hpp).
[[nodiscard]] std::vector<PlanChange> changes_of(const FoundPlan& found);
/// The fastest layout explained term by term.
[[nodiscard]] PlanExplanation explanation_of(const FoundPlan& found, const ExplainedStep& step);
[[nodiscard]] std::vector<PlannedLayout> planned(const TrainingQuestion& question, const System& system,
                                                 const std::vector<PricedLayout>& layouts);

}  // namespace fabricost::plan
