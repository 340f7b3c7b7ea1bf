/// Refuses options of a recipe that the programs refuse: what never ran has no time. Options that are searched are left out of the
/// search where they would be refused (training/search.hpp).
///
///   offload of activations   no stages, no recomputation, no graphs, fewer layers than the model has (megatron/core/transformer/
///                            transformer_config.py, __post_init__: cpu_offloading); MaxText's offload of layers' inputs is another
///   overlap of tokens        expert ranks; with stages several chunks of them; neither full recomputation nor that of experts; one
///                            prediction module at most (the same, overlap_moe_expert_parallel_comm; Megatron Bridge, comm_overlap.py)
///   overlap of tensor ranks  sequence parallel (megatron/training/arguments.py, tp_comm_overlap)
///   scales of fp8            32 values from sm_100 and gfx950, but not yet on sm_120; blocks from sm_90
///                            (transformer_engine/pytorch/quantization.py, check_mxfp8_support, check_fp8_block_scaling_support)
///   kinds of attention       flash3 on sm_90 alone, flash2 from sm_80 on (github.com/Dao-AILab/flash-attention, README)
///   delayed scales           neither moe_act nor layernorm is repeated (transformer_config.py)
///   fp8 parameters alone     a distributed optimizer holds what they are made of (arguments.py, fp8_param_gather)
///   fp8 inputs of SwiGLU     a gated feed-forward block (transformer_config.py, activation_func_fp8_input_store)
///   biases of experts        one tensor rank an expert (transformer_config.py, add_bias_linear)
///   division of layers       either layers of the first and last stage, or embedding and loss as layers (transformer_config.py,
///                            account_for_embedding_in_pipeline_split)
///   4-bit weights            frozen, with products in 16 bit (huggingface.co/docs/bitsandbytes, FSDP-QLoRA)
///   windows                  no ring of context ranks (transformer_engine/pytorch/attention, attn_forward_func_with_cp)

#include "answers/recipe.hpp"

