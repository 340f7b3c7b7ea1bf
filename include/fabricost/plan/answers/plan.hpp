#pragma once
/// \file plan.hpp
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
  Machine system;
  NamedModel model;
  std::optional<int> gpus, global_batch;
  int sequence = 4096;
  Precision precision = Precision::bf16;
  NamedStack stack{};
  std::optional<double> stack_scale;
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

  static constexpr auto fields() {
    using R = PlanRequest;
    using enum Amount;
    return Table{
        field::ask_machine<R>,
        field::ask_model<R>,
        field::ask_gpus<R>,
        asks(&R::global_batch, "global_batch", "--global-batch,-b", count, any_count, "N", "Sequences per step", true),
        asks(&R::sequence, "sequence", "--sequence,-l", length, any_count, "N", "Tokens per sequence, as in 128k (131072); default 4096"),
        asks(&R::precision, "precision", "--precision", "P", "Precision of matrix products: bf16 (default), fp16, fp8, fp4"),
        asks(&R::stack, "stack", "--stack", "NAME", "Training software: a name of data/stacks, or a YAML file;\ndefault one with published steps: nemo, on TPUs maxtext-tpu,\non AMD rocm-mlperf; elsewhere megatron-core"),
        asks(&R::stack_scale, "stack_scale", "--stack-scale", number, {0.2, 5}, "X",
             "Factor on kernels and launches, in place of the stack's own:\nmeasured / predicted of one of your own steps"),
        asks(&R::max_tp, "max_tp", "--max-tp", count, any_count, "N", "Largest tensor parallel size; default a scale-up domain's GPUs"),
        asks(&R::tp, "tp", "--tp", count, any_count, "N", "Tensor parallel size (TP); what is not given is searched"),
        asks(&R::pp, "pp", "--pp", count, any_count, "N", "Pipeline stages (PP)"),
        asks(&R::vp, "vp", "--vp", count, any_count, "N", "Virtual stages: chunks of layers per stage (VP)"),
        asks(&R::cp, "cp", "--cp", count, any_count, "N", "Context parallel size (CP)"),
        asks(&R::ep, "ep", "--ep", count, any_count, "N", "Expert parallel size (EP)"),
        asks(&R::expert_tp, "expert_tp", "--expert-tp", count, any_count, "N", "Tensor parallel size of one expert"),
        asks(&R::dp, "dp", "--dp", count, any_count, "N", "Data parallel size (DP)"),
        asks(&R::zero, "zero", "--zero", count, {0, 3}, "0..3", "ZeRO stage: 0 shards nothing, 1 optimizer, 2 + gradients,\n3 + weights"),
        asks(&R::shard, "shard", "--shard", count, any_count, "N", "Replicas over which <zero> shards; default all (fewer: HSDP)"),
        asks(&R::microbatch, "microbatch", "--microbatch", count, any_count, "N", "Sequences per microbatch"),
        asks(&R::schedule, "schedule", "--schedule", "NAME", "Pipeline schedule: 1f1b, ..., dualpipe; default those of the stack"),
        asks(&R::recompute, "recompute", "--recompute", "KIND", "Activation recomputation: none, selective or full; default\nsearched (none if <zero> is given)"),
        asks(&R::sequence_parallel, "sequence_parallel", "--sequence-parallel", "YES",
             "Sequence parallelism, yes or no; default yes where TP divides\nthe sequence"),
        asks(&R::routing, "routing", "--routing", "HOW", "Load of the experts: balanced (default), uniform, zipf:1.0;\nserving: or the tokens each expert received"),
        asks(&R::capacity, "capacity", "--capacity", number, {0.1, 100}, "X",
             "MoE capacity factor; tokens over it are dropped (default: no\nlimit)"),
        asks(&R::placing, "placing", "--placing", "HOW", "Rank order: data_inside or stages_inside (which neighbours are\nnearest); default the faster"),
        asks(&R::headroom, "headroom", "--headroom", number, {0, 0.9}, "X",
             "Fraction of GPU memory to keep free (default 0.05; 0 if the\nlayout is fully specified)"),
        asks(&R::top, "top", "--top,-k", count, any_count, "K", "Number of layouts to print; default 10"),
        field::ask_calibration<R>,
        asks(&R::overrides, "", "--set", "PATH=VALUE...", "Override a value of the machine, as in tiers.nic.endpoints=4"),
        asks(&R::sensitivity, "", "--sensitivity", "", "Also print the gain from 10 % more of each tier, of memory, or\na larger domain"),
        asks(&R::pareto, "", "--pareto", "", "Also print the Pareto front: layouts that no other beats in both\ntime and memory (serving: in both rates)"),
        asks(&R::explain, "", "--explain", "",
             "Training: also print the arithmetic of each term, its groups and\nlinks, what would change it, and the usual layout"),
        asks(&R::library, "library", "--library", "NCCL", "Training: NCCL release, as nccl-2.18; default the newest known"),
        asks(&R::nvls, "nvls", "--nvls", "HOW", "Training: in-switch reduction, on (default) or off\n(NCCL_NVLS_ENABLE=0)"),
        asks(&R::symmetric, "symmetric", "--symmetric", "",
             "Training: buffers in symmetric windows (NCCL 2.27 and later),\nfor all_reduces inside one NVLink domain"),
        asks(&R::recompute_modules, "recompute_modules", "--recompute-modules", "NAME...",
             "Modules to recompute selectively: core_attn, mlp, moe, moe_act,\nmla_up_proj, layernorm, shared_experts; default as the stack"),
        asks(&R::recompute_num_layers, "recompute_num_layers", "--recompute-num-layers", count, any_count, "N",
             "Layers to recompute in full; default all"),
        asks(&R::recompute_num_layers_per_stage, "recompute_num_layers_per_stage", "--recompute-num-layers-per-stage", "LIST",
             "Layers of each stage to recompute in full, as 4,3,2,0; fewest:\nas few on each as a layout needs to fit"),
        asks(&R::cpu_offloading_num_layers, "cpu_offloading_num_layers", "--cpu-offloading-num-layers", count, any_count, "N",
             "Layers per stage whose activations are kept in host memory"),
        asks(&R::optimizer_offload_fraction, "optimizer_offload_fraction", "--optimizer-offload-fraction", number, any_share, "X",
             "Fraction of optimizer states kept and updated in host memory"),
        asks(&R::main_params_dtype, "main_params_dtype", "--main-params-dtype", "F",
             "Master weights: fp32, fp16 or none; default as the stack"),
        asks(&R::exp_avg_dtype, "exp_avg_dtype", "--exp-avg-dtype", "F", "First moment: fp32, bf16, fp16 or fp8; default as the stack"),
        asks(&R::exp_avg_sq_dtype, "exp_avg_sq_dtype", "--exp-avg-sq-dtype", "F", "Second moment: fp32, bf16, fp16 or fp8; default as the stack"),
        asks(&R::store_param_remainders, "store_param_remainders", "--store-param-remainders", "YES",
             "Store only the bits of master weights that 16-bit weights lack"),
        asks(&R::grad_reduce_in_fp32, "grad_reduce_in_fp32", "--grad-reduce-in-fp32", "YES",
             "Add up and exchange gradients in 32 bit (no: in 16)"),
        asks(&R::fp8_param_gather, "fp8_param_gather", "--fp8-param-gather", "YES", "Keep fp8 weights only, no 16-bit copy"),
        asks(&R::activation_func_fp8_input_store, "activation_func_fp8_input_store", "--activation-func-fp8-input-store", "YES",
             "Keep inputs of the activation function in fp8"),
        asks(&R::cuda_graphs, "cuda_graphs", "--cuda-graphs", "YES", "Replay layers as CUDA graphs: no launches, static buffers"),
        asks(&R::lora_rank, "lora_rank", "--lora-rank", count, {1, 65536}, "R", "Train adapters of this rank only, the weights are frozen"),
        asks(&R::lora_modules, "lora_modules", "--lora-modules", "NAME...",
             "Modules with an adapter: linear_qkv, linear_proj, linear_fc1,\nlinear_fc2; default all four"),
        asks(&R::document, "document", "--document", length, any_count, "N",
             "Tokens per document, if several are packed into a sequence and\nattend to themselves only"),
        asks(&R::cp_comm_type, "cp_comm_type", "--cp-comm-type", "HOW",
             "Context parallel exchange: p2p (a ring), all_gather, or a2a\n(Ulysses; rings between, if there are too few heads); default\n"
             "the faster, or p2p if the layout is fully specified"),
        asks(&R::fp8_recipe, "fp8_recipe", "--fp8-recipe", "HOW",
             "Scaling of fp8: delayed or tensorwise (one a tensor), blockwise\n(blocks of 128) or mxfp8 (32 values); default as the stack"),
        asks(&R::fp8_attention, "fp8_attention", "--fp8-attention", "YES",
             "Attention in fp8 too (fp8_dpa); default as the stack"),
        asks(&R::moe_dispatcher, "moe_dispatcher", "--moe-dispatcher", "NAME",
             "Token dispatcher: alltoall, deepep (a token once per domain) or\nhybridep (the same, sorted by expert); default as the stack"),
        asks(&R::overlap_moe_comm, "overlap_moe_comm", "--overlap-moe-comm", "YES",
             "Overlap the token exchange with another microbatch's kernels\n(overlap_moe_expert_parallel_comm); default as the stack"),
        asks(&R::tp_comm_overlap, "tp_comm_overlap", "--tp-comm-overlap", "YES",
             "Overlap TP communication with the products (user buffers);\ndefault as the stack"),
        asks(&R::overlap_grad_reduce, "overlap_grad_reduce", "--overlap-grad-reduce", "YES",
             "Overlap the exchange of gradients and weights with the backward\n(without pipeline stages); default as the stack"),
        asks(&R::mtp_num_layers, "mtp_num_layers", "--mtp-num-layers", count, {0, 100}, "N",
             "Multi-token prediction modules; default as the model"),
        asks(&R::attention, "attention", "--attention", "KIND",
             "Attention kernel: cudnn (the maker's own), flash3, flash2 or math\n(scores written to memory); default as the stack"),
        asks(&R::batch_within, "batch_within", "--batch-within", share, {0, 0.5}, "X",
             "Largest change of the batch, as in 5%, to train more tokens per\nsecond; default 0: the batch given"),
        asks(&R::image, "image", "--image", "PIXELS",
             "Width x height of an image, as 512x512, or with the frames of a\nvideo, as 832x480x81: diffusion: sets <sequence>; of a model with\n"
             "an encoder of images: the size of those"),
        asks(&R::images, "images", "--images", count, any_count, "N",
             "Images per sequence that an encoder reads, which holds their\nmerged tokens; default 1 where <image> is given"),
        asks(&R::network_share, "network_share", "--network-share", share, {0.01, 1}, "X",
             "Share of the NICs' rate that other jobs on the network leave\nuntil they end, as in 50%; default all"),
        asks(&R::sites, "sites", "--sites", count, {2, 10000}, "N",
             "Train on N sites, each with <gpus> and <global_batch>, that\nexchange after rounds of steps (DiLoCo)"),
        asks(&R::site_rate, "site_bytes_per_second", "--site-rate", one_way_rate, {1, 1e15}, "RATE",
             "Rate of a site's link to the others, one way, as \"100 Gbit/s\""),
        asks(&R::site_distance, "site_distance_km", "--site-distance", number, {0, 1e6}, "KM",
             "Kilometres of fibre between two sites; default 0"),
        asks(&R::sync_every, "sync_every", "--sync-every", count, any_count, "H", "Steps of a round; default 30, those of the published loss"),
        asks(&R::sync_fragments, "sync_fragments", "--sync-fragments", count, any_count, "N",
             "Fragments of the model that are exchanged one after the other\nin a round (streaming DiLoCo); default 1, the whole"),
        asks(&R::sync_overlap, "sync_overlap", "--sync-overlap", count, {0, 1'000'000}, "N",
             "Steps that go on while a fragment is exchanged; default 0"),
        asks(&R::sync_precision, "sync_precision", "--sync-precision", "F",
             "Format of the values exchanged: fp32 (default), bf16, fp8 or fp4"),
        asks(&R::sync_penalty, "sync_penalty", "--sync-penalty", share, {0, 100}, "X",
             "More tokens for the same loss than data parallelism needs, as in\n10%; default by the published loss"),
        asks(&R::site_availability, "site_availability", "--site-availability", share, {0.01, 1}, "X",
             "Share of the time that a site works, as in 99%: rounds go on\nwithout it, data parallelism waits; default all"),
        asks(&R::decoder_first_pipeline_num_layers, "decoder_first_pipeline_num_layers", "--decoder-first-pipeline-num-layers", count,
             any_count, "N", "Layers of the first pipeline stage; the stages between share the\nrest evenly"),
        asks(&R::decoder_last_pipeline_num_layers, "decoder_last_pipeline_num_layers", "--decoder-last-pipeline-num-layers", count,
             any_count, "N", "Layers of the last pipeline stage"),
        asks(&R::account_for_embedding_in_pipeline_split, "account_for_embedding_in_pipeline_split",
             "--account-for-embedding-in-pipeline-split", "", "Count the embedding as a layer when layers are divided over\nstages"),
        asks(&R::account_for_loss_in_pipeline_split, "account_for_loss_in_pipeline_split", "--account-for-loss-in-pipeline-split", "",
             "Count the output matrix and loss as a layer when layers are\ndivided over stages"),
        asks(&R::reshard_after_forward, "reshard_after_forward", "--reshard-after-forward", "YES",
             "<zero> 3: drop gathered weights after the forward and gather them\nagain for the backward (yes, default), or keep them (no)"),
        asks(&R::prefetch_layers, "prefetch_layers", "--prefetch-layers", count, {0, 100}, "N",
             "<zero> 3: layers whose weights are gathered ahead of the one that\nruns; 0: no overlap; default as the stack"),
        asks(&R::load_in_4bit, "load_in_4bit", "--load-in-4bit", "",
             "Keep the frozen weights beside adapters in NF4, brought to 16 bit\nfor each product (QLoRA)"),
        asks(&R::frozen_model, "frozen_model", "--frozen-model", "NAME",
             "Second model on the same GPUs whose forward each microbatch takes\ntoo: the reference of DPO, a teacher; with adapters on the same\n"
             "model it shares the weights"),
        asks(&R::data_time, "data_time_seconds", "--data-time", seconds, any_time, "TIME",
             "Time of a step that waits for data, as in 20ms; default 0"),
        asks(&R::evaluation_share, "evaluation_share", "--evaluation-share", share, {0, 10}, "X",
             "Time of evaluation over that of training steps, as in 3%;\ndefault 0")};
  }
};

