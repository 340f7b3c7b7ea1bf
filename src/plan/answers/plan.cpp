/// Searches or prices layouts of a training job.

#include "answers/recipe.hpp"
#include "answers/search_time.hpp"
#include "answers/searched.hpp"
#include "answers/varied/varied.hpp"
#include "text/amounts.hpp"
#include "text/joined.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/hardware/design_parameters.hpp>
#include <fabricost/hardware/slice.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/economics/unmet.hpp>
#include <fabricost/plan/explain/memory.hpp>
#include <fabricost/plan/explain/nearest_plan.hpp>
#include <fabricost/plan/specs/sites.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/idle_gpus.hpp>
#include <fabricost/plan/training/sites.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

namespace fabricost::plan {

AnswerTable<MemoryPart> table_for(std::type_identity<MemoryPart> /*of*/) {
  using A = MemoryPart;
  return {gives(&A::name, "name", "name", "weights, gradients, optimizer, activations, buffers, ..."),
          gives(&A::bytes, "GiB", "bytes", "Of the GPU's memory.", gibibyte)};
}

RequestTable<PlanRequest> PlanRequest::fields_of_search() { return fields().without(varied::options_of_one_plan()); }

RequestTable<PlanRequest> PlanRequest::fields() {
  using R = PlanRequest;
  using enum Amount;
  return {
      field::ask_machine<R>,
      field::ask_model<R>,
      field::ask_gpus<R>,
      asks(&R::global_batch, "global_batch", "--global-batch,-b", count, any_count, "N", "Sequences per step", true),
      asks(&R::sequence, "sequence", "--sequence,-l", length, any_count, "N", "Tokens per sequence, as in 128k (131072); default 4096"),
      asks(&R::precision, "precision", "--precision", "P", "Precision of matrix products: bf16 (default), fp16, fp8, fp4"),
      asks(&R::stack, "stack", "--stack", "NAME",
           "Training software: a name of data/stacks, or a YAML file;\ndefault one with published steps: nemo, on TPUs maxtext-tpu,\non "
           "AMD rocm-mlperf; elsewhere megatron-core"),
      asks(&R::stack_scale, "stack_scale", "--stack-scale", number, {0.2, 5}, "X",
           "Factor on kernels and launches, in place of the stack's own, as\n<measured_step_seconds> finds it"),
      asks(&R::measured_step, "measured_step_seconds", "--measured-step", seconds, some_time, "TIME",
           "Step that you measured of the layout named, as in 18.02s: finds\nthe stack's factor that explains it"),
      asks(&R::max_tp, "max_tp", "--max-tp", count, any_count, "N", "Largest tensor parallel size; default a scale-up domain's GPUs"),
      asks(&R::tp, "tp", "--tp", count, any_count, "N", "Tensor parallel size (TP); what is not given is searched"),
      asks(&R::pp, "pp", "--pp", count, any_count, "N", "Pipeline stages (PP)"),
      asks(&R::vp, "vp", "--vp", count, any_count, "N", "Virtual stages: chunks of layers per stage (VP)"),
      asks(&R::cp, "cp", "--cp", count, any_count, "N", "Context parallel size (CP)"),
      asks(&R::ep, "ep", "--ep", count, any_count, "N", "Expert parallel size (EP)"),
      asks(&R::expert_tp, "expert_tp", "--expert-tp", count, any_count, "N", "Tensor parallel size of one expert"),
      asks(&R::dp, "dp", "--dp", count, any_count, "N", "Data parallel size (DP)"),
      asks(&R::zero, "zero", "--zero", count, {0, 3}, "0..3", "ZeRO stage: 0 shards nothing, 1 optimizer, 2 + gradients,\n3 + weights"),
      asks(&R::shard, "shard", "--shard", count, {0, any_count.max}, "N", "Replicas over which <zero> shards; default 0: all (fewer: HSDP)"),
      asks(&R::microbatch, "microbatch", "--microbatch", count, any_count, "N", "Sequences per microbatch"),
      asks(&R::schedule, "schedule", "--schedule", "NAME", "Pipeline schedule: 1f1b, ..., dualpipe; default those of the stack"),
      asks(&R::recompute, "recompute", "--recompute", "KIND",
           "Activation recomputation: none, selective or full; default\nsearched (none if <zero> is given)"),
      asks(&R::sequence_parallel, "sequence_parallel", "--sequence-parallel", "YES",
           "Sequence parallelism, yes or no; default yes where TP divides\nthe sequence"),
      asks(&R::routing, "routing", "--routing", "HOW",
           "Load of the experts: balanced (default), uniform, zipf:1.0;\nserving: or the tokens each expert received"),
      asks(&R::capacity, "capacity", "--capacity", number, {0.1, 100}, "X",
           "MoE capacity factor; tokens over it are dropped (default: no\nlimit)"),
      asks(&R::placing, "placing", "--placing", "HOW",
           "Rank order: data_inside or stages_inside (which neighbours are\nnearest); default the faster one"),
      asks(&R::headroom, "headroom", "--headroom", number, {0, 0.9}, "X",
           "Fraction of GPU memory to keep free (default 0.05; 0 if the\nlayout is fully specified)"),
      asks(&R::top, "top", "--top,-k", count, any_count, "K", "Number of layouts to print; default 10"),
      field::ask_calibration<R>,
      asks(&R::overrides, "", "--set", "PATH=VALUE...", "Override a value of the machine, as in tiers.nic.endpoints=4"),
      asks(&R::sensitivity, "", "--sensitivity", "", "Also print the gain from 10 % more of each tier, of memory, a\nlarger domain, fp8, or overlapped token exchange"),
      asks(&R::pareto, "", "--pareto", "",
           "Also print the Pareto front: layouts that no other beats in both\ntime and memory (serving: in both rates)"),
      asks(&R::explain, "", "--explain", "",
           "Training: also print the arithmetic of each term, its groups and\nlinks, what would change it, and the usual layout"),
      asks(&R::library, "library", "--library", "NCCL", "Training: NCCL release, as nccl-2.18; default the newest known"),
      asks(&R::nvls, "nvls", "--nvls", "HOW", "Training: in-switch reduction, on (default) or off\n(NCCL_NVLS_ENABLE=0)"),
      asks(&R::symmetric, "symmetric", "--symmetric", "",
           "Training: buffers in symmetric windows (NCCL 2.27 and later),\nfor all_reduces inside one NVLink domain"),
      asks(&R::recompute_modules, "recompute_modules", "--recompute-modules", "NAME...",
           "Modules to recompute selectively: core_attn, mlp, moe, moe_act,\nmla_up_proj, layernorm, shared_experts; default as the stack"),
      asks(&R::recompute_num_layers, "recompute_num_layers", "--recompute-num-layers", count, any_count, "N",
           "Layers to recompute in full; default with --recompute full all,\nelse the fewest with which a layout fits"),
      asks(&R::recompute_num_layers_per_stage, "recompute_num_layers_per_stage", "--recompute-num-layers-per-stage", "LIST",
           "Layers of each stage to recompute in full, as 4,3,2,0; fewest:\nas few on each as a layout needs to fit"),
      asks(&R::cpu_offloading_num_layers, "cpu_offloading_num_layers", "--cpu-offloading-num-layers", count, any_count, "N",
           "Layers per stage whose activations are kept in host memory"),
      asks(&R::optimizer_offload_fraction, "optimizer_offload_fraction", "--optimizer-offload-fraction", number, any_share, "X",
           "Fraction of optimizer states kept and updated in host memory"),
      asks(&R::main_params_dtype, "main_params_dtype", "--main-params-dtype", "F",
           "Master weights: fp32, fp16 or none; default as the stack"),
      asks(&R::exp_avg_dtype, "exp_avg_dtype", "--exp-avg-dtype", "F", "First moment: fp32, bf16, fp16 or fp8; default as the stack"),
      asks(&R::exp_avg_sq_dtype, "exp_avg_sq_dtype", "--exp-avg-sq-dtype", "F",
           "Second moment: fp32, bf16, fp16 or fp8; default as the stack"),
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
      asks(&R::fp8_attention, "fp8_attention", "--fp8-attention", "YES", "Attention in fp8 too (fp8_dpa); default as the stack"),
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
           "Width x height of an image, as 512x512, or with the frames of a\nvideo, as 832x480x81: diffusion: sets <sequence>; of a model "
           "with\n"
           "an encoder of images: the size of those"),
      asks(&R::images, "images", "--images", count, any_count, "N",
           "Images per sequence that an encoder reads, which holds their\nmerged tokens; default 1 where <image> is given"),
      asks(&R::network_share, "network_share", "--network-share", share, {0.01, 1}, "X",
           "Share of the NICs' rate that other jobs on the network leave\nuntil they end, as in 50%; default all"),
      asks(&R::sites, "sites", "--sites", count, {2, 10000}, "N",
           "Train on N sites, each with <gpus> and <global_batch>, that\nexchange after rounds of steps (DiLoCo)"),
      asks(&R::site_rate, "site_bytes_per_second", "--site-rate", one_way_rate, {1, 1e15}, "RATE",
           "Rate of a site's link to the others, one way, as \"100 Gbit/s\""),
      asks(&R::site_distance, "site_distance_km", "--site-distance", kilometres, {0, 1e6}, "KM",
           "Fibre between two sites, as in 500km; default 0"),
      asks(&R::sync_every, "sync_every", "--sync-every", count, any_count, "H",
           "Steps of a round; default 30, those of the published loss"),
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
      asks(&R::decoder_last_pipeline_num_layers, "decoder_last_pipeline_num_layers", "--decoder-last-pipeline-num-layers", count, any_count,
           "N", "Layers of the last pipeline stage"),
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
           "Second model on the same GPUs whose forward each microbatch takes\ntoo: the reference of DPO, a teacher; with adapters on the "
           "same\n"
           "model it shares the weights"),
      asks(&R::data_time, "data_time_seconds", "--data-time", seconds, any_time, "TIME",
           "Time of a step that waits for data, as in 20ms; default 0"),
      asks(&R::evaluation_share, "evaluation_share", "--evaluation-share", share, {0, 10}, "X",
           "Time of evaluation over that of training steps, as in 3%;\ndefault 0")};
}

