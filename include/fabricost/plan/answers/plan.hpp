#pragma once
/// The layouts that train a model fastest on a machine, or the price of one given layout (training/plan.hpp).
///
///   given      a layout with tp, pp and one of cp, dp, microbatch: priced whether or not it fits, and without
///              recomputation unless that is given
///   headroom   share of the memory that stays free: 0.05, and 0 for a given layout
///   idle       fewer GPUs than given where that is faster; figures a GPU are of those given. Not for a layout given with its dp
///   batch      the one given; with batch_within any within that share of it, where it trains more tokens a second
///   first      the plainest layout within 1 % of the fastest (training/search_space.hpp)

#include <fabricost/plan/answers/pipeline.hpp>
#include <fabricost/answers/predict.hpp>
#include <fabricost/plan/explain/memory.hpp>
#include <fabricost/plan/explain/step.hpp>
#include <fabricost/plan/fields/named_models.hpp>
#include <fabricost/plan/economics/terms.hpp>
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
  Machine system;                         ///< the machine
  NamedModel model;                       ///< the model
  std::optional<int> gpus;                ///< number of GPUs
  std::optional<int> global_batch;        ///< sequences per step
  int sequence = 4096;                    ///< tokens per sequence, as in 128k (131072); default 4096
  Precision precision = Precision::bf16;  ///< precision of matrix products: bf16 (default), fp16, fp8, fp4
  NamedStack stack{};                 ///< training software: a name of data/stacks, or a YAML file; default one with published steps: nemo
  std::optional<double> stack_scale;  ///< factor on kernels and launches, in place of the stack's own, as measured_step finds it
  std::optional<Time> measured_step;  ///< step that you measured of the layout named, as in 18.02s
  int top = 10;                       ///< number of layouts to print; default 10
  std::optional<int> max_tp;          ///< largest tensor parallel size; default a scale-up domain's GPUs
  std::optional<int> tp;              ///< tensor parallel size (TP); what is not given is searched
  std::optional<int> pp;              ///< pipeline stages (PP)
  std::optional<int> vp;              ///< virtual stages: chunks of layers per stage (VP)
  std::optional<int> cp;              ///< context parallel size (CP)
  std::optional<int> ep;              ///< expert parallel size (EP)
  std::optional<int> expert_tp;       ///< tensor parallel size of one expert
  std::optional<int> dp;              ///< data parallel size (DP)
  std::optional<int> zero;            ///< ZeRO stage: 0 shards nothing, 1 optimizer, 2 + gradients, 3 + weights
  std::optional<int> shard;           ///< replicas over which zero shards; default all (fewer: HSDP)
  std::optional<int> microbatch;      ///< sequences per microbatch
  std::optional<PipelineSchedule> schedule;  ///< pipeline schedule: 1f1b, ..., dualpipe; default those of the stack
  std::optional<Recompute> recompute;     ///< activation recomputation: none, selective or full; default searched ((none if zero is given))
  std::optional<bool> sequence_parallel;  ///< sequence parallelism, yes or no; default yes where TP divides the sequence
  std::optional<Placing> placing;      ///< rank order: data_inside or stages_inside (which neighbours are nearest); default the faster one
  std::optional<Routing> routing;      ///< load of the experts: balanced (default), uniform, zipf:1.0
  std::optional<double> capacity;      ///< MoE capacity factor; tokens over it are dropped (default: no limit)
  std::optional<double> headroom;      ///< fraction of GPU memory to keep free (default 0.05; 0 if the layout is fully specified)
  std::string calibration;             ///< none, or a calibration file; default the shipped one
  std::vector<std::string> overrides;  ///< override a value of the machine, as in tiers.nic.endpoints=4
  bool sensitivity = false;  ///< also the gain from 10 % more of each tier, of memory, a larger domain, fp8, or overlapped token exchange
  bool pareto = false;       ///< also the Pareto front: layouts that no other beats in both time and memory (serving: in both rates)
  bool explain = false;      ///< also the arithmetic of each term, its groups and links, what would change it, and the usual layout
  std::optional<Inference> library{};  ///< NCCL release, as nccl-2.18; default the newest known
  OnOff nvls = OnOff::on;              ///< in-switch reduction, on (default) or off (NCCL_NVLS_ENABLE=0)
  bool symmetric = false;              ///< buffers in symmetric windows (NCCL 2.27 and later), for all_reduces inside one NVLink domain
  std::vector<std::string> recompute_modules;    ///< modules to recompute selectively: core_attn, mlp, moe, moe_act, mla_up_proj, layernorm
  std::optional<int> recompute_num_layers;       ///< layers to recompute in full; default all
  std::optional<int> cpu_offloading_num_layers;  ///< layers per stage whose activations are kept in host memory
  std::string recompute_num_layers_per_stage;    ///< layers of each stage to recompute in full, as 4,3,2,0
  std::optional<double> optimizer_offload_fraction;     ///< fraction of optimizer states kept and updated in host memory
  std::optional<StateFormat> main_params_dtype;         ///< master weights: fp32, fp16 or none; default as the stack
  std::optional<StateFormat> exp_avg_dtype;             ///< first moment: fp32, bf16, fp16 or fp8; default as the stack
  std::optional<StateFormat> exp_avg_sq_dtype;          ///< second moment: fp32, bf16, fp16 or fp8; default as the stack
  std::optional<bool> store_param_remainders;           ///< store only the bits of master weights that 16-bit weights lack
  std::optional<bool> grad_reduce_in_fp32;              ///< add up and exchange gradients in 32 bit (no: in 16)
  std::optional<bool> fp8_param_gather;                 ///< keep fp8 weights only, no 16-bit copy
  std::optional<bool> activation_func_fp8_input_store;  ///< keep inputs of the activation function in fp8
  std::optional<bool> cuda_graphs;                      ///< replay layers as CUDA graphs: no launches, static buffers
  std::optional<int> lora_rank;                         ///< train adapters of this rank only, the weights are frozen
  std::vector<std::string> lora_modules;  ///< modules with an adapter: linear_qkv, linear_proj, linear_fc1, linear_fc2; default all four
  std::optional<int> document;            ///< tokens per document, if several are packed into a sequence and attend to themselves only
  std::optional<ContextParallel> cp_comm_type;  ///< context parallel exchange: p2p (a ring), all_gather, or a2a
  std::optional<Fp8Recipe> fp8_recipe;       ///< scaling of fp8: delayed or tensorwise (one a tensor), blockwise (blocks of 128) or mxfp8
  std::optional<Dispatcher> moe_dispatcher;  ///< token dispatcher: alltoall, deepep (a token once per domain) or hybridep
  std::optional<bool> fp8_attention;         ///< attention in fp8 too (fp8_dpa); default as the stack
  std::optional<bool> overlap_moe_comm;      ///< overlap the token exchange with another microbatch's kernels
  std::optional<bool> tp_comm_overlap;       ///< overlap TP communication with the products (user buffers); default as the stack
  std::optional<bool> overlap_grad_reduce;   ///< overlap the exchange of gradients and weights with the backward (without pipeline stages)
  std::optional<int> mtp_num_layers;         ///< multi-token prediction modules; default as the model
  std::optional<AttentionKernel> attention;  ///< attention kernel: cudnn (the maker's own), flash3, flash2 or math
  double batch_within = 0;  ///< largest change of the batch, as in 5%, to train more tokens per second; default 0: the batch given
  std::string image;  ///< width x height of an image, as 512x512, or with the frames of a video, as 832x480x81: diffusion: sets sequence
  std::optional<int> images;      ///< images per sequence that an encoder reads, which holds their merged tokens
  double network_share = 1;       ///< share of the NICs' rate that other jobs on the network leave until they end, as in 50%; default all
  std::optional<int> sites;       ///< train on N sites, each with gpus and global_batch, that exchange after rounds of steps (DiLoCo)
  std::optional<int> sync_every;  ///< steps of a round; default 30, those of the published loss
  std::optional<int> sync_fragments;    ///< fragments of the model that are exchanged one after the other in a round (streaming DiLoCo)
  std::optional<int> sync_overlap;      ///< steps that go on while a fragment is exchanged; default 0
  std::optional<Bandwidth> site_rate;   ///< rate of a site's link to the others, one way, as "100 Gbit/s"
  std::optional<double> site_distance;  ///< fibre between two sites, as in 500km; default 0
  std::optional<double> sync_penalty;   ///< more tokens for the same loss than data parallelism needs, as in 10%
  double site_availability = 1;         ///< share of the time that a site works, as in 99%: rounds go on without it, data parallelism waits
  std::optional<OuterFormat> sync_precision;             ///< format of the values exchanged: fp32 (default), bf16, fp8 or fp4
  std::optional<int> decoder_first_pipeline_num_layers;  ///< layers of the first pipeline stage; the stages between share the rest evenly
  std::optional<int> decoder_last_pipeline_num_layers;   ///< layers of the last pipeline stage
  bool account_for_embedding_in_pipeline_split = false;  ///< count the embedding as a layer when layers are divided over stages
  bool account_for_loss_in_pipeline_split = false;  ///< count the output matrix and loss as a layer when layers are divided over stages
  std::optional<bool> reshard_after_forward;  ///< zero 3: drop gathered weights after the forward and gather them again for the backward
  std::optional<int> prefetch_layers;         ///< zero 3: layers whose weights are gathered ahead of the one that runs; 0: no overlap
  bool load_in_4bit = false;  ///< keep the frozen weights beside adapters in NF4, brought to 16 bit for each product (QLoRA)
  NamedModel frozen_model{};  ///< second model on the same GPUs whose forward each microbatch takes too: the reference of DPO, a teacher
  std::optional<Time> data_time;         ///< time of a step that waits for data, as in 20ms; default 0
  double evaluation_share = 0;           ///< time of evaluation over that of training steps, as in 3%; default 0
  double plain_within = plainer_within;  ///< TrainingQuestion::plain_within; no field: need asks for the fastest
  WantedLayouts wanted{};  ///< by other questions

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
  int idle_gpus = 0;
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