[[nodiscard]] constexpr auto table_for(std::type_identity<MemoryPart> /*of*/) {
  using A = MemoryPart;
  return Table{gives(&A::name, "name", "name", "weights, gradients, optimizer, activations, buffers, ..."),
               gives(&A::bytes, "GiB", "bytes", "Of the GPU's memory.", gibibyte)};
}

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

  static constexpr auto fields() {
    using A = PlannedLayout;
    return Table{
        field::give_system_to_python<A>,
        gives(&A::model, "", "model", "Name of the model."),
        gives(&A::stack, "", "stack", "Name of the software stack."),
        gives(&A::gpus, "", "gpus", "GPUs of the job, which figures a GPU are of: those that work and those that stay idle."),
        gives(&A::global_batch, "global_batch", "global_batch", "Sequences of a step."),
        gives(&A::sequence, "", "sequence", "Tokens of a sequence."),
        gives(&A::precision, "", "precision", "Of the matrix products: bf16, fp16, fp8 or fp4."),
        gives(&A::headroom, "", "headroom", "Share of a GPU's memory left free."),
        gives(&A::tp, "tp", "tp", "Tensor ranks."),
        gives(&A::pp, "pp", "pp", "Pipeline stages."),
        gives(&A::vp, "vp", "vp", "Chunks of layers a stage holds."),
        gives(&A::cp, "cp", "cp", "Context ranks."),
        gives(&A::ep, "ep", "ep", "Expert ranks."),
        gives(&A::dp, "dp", "dp", "Data replicas."),
        gives(&A::zero, "zero", "zero", "Sharded over data and context: 0 nothing, 1 optimizer, 2 + gradients, 3 + weights."),
        gives(&A::microbatch, "microbatch", "microbatch", "Sequences of a microbatch."),
        gives(&A::schedule, "schedule", "schedule", "Of the pipeline: 1f1b, interleaved, ..., dualpipe; none for one stage."),
        gives(&A::recompute, "recompute", "recompute", "none, selective or full."),
        gives(&A::used_gpus, "used_gpus", "used_gpus", "GPUs that work: tp x pp x cp x dp; the rest of gpus stays idle."),
        gives(&A::step, "step_s", "step_seconds", "Time of one step, s: the sum of terms[i].seconds."),
        gives(&A::tokens_per_second, "", "tokens_per_second", "Of all GPUs: global_batch x sequence / step_seconds."),
        gives(&A::tokens_per_second_per_gpu, "tokens_per_s_per_gpu", "tokens_per_second_per_gpu", "The same over gpus."),
        gives(&A::flops_per_second_per_gpu, "tflops_per_gpu", "flops_per_second_per_gpu",
              "Every matrix product and all scores, forward and backward, over the step, FLOP/s; at most the peak. Rows that a capacity "
              "below 1 drops are not counted.",
              1e12),
        gives(&A::mfu, "mfu", "mfu",
              "flops_per_second_per_gpu over the GPU's dense peak in the precision of the products, 0 to 1: all scores count."),
        gives(&A::memory_size, "memory_GiB", "memory_bytes", "Bytes on a GPU of the stage that needs most.", gibibyte),
        gives(&A::exposed_communication, "exposed_comm_s", "exposed_communication_seconds",
              "Tensor + context + expert + hand-over + data: s of a step that nothing hides."),
        gives(&A::terms, "terms", "terms", "What a step is spent on, a list of StepTerm."),
        gives(&A::expert_tp, "expert_tp", "expert_tp", "Tensor ranks of one expert."),
        gives(&A::shard, "shard", "shard", "Replicas that share the states (HSDP); 0: all of them.", 1, true),
        gives(&A::fits, "fits", "fits", "Whether its memory fits; False only where the layout was named."),
        gives(&A::sequence_parallel, "sequence_parallel", "sequence_parallel", "Whether tensor ranks share the sequence between products."),
        gives(&A::placing, "placing", "placing", "data_inside or stages_inside."),
        gives(&A::interval, "interval_s", "interval_seconds",
              "(low, high), s: nine steps in ten should fall between. No MFU at its fast end is above 1."),
        gives(&A::gpu_hours_per_trillion_tokens, "gpu_hours_per_trillion_tokens", "gpu_hours_per_trillion_tokens",
              "gpus x step_seconds / 3600 x 10^12 / tokens of a step."),
        gives(&A::mfu_causal, "mfu_causal", "mfu_causal", "flops_per_second_per_gpu_causal over the same peak, 0 to 1."),
        gives(&A::flops_per_second_per_gpu_causal, "tflops_per_gpu_causal", "flops_per_second_per_gpu_causal",
              "The same with the scores that a causal mask leaves, which are those that kernels compute, FLOP/s.", 1e12),
        gives(&A::idle_gpus, "idle_gpus", "idle_gpus",
              "GPUs of the scale-up domains the job takes that its groups leave idle, beyond gpus; in no figure."),
        gives(&A::recompute_modules, "recompute_modules", "recompute_modules",
              "What selective recomputation repeats, with commas; empty: what the stack does.", 1, true),
        gives(&A::cp_comm_type, "cp_comm_type", "cp_comm_type",
              "How context ranks exchange: p2p (a ring), all_gather, a2a (Ulysses); empty without them.", 1, true),
        gives(&A::memory, "memory", "memory", "What memory_bytes are made of, the largest first, a list of MemoryPart."),
        gives(&A::host, "host_GiB", "host_bytes", "Beside them, bytes of a GPU's share of host memory; None: nothing is offloaded.",
              gibibyte, true),
        gives(&A::recompute_num_layers, "recompute_num_layers", "recompute_num_layers",
              "Layers of the model that full recomputation repeats; None: all, or recompute is another.", 1, true),
        gives(&A::cpu_offloading_num_layers, "cpu_offloading_num_layers", "cpu_offloading_num_layers",
              "Layers of a stage whose activations, or inputs where they are recomputed, wait in host memory; None: none.", 1, true),
        gives(&A::optimizer_offload_fraction, "optimizer_offload_fraction", "optimizer_offload_fraction",
              "Share of the optimizer's states in host memory, updated there; None: they are on the GPU.", 1, true),
        gives(&A::decoder_first_pipeline_num_layers, "decoder_first_pipeline_num_layers", "decoder_first_pipeline_num_layers",
              "Layers of the first stage, where it has others than those between; None: it has not.", 1, true),
        gives(&A::decoder_last_pipeline_num_layers, "decoder_last_pipeline_num_layers", "decoder_last_pipeline_num_layers",
              "The same of the last stage.", 1, true),
        gives(&A::recompute_num_layers_per_stage, "recompute_num_layers_per_stage", "recompute_num_layers_per_stage",
              "Layers that each stage recomputes in full, with commas; empty: recompute_num_layers.", 1, true)};
  }
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

  static constexpr auto fields() {
    using A = PlannedSites;
    return Table{
        gives(&A::sites, "sites", "sites", "Sites, each with the GPUs and the batch of the first layout."),
        gives(&A::gpus, "gpus", "gpus", "GPUs of all sites."),
        gives(&A::every, "sync_every", "sync_every", "H, steps of a round."),
        gives(&A::fragments, "sync_fragments", "sync_fragments", "Fragments that the model is exchanged in."),
        gives(&A::overlap, "sync_overlap", "sync_overlap", "Steps that go on while one is exchanged."),
        gives(&A::precision, "sync_precision", "sync_precision", "Format of the values exchanged."),
        gives(&A::step, "step_s", "step_seconds", "A step with its share of the round's exchange, s: the sum of terms."),
        gives(&A::tokens_per_second, "tokens_per_s", "tokens_per_second", "Of all sites."),
        gives(&A::terms, "terms", "terms", "step of a site alone, dcn: exchange that no step hides, outer_update; a list of StepTerm."),
        gives(&A::bottleneck, "bottleneck", "bottleneck", "The largest of the terms."),
        gives(&A::sent, "sent_GiB", "sent_bytes", "Bytes that a site sends in a round.", gibibyte),
        gives(&A::exchange, "exchange_s", "exchange_seconds", "Time of a round's exchange, hidden or not, s."),
        gives(&A::link_use, "link_use", "link_use", "Share of the time that the link of a site is busy, 0 to 1."),
        gives(&A::state, "outer_state_GiB", "outer_state_bytes", "Of the outer optimizer on a GPU, bytes: the last round's weights and its momentum.",
              gibibyte),
        gives(&A::state_on_gpu, "outer_state_on_gpu", "outer_state_on_gpu", "Whether it has room there; else it waits in host memory."),
        gives(&A::penalty, "penalty", "penalty", "More tokens for the same loss than data parallelism needs, as a share."),
        gives(&A::penalty_extrapolated, "penalty_extrapolated", "penalty_extrapolated",
              "Whether the published loss is of smaller models, fewer sites or another round."),
        gives(&A::useful_tokens_per_second, "useful_tokens_per_s", "useful_tokens_per_second", "tokens_per_second / (1 + penalty)."),
        gives(&A::plain_step, "data_parallel.step_s", "data_parallel_step_seconds",
              "Step where all sites are replicas of one job that exchange gradients every step, s."),
        gives(&A::plain_tokens_per_second, "data_parallel.tokens_per_s", "data_parallel_tokens_per_second", "Tokens of all sites over that."),
        gives(&A::gain, "gain", "gain", "useful_tokens_per_second over those of data parallelism."),
        names_fields(gives(&A::how, "how", "how", "The arithmetic, a list of sentences."))};
  }
};