AnswerTable<PlannedLayout> PlannedLayout::fields() {
  using A = PlannedLayout;
  return {
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
            "flops_per_second_per_gpu over the GPU's dense peak in the precision of the products, 0 to 1: all scores count. At 1 it was "
            "cut off, since kernels skip the scores that a mask discards: mfu_causal tells."),
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
      gives(&A::needed_gpus, "needed_gpus", "needed_gpus",
            "GPUs on which the layout runs: those that work, and those that its groups leave idle in all of its scale-up domains but the last."),
      gives(&A::recompute_modules, "recompute_modules", "recompute_modules",
            "What selective recomputation repeats, with commas; empty: what the stack does.", 1, true),
      gives(&A::cp_comm_type, "cp_comm_type", "cp_comm_type",
            "How context ranks exchange: p2p (a ring), all_gather, a2a (Ulysses); empty without them.", 1, true),
      gives(&A::memory, "memory", "memory", "What memory_bytes are made of, the largest first, a list of MemoryPart."),
      gives(&A::host, "host_GiB", "host_bytes", "Beside them, bytes of a GPU's share of host memory; None: nothing is offloaded.", gibibyte,
            true),
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

AnswerTable<PlannedSites> PlannedSites::fields() {
  using A = PlannedSites;
  return {
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
      gives(&A::state, "outer_state_GiB", "outer_state_bytes",
            "Of the outer optimizer on a GPU, bytes: the last round's weights and its momentum.", gibibyte),
      gives(&A::state_on_gpu, "outer_state_on_gpu", "outer_state_on_gpu", "Whether it fits there; else it waits in host memory."),
      gives(&A::penalty, "penalty", "penalty", "More tokens for the same loss than data parallelism needs, as a share."),
      gives(&A::penalty_extrapolated, "penalty_extrapolated", "penalty_extrapolated",
            "Whether the published loss is of smaller models, fewer sites or another round or exchange."),
      gives(&A::useful_tokens_per_second, "useful_tokens_per_s", "useful_tokens_per_second", "tokens_per_second / (1 + penalty)."),
      gives(&A::plain_step, "data_parallel.step_s", "data_parallel_step_seconds",
            "Step where all sites are replicas of one job that exchange gradients every step, s."),
      gives(&A::plain_tokens_per_second, "data_parallel.tokens_per_s", "data_parallel_tokens_per_second", "Tokens of all sites over that."),
      gives(&A::gain, "gain", "gain", "useful_tokens_per_second over those of data parallelism."),
      names_fields(gives(&A::how, "how", "how", "The arithmetic, a list of sentences."))};
}

AnswerTable<PlanChange> PlanChange::fields() {
  using A = PlanChange;
  return {gives(&A::change, "change", "change", "As in `nvlink bandwidth + 10 %`; or a switch of the recipe, as in `precision fp8`."),
          gives(&A::step, "step_s", "step_seconds", "Step of the fastest layout then, s."),
          gives(&A::gain, "gain", "gain", "Step before over step after, less 1.")};
}

AnswerTable<PlanExplanation> PlanExplanation::fields() {
  using A = PlanExplanation;
  return {gives(&A::terms, "terms", "terms", "Terms of the step, the largest first."),
          gives(&A::usual, "usual", "usual", "The layout by practitioners' rule; None: none fits.", 1, true),
          gives(&A::against_usual, "against_usual", "against_usual", "Where that layout and the fastest part."),
          gives(&A::interval, "interval", "interval", "What the interval rests on.")};
}

AnswerTable<PlanAnswer> PlanAnswer::fields() {
  using A = PlanAnswer;
  return {
      gives(&A::layouts, "layouts", "", "The layouts: the plainest within 1 % of the fastest, then fastest first by seconds a sequence."),
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
      names_fields(gives(
          &A::advice, "advice", "advice",
          "Of a layout that does not fit what it lacks and what would fit; of one that mostly waits what waits less; activations in host "
          "memory where they would be faster; or empty.", 1, true)),
      gives(&A::beside_products, "beside_products", "beside_products",
            "Of its time alone, what a collective takes beside matrix products on the same GPUs; the stack's fitted overlap contains it."),
      field::give_kernels<A>,
      gives(&A::sensitivity, "sensitivity", "", "What 10 % more of each part gives.", 1, true),
      gives(&A::pareto, "pareto", "", "Layouts none other beats in both time and memory.", 1, true),
      gives(&A::explanation, "explanation", "", "The fastest layout explained.", 1, true),
      gives(&A::sites, "sites", "sites", "The job on several sites, a PlannedSites; None: one site.", 1, true),
      gives(&A::fastest, "fastest_step_s", "fastest_step_seconds",
            "Step of the fastest layout, s, where the first is a plainer one; None: the first is the fastest.", 1, true),
      gives(&A::best, "best", "", "Where one layout was named, the best with its fields open, in the same stack; None: none was, or it does not fit.", 1,
            true),
      gives(&A::stack_scale, "stack_scale", "stack_scale",
            "The stack's factor with which the layout takes the measured step, to give for other layouts; None: none was measured.", 1, true),
      gives(&A::alone, "alone_step_s", "alone_step_seconds",
            "Step of the first layout after the other jobs on the network have ended, s; None: there are none.", 1, true)};
}

namespace {

[[nodiscard]] PlannedLayout planned(const TrainingQuestion& q, const System& system, const PricedLayout& p) {
  const Layout& l = p.layout;
  const TrainingFigures f = figures_of(system, q, p);
  return {
      .system = system.name,
      .model = q.model.name,
      .stack = q.stack.name,
      .gpus = q.gpus,
      .global_batch = l.global_batch,
      .sequence = q.sequence,
      .precision = std::string{precision_names[static_cast<std::size_t>(q.precision)]},
      .headroom = headroom_of(q),
      .tp = l.tp,
      .pp = l.pp,
      .vp = l.vp,
      .cp = l.cp,
      .ep = l.ep,
      .dp = l.dp,
      .zero = l.zero,
      .microbatch = l.microbatch,
      .schedule = std::string{name(l.schedule)},
      .recompute = std::string{recompute_names[static_cast<std::size_t>(l.recompute)]},
      .used_gpus = l.gpus(),
      .step = units::s(p.time.seconds),
      .tokens_per_second = f.tokens_per_gpu * q.gpus,
      .tokens_per_second_per_gpu = f.tokens_per_gpu,
      .flops_per_second_per_gpu = f.flops_per_gpu,
      .mfu = f.mfu,
      .memory_size = units::B(p.memory.total()),
      .exposed_communication = units::s(p.time.exposed()),
      .terms = terms_of(p.time),
      .expert_tp = l.expert_tp,
      .shard = l.shard,
      .fits = fits(p.memory, Processor::of(system).memory, headroom_of(q), host_room(system)),
      .sequence_parallel = l.sequence_parallel,
      .placing = std::string{placing_names[static_cast<std::size_t>(l.placing)]},
      .interval = {units::s(f.low), units::s(f.high)},
      .gpu_hours_per_trillion_tokens = f.gpu_hours_per_trillion,
      .mfu_causal = f.causal_mfu,
      .flops_per_second_per_gpu_causal = f.causal_flops_per_gpu,
      .idle_gpus = idle_beyond(l, system, q.gpus),
      .needed_gpus = needed_gpus(l, system.domain),
      .recompute_modules = l.recompute == Recompute::selective ? names_of(l.recompute_modules) : "",
      .cp_comm_type = l.cp > 1 ? std::string{context_names[static_cast<std::size_t>(l.context)]} : "",
      .memory = parts_of(p.memory),
      .host = p.memory.host > 0 ? std::optional{units::B(p.memory.host)} : std::nullopt,
      .recompute_num_layers = l.recompute == Recompute::full && l.recompute_layers > 0 ? std::optional{l.recompute_layers} : std::nullopt,
      .cpu_offloading_num_layers = l.offload_layers > 0 ? std::optional{l.offload_layers} : std::nullopt,
      .optimizer_offload_fraction = l.offload_optimizer > 0 ? std::optional{l.offload_optimizer} : std::nullopt,
      .decoder_first_pipeline_num_layers = l.split.first > 0 ? std::optional{l.split.first} : std::nullopt,
      .decoder_last_pipeline_num_layers = l.split.last > 0 ? std::optional{l.split.last} : std::nullopt,
      .recompute_num_layers_per_stage = joined(l.recompute_by_stage, ",")};
}

[[nodiscard]] double bytes_of(OuterFormat format) {
  constexpr std::array<double, outer_format_names.size()> bytes{4, 2, 1, 0.5};
  return bytes[static_cast<std::size_t>(format)];
}

/// The tokens that DiLoCo needs beyond those of data parallelism, as a share of these (training/sites.hpp).
[[nodiscard]] double published_penalty(const SiteFacts& f, double parameters, int sites) {
  const double plain = f.plain * std::pow(parameters, -f.plain_power);
  const double outer = f.outer * std::pow(parameters, -f.outer_power) * std::pow(sites, f.sites_power);
  return std::max(0.0, std::pow(outer / plain, 2 / f.plain_power) - 1);
}

[[nodiscard]] PlannedSites planned_sites(const PlanRequest& r, const FoundPlan& found) {
  const TrainingQuestion& q = found.question;
  const PricedLayout& first = found.plan.layouts.front();
  const SiteFacts facts = load_site_facts();
  const OuterFormat format = r.sync_precision.value_or(OuterFormat::fp32);
  const SitesQuestion asked{.sites = *r.sites,
                            .rate = r.site_rate->value(),
                            .delay = facts.delay * r.site_distance.value_or(0),
                            .every = r.sync_every.value_or(static_cast<int>(facts.steps)),
                            .fragments = r.sync_fragments.value_or(1),
                            .overlap = r.sync_overlap.value_or(0),
                            .width = bytes_of(format)};
  const SitesTime t = sites_time(asked, q, found.system, first);
  const double H = asked.every, step = t.seconds(asked.every), tokens = double(asked.sites) * first.layout.global_batch * q.sequence;
  PlannedSites out{
      .sites = asked.sites, .gpus = asked.sites * q.gpus, .every = asked.every, .fragments = asked.fragments, .overlap = asked.overlap};
  out.precision = outer_format_names[static_cast<std::size_t>(format)];
  out.step = units::s(step);
  const double works = r.site_availability;
  out.tokens_per_second = works * tokens / step;
  out.terms = {{"step", units::s(t.step)}, {"dcn", units::s(t.exposed / H)}, {"outer_update", units::s(t.update / H)}};
  out.bottleneck = largest(out.terms).name;
  out.sent = units::B(t.sent);
  out.exchange = units::s(t.exchange);
  out.link_use = t.sent / t.rate / (H * step);
  out.state = units::B(t.state);
  out.state_on_gpu = t.state_on_gpu;
  out.penalty = r.sync_penalty.value_or(published_penalty(facts, t.parameters, asked.sites));
  const bool published = H == facts.steps && asked.fragments == 1 && asked.overlap == 0 && format == OuterFormat::fp32;
  out.penalty_extrapolated =
      !r.sync_penalty && (t.parameters > facts.largest || asked.sites > facts.most_sites || !published || !q.model.causal());
  out.useful_tokens_per_second = out.tokens_per_second / (1 + out.penalty);
  out.plain_step = units::s(t.plain);
  out.plain_tokens_per_second = std::pow(works, asked.sites) * tokens / t.plain;
  out.gain = out.useful_tokens_per_second / out.plain_tokens_per_second;
  out.how.push_back(
      fmt::format("Exchange between sites: 2 x {} / {} of {} parameters of {} bytes are {:.4g} GB a round, at {:.4g} GB/s {:.4g} s; {} x two delays of "
                  "{:.4g} ms ({:.4g} us a km): {:.4g} s in all, of which {:.4g} s are hidden by {} of {} steps.",
                  asked.sites - 1, asked.sites, count_text(t.parameters), asked.width, 1e-9 * t.sent, 1e-9 * t.rate, t.sent / t.rate, asked.fragments,
                  1e3 * asked.delay, 1e6 * facts.delay, t.exchange, t.exchange - t.exposed, asked.fragments * asked.overlap, asked.every));
  if (t.rate < asked.rate) out.how.push_back(fmt::format("The NICs of a site's GPUs send no more than {:.4g} GB/s.", 1e-9 * t.rate));
  out.how.push_back(fmt::format(
      "Outer update: 24 B a parameter that a GPU updates, once a round, in {}; its state of 8 B a parameter is {:.3g} GiB a GPU.",
      t.state_on_gpu ? "GPU memory" : "host memory, where it fits", t.state / gibibyte));
  out.how.push_back(
      r.sync_penalty
          ? fmt::format("Penalty as given: {:.3g} % more tokens for the same loss.", 100 * out.penalty)
          : fmt::format(
                "Penalty by the published loss (arXiv 2503.09799): {:.3g} % more tokens for the same loss{}.", 100 * out.penalty,
                out.penalty_extrapolated
                    ? fmt::format("; its runs are of language models up to {} parameters, {:.0f} sites and rounds of {:.0f} steps whose "
                                  "exchange is whole, in fp32 and behind no step: here it is not known. Longer rounds and fewer bits take "
                                  "less time and may cost loss; give <sync_penalty> where you know better",
                                  count_text(facts.largest), facts.most_sites, facts.steps)
                    : ""));
  if (works < 1)
    out.how.push_back(
        fmt::format("A site works {:.4g} % of the time: rounds go on without it, data parallelism only while all {} work, {:.4g} %.",
                    100 * works, asked.sites, 100 * std::pow(works, asked.sites)));
  out.how.push_back(fmt::format("Data parallelism over the same links exchanges {:.4g} B a parameter every step: {:.4g} s.",
                                q.stack.gradient_bytes, t.plain_exchange));
  return out;
}

}  // namespace

std::vector<PlannedLayout> planned(const TrainingQuestion& question, const System& system, const std::vector<PricedLayout>& layouts) {
  std::vector<PlannedLayout> out;
  out.reserve(layouts.size());
  for (const PricedLayout& one : layouts) out.push_back(planned(question, system, one));
  return out;
}

std::vector<PlanChange> changes_of(const FoundPlan& found) {
  std::vector<PlanChange> out;
  for (const StepSensitivity& s : sensitivity_of(found.system, found.question)) out.push_back({s.change, units::s(s.seconds), s.gain});
  TrainingQuestion q = found.question;
  q.top = 1;
  q.plain_within = q.batch_within = 0;
  if (q.model.recommends() || out.empty()) return out;
  const auto fastest = [&](const TrainingQuestion& of) { return plan_training(found.system, of).layouts.front().time.seconds; };
  const double before = fastest(q);
  const auto turn = [&](const char* change, auto&& turned) {
    TrainingQuestion other = q;
    turned(other);
    try {
      const double now = fastest(other);
      out.push_back({change, units::s(now), before / now - 1});
    } catch (const RequestError&) {  // the machine, or a layout that is named, does not run it
    }
  };
  if (q.precision == Precision::bf16 && found.system.gpu.fp8.value.value() > 0)
    turn("precision fp8", [](TrainingQuestion& other) { other.precision = Precision::fp8; });
  if (const double hidden = load_stack("nemo-mlperf").expert_exposed; q.model.mixture() && q.stack.expert_exposed > hidden)
    turn("overlap_moe_comm", [hidden](TrainingQuestion& other) {
      other.stack.expert_exposed = hidden;
      other.overlaps_tokens = true;
    });
  std::stable_sort(out.begin(), out.end(), [](const PlanChange& a, const PlanChange& b) { return a.gain > b.gain; });
  return out;
}

PlanExplanation explanation_of(const FoundPlan& found, const ExplainedStep& step) {
  PlanExplanation out{.terms = step.terms, .usual = {}, .against_usual = step.against_usual, .interval = step.interval};
  if (step.usual) out.usual = planned(found.question, found.system, *step.usual);
  return out;
}

PlanAnswer searched(const PlanRequest& request) {
  if (request.model && !request.system) throw Refusal("on which machine? Name it with <system> (fabricost machine lists them)", true);
  const auto found = std::make_shared<FoundPlan>();
  need_job(request);
  const KernelSets kernels{.compute = true, .custom = request.symmetric, .moe = false};
  System system = *with_library(request.system.get(request.overrides, kernels, request.calibration), request.library);
  const TrainingQuestion& q = found->question;
  double whole_rate = 0;
  if (request.network_share < 1) {
    if (system.tier(TierRole::nic) == nullptr) throw Refusal(fmt::format("<network_share>: {} has no NICs", system.name));
    whole_rate = value_of(system, DesignParameter::nic_bandwidth);
    system = with_parameter(std::move(system), DesignParameter::nic_bandwidth, request.network_share * whole_rate);
  }
  found->question = training_question(request, system);
  if (request.measured_step) {
    if (request.stack_scale) throw Refusal("<stack_scale> is what <measured_step_seconds> finds; leave one of them out");
    explain_measured(slice_for(system, *request.gpus), found->question, request.measured_step->value());
  }
  const auto start = std::chrono::steady_clock::now();
  std::tie(found->system, found->plan) = plan_on_slices(system, q);
  const TrainingPlan& plan = found->plan;
  PlanAnswer out;
  out.search_time = since(start);
  if (plan.layouts.empty() && !plan.nearest) throw RequestError("no layout that fits is among those wanted");
  if (plan.layouts.empty()) throw UnmetError(Unmet::memory, nothing_fits(found->system, q, *plan.nearest));
  out.layouts = planned(q, found->system, plan.layouts);
  out.evaluated = plan.evaluated;
  out.pruned = plan.unfit + plan.bounded;
  out.unfit = plan.unfit;
  out.model = q.model.name;
  out.system = found->system.name;
  out.stack = q.stack.name;
  out.gpus = q.gpus;
  out.global_batch = q.global_batch;
  out.sequence = q.sequence;
  out.precision = out.layouts.front().precision;
  out.headroom = headroom_of(q);
  out.fits = plan.fits;
  if (request.measured_step) out.stack_scale = q.stack.scale;
  if (plan.fastest && is_faster(*plan.fastest, plan.layouts.front())) out.fastest = units::s(plan.fastest->time.seconds);
  if (!plan.fits) out.advice = does_not_fit(found->system, q, plan.layouts.front());
  out.kernels = kernels_known(found->system);
  if (request.sites) out.sites = planned_sites(request, *found);
  if (request.network_share < 1) {
    const System whole = with_parameter(found->system, DesignParameter::nic_bandwidth, whole_rate);
    Stack stack = q.stack;
    stack.memory = memory_on(stack.memory, whole.gpu.generation);
    GroupCosts costs(whole, {.ways = q.ways});
    out.alone = units::s(step_time(q.model, plan.layouts.front().layout, stack, Processor::of(whole), costs).seconds);
  }
  if (request.sensitivity) out.sensitivity = changes_of(*found);
  if (request.explain) {
    found->explained = explain_step(found->system, q, plan.layouts.front());
    out.explanation = explanation_of(*found, *found->explained);
  }
  if (request.pareto) {
    found->pareto = pareto_of(found->system, q);
    out.pareto = planned(q, found->system, found->pareto);
  }
  out.found = found;
  return out;
}

std::optional<PlannedLayout> best_of_job(const PlanAnswer& of) {
  if (!of.fits || of.found == nullptr || !names_one_layout(of.found->question) || of.found->question.model.recommends()) return std::nullopt;
  TrainingQuestion open = with_open_layout(of.found->question);
  open.top = 1;
  const TrainingPlan plan = plan_training(of.found->system, open);
  return plan.layouts.empty() ? std::nullopt : std::optional{planned(open, of.found->system, plan.layouts.front())};
}

PlanAnswer answer(const PlanRequest& request) {
  PlanAnswer out = searched(request);
  if (!out.fits || out.found->question.model.recommends()) return out;
  const FoundPlan& found = *out.found;
  for (const auto& advice : {mostly_waits, with_activations_on_host})
    if (const std::string text = advice(found.system, found.question, found.plan.layouts.front()); !text.empty())
      out.advice += (out.advice.empty() ? "" : ". ") + text;
  return out;
}

}  // namespace fabricost::plan