#include "fields/refuse_given.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace fabricost::plan {
namespace {

using enum Generation;

void refuse(bool met, std::string_view what) {
  if (met) throw Refusal(std::string{what});
}

void check_offload(const PlanRequest& r, const TrainingQuestion& q) {
  if (!r.cpu_offloading_num_layers || q.stack.offloads_inputs) return;
  refuse(q.pp.value_or(1) > 1, "<cpu_offloading_num_layers> with <pp> above 1: Megatron-Core offloads no activations of pipeline stages; "
                               "leave one of them out");
  refuse(q.recompute.value_or(Recompute::none) != Recompute::none,
         "<cpu_offloading_num_layers> with <recompute>: Megatron-Core offloads no activations where any are recomputed; leave one of them "
         "out");
  refuse(q.cuda_graphs,
         "<cpu_offloading_num_layers> with <cuda_graphs>: Megatron-Core offloads no activations of graphs; leave one of them out");
}

void check_scales(const PlanRequest& r, const TrainingQuestion& q, const System& system) {
  if (!r.fp8_recipe) return;
  const Generation made = system.gpu.generation;
  const bool nvidia = is_nvidia(made), amd = made >= cdna2 && made <= cdna5;
  if (*r.fp8_recipe == Fp8Recipe::mxfp8 && ((nvidia && made < blackwell) || (amd && made < cdna4)))
    throw Refusal(fmt::format("<fp8_recipe> mxfp8: Transformer Engine scales 32 values {}, {} is {}; take {}",
                              amd ? "from gfx950 (cdna4) on" : "from sm_100 (blackwell) on", system.gpu.name, name(made),
                              amd || made < hopper ? "delayed or tensorwise" : "blockwise, delayed or tensorwise"));
  if (*r.fp8_recipe == Fp8Recipe::mxfp8 && system.gpu.arch.starts_with("sm_12"))
    throw Refusal(fmt::format("<fp8_recipe> mxfp8: Transformer Engine scales 32 values on sm_100 and sm_103, not on {}, which {} is; take "
                              "blockwise, delayed or tensorwise",
                              system.gpu.arch, system.gpu.name));
  if (*r.fp8_recipe == Fp8Recipe::blockwise && nvidia && made < hopper)
    throw Refusal(fmt::format("<fp8_recipe> blockwise: Transformer Engine scales blocks from sm_90 (hopper) on, {} is {}; take delayed or "
                              "tensorwise",
                              system.gpu.name, name(made)));
  using enum RecomputeModule;
  refuse(*r.fp8_recipe == Fp8Recipe::delayed && (q.recompute_modules.has(moe_act) || q.recompute_modules.has(layernorm)),
         "<fp8_recipe> delayed with <recompute_modules> moe_act or layernorm: Megatron-Core repeats neither with scales of earlier steps; "
         "take another recipe or other modules");
}

void check_sharding(const PlanRequest& r, const TrainingQuestion& q) {
  if (q.zero != 3) refuse_given(r, {"reshard_after_forward", "prefetch_layers"}, "<{}>: only sharded weights are gathered; give <zero=3>");
  refuse(r.prefetch_layers && q.stack.memory.planned, "<prefetch_layers>: a compiler places the gathers of this stack; leave it out");
  refuse(q.split.by_stage() && (q.split.embedding || q.split.loss),
         "<decoder_first_pipeline_num_layers> or <decoder_last_pipeline_num_layers> with <account_for_embedding_in_pipeline_split> or "
         "<account_for_loss_in_pipeline_split>: Megatron-Core takes one kind of division; leave one of them out");
}

void check_frozen(const PlanRequest& r, const TrainingQuestion& q) {
  if (!r.load_in_4bit) return;
  refuse(!r.lora_rank, "<load_in_4bit>: weights in 4 bit are frozen; give the rank of the adapters that are trained, <lora_rank>");
  refuse(q.precision == Precision::fp8 || q.precision == Precision::fp4,
         "<load_in_4bit> with narrow products: the weights are brought to 16 bit; take <precision=bf16>");
}

void check_attention(const PlanRequest& r, const System& system) {
  if (!r.attention) return;
  const Generation made = system.gpu.generation;
  const bool nvidia = is_nvidia(made);
  if (*r.attention == AttentionKernel::flash3 && made != hopper)
    throw Refusal(fmt::format("<attention> flash3: FlashAttention-3 runs on sm_90 (hopper) alone, {} is {}; take {}", system.gpu.name,
                              name(made), !nvidia || made < ampere ? "cudnn or math" : "cudnn, flash2 or math"));
  if (*r.attention == AttentionKernel::flash2 && nvidia && made < ampere)
    throw Refusal(fmt::format("<attention> flash2: FlashAttention-2 runs from sm_80 (ampere) on, {} is {}; take cudnn or math",
                              system.gpu.name, name(made)));
}

void check_overlap(const PlanRequest& r, const TrainingQuestion& q) {
  refuse(r.tp_comm_overlap.value_or(false) && q.sequence_parallel == false && q.tp != 1,
         "<tp_comm_overlap> yes with <sequence_parallel> no: Megatron-Core overlaps the exchange of sequence parallel alone; leave one of "
         "them out");
  if (!r.overlap_moe_comm.value_or(false)) return;
  refuse(q.ep == 1, "<overlap_moe_comm> yes with <ep> 1: no tokens are exchanged; leave one of them out");
  const PipelineSchedule schedule = q.schedule.value_or(PipelineSchedule::interleaved);
  const bool one_chunk = schedule == PipelineSchedule::one_f_one_b || (schedule == PipelineSchedule::interleaved && q.vp == 1);
  refuse(q.pp.value_or(1) > 1 && one_chunk,
         "<overlap_moe_comm> yes with <pp> above 1: Megatron-Core needs several chunks of layers a stage; take <vp> above 1 and <schedule> "
         "interleaved");
  refuse(q.recompute == Recompute::full || q.recompute_modules.has(RecomputeModule::moe),
         "<overlap_moe_comm> yes with <recompute> full or the module moe: Megatron-Core overlaps no tokens that are exchanged again; leave "
         "one of them out");
  refuse(q.model.predict_layers > 1,
         "<overlap_moe_comm> yes with <mtp_num_layers> above 1: Megatron-Core takes one prediction module at most");
}

}  // namespace

void check_recipe(const PlanRequest& r, const TrainingQuestion& q, const System& system) {
  check_offload(r, q);
  check_scales(r, q, system);
  check_attention(r, system);
  check_overlap(r, q);
  check_sharding(r, q);
  check_frozen(r, q);
  refuse(r.fp8_param_gather.value_or(false) && q.zero == 0,
         "<fp8_param_gather> yes with <zero> 0: only sharded states hold what fp8 parameters are made of; take <zero> 1 or more");
  if (r.activation_func_fp8_input_store.value_or(false) && !q.model.gated)
    throw Refusal(fmt::format("<activation_func_fp8_input_store> yes: Megatron-Core stores inputs of SwiGLU alone, {} has no gate",
                              q.model.name));
  if (q.model.mixture() && q.model.biases && q.expert_tp.value_or(1) > 1)
    throw Refusal(fmt::format("<expert_tp> {}: Megatron-Core divides no experts with biases, which {} has; take 1", *q.expert_tp,
                              q.model.name));
  if (q.context == ContextParallel::ring && q.cp.value_or(2) > 1 && has_windows(q))
    throw Refusal(fmt::format("<cp_comm_type> p2p: {} has layers with a window, whose keys Transformer Engine passes round no ring; take "
                              "all_gather or a2a",
                              q.model.name));
}

}  // namespace fabricost::plan