/// The effect of one change of the machine on a training job.
struct PlanChange {
  std::string change{};
  Time step{};
  double gain = 0;
  bool operator==(const PlanChange&) const = default;

  static constexpr auto fields() {
    using A = PlanChange;
    return Table{gives(&A::change, "change", "change", "As in `nvlink bandwidth + 10 %`."),
                 gives(&A::step, "step_s", "step_seconds", "Step of the fastest layout then, s."),
                 gives(&A::gain, "gain", "gain", "Step before over step after, less 1.")};
  }
};

/// The fastest layout explained.
struct PlanExplanation {
  std::vector<ExplainedTerm> terms{};
  std::optional<PlannedLayout> usual{};
  std::string against_usual{}, interval{};
  bool operator==(const PlanExplanation&) const = default;

  static constexpr auto fields() {
    using A = PlanExplanation;
    return Table{gives(&A::terms, "terms", "terms", "Terms of the step, the largest first."),
                 gives(&A::usual, "usual", "usual", "The layout by practitioners' rule; None: none fits.", 1, true),
                 gives(&A::against_usual, "against_usual", "against_usual", "Where that layout and the fastest part."),
                 gives(&A::interval, "interval", "interval", "What the interval rests on.")};
  }
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
  std::optional<Time> alone;
  std::shared_ptr<const FoundPlan> found;

  static constexpr auto fields() {
    using A = PlanAnswer;
    return Table{
        gives(&A::layouts, "layouts", "",
              "The layouts: the plainest within 1 % of the fastest, then fastest first by seconds a sequence."),
        gives(&A::evaluated, "evaluated", "evaluated", "Layouts whose step was priced in full."),
        gives(&A::pruned, "pruned", "pruned", "Layouts left out: those that do not fit, and those that cannot be among the best."),
        field::give_search_time<A>,
        gives(&A::model, "model", "", "Name of the model."),
        gives(&A::system, "system", "", "Name of the machine."),
        gives(&A::gpus, "gpus", "gpus", "GPUs of the job, as given."),
        gives(&A::stack, "stack", "", "Name of the software stack."),
        gives(&A::global_batch, "global_batch", "global_batch", "Sequences of a step, as given."),
        gives(&A::sequence, "sequence", "sequence", "Tokens of a sequence."),
        gives(&A::precision, "precision", "precision", "Of the matrix products."),
        gives(&A::headroom, "headroom", "headroom", "Share of a GPU's memory left free."),
        gives(&A::unfit, "unfit", "unfit", "Of those left out, the ones that need more memory than a GPU has."),
        gives(&A::fits, "fits", "fits", "Whether the layouts fit; False only where one layout was named: they are priced as named then."),
        names_fields(
            gives(&A::advice, "advice", "advice",
                  "Of a layout that does not fit what it lacks and what would fit; of one that mostly waits what waits less; or empty.", 1,
                  true)),
        gives(&A::beside_products, "beside_products", "beside_products",
              "Of its time alone, what a collective takes beside matrix products on the same GPUs; the stack's fitted overlap contains it."),
        field::give_kernels<A>,
        gives(&A::sensitivity, "sensitivity", "", "What 10 % more of each part gives.", 1, true),
        gives(&A::pareto, "pareto", "", "Layouts none other beats in both time and memory.", 1, true),
        gives(&A::explanation, "explanation", "", "The fastest layout explained.", 1, true),
        gives(&A::sites, "sites", "sites", "The job on several sites, a PlannedSites; None: one site.", 1, true),
        gives(&A::alone, "alone_step_s", "alone_step_seconds",
              "Step of the first layout after the other jobs on the network have ended, s; None: there are none.", 1, true)};
  }
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

/// Repeats the search with 10 % more of each part of the machine (training/plan.hpp).
[[nodiscard]] std::vector<PlanChange> changes_of(const FoundPlan& found);
/// The fastest layout explained term by term.
[[nodiscard]] PlanExplanation explanation_of(const FoundPlan& found, const ExplainedStep& step);
[[nodiscard]] std::vector<PlannedLayout> planned(const TrainingQuestion& question, const System& system,
                                                 const std::vector<PricedLayout>& layouts);

}  // namespace fabricost::plan
