#pragma once
/// Activations that a layer saves for its backward, in bytes per token on one rank.
///
/// With 16-bit tensors, t tensor ranks, r = 1/t with sequence parallel and 1 without (Korthikanti 2022, arXiv
/// 2205.05198, section 4, generalised to any shape; with dropout, h = a d = g d and f = 4 h the sum is the
/// paper's 10 + 24/t + 5 a s / (h t), times h):
///
///     block      r (2 n h + 2 h + 2 h [+ 2 h])         inputs of two norms, n bytes a value (2, in separate 32-bit kernels 6), of two
///                                                      column-parallel products [masks of dropout]
///     modulated  r (4 h + 4 h)                         normed values that are scaled, results that are gated, of both blocks (diffusion)
///     attention  (2 (a + 2 g) d + 2 a d) / t           q, k, v, output
///     latent     (4 a (n + r) + 4 a v) / t             q, k, v, output (DeepSeek-V2), and on every rank
///                + 4 q + 4 kv + 2 r                    inputs of the latents' norms and products, the rotary key
///     text       r (n h + 2 h), (2 a d + 2 a d) / t    a diffusion transformer's block that attends to a text, as attention; its keys and
///                                                      values are of the text's tokens
///     scores     2 a s / t [+ 3 a s / t]               softmax [mask, scores after it]; with flash attention 4 a / t for the row sums
///     dense      2 mats f / t                          gate and up (or one), and the input of the last product
///     experts    load k t_e / t (2 h [+ 2 h] + 2 mats f_e / t_e), and shared experts as dense
///
///     states     (2 (2 v + 2 k + g a) + 2 (v + 2 k) [delta rule] + 2 v + 2 v) / t      result of the product in; its convolved part,
///                which Mamba-2's kernel makes again; result of the scan; input of the product out. v values, k keys, g gates
///                of a heads. A layer of a model with both kinds is their mean
///
/// Selective recomputation by module drops what the module saves and repeats its forward (megatron/core/transformer/
/// transformer_config.py, recompute_modules; core_attn, mlp, moe and shared_experts are checkpoints that keep their
/// input, the others discard their output):
///
///     core_attn       scores and row sums                      mlp             tensors of a dense feed-forward block
///     mla_up_proj     q, k, v unfolded from latents            moe             tensors of a block of experts
///     layernorm       outputs of the two norms                 moe_act         inputs of the routed experts' last product
///                                                              shared_experts  tensors of the shared experts
///
/// Frozen weights need no input for a weight gradient: only matrices with an adapter keep theirs, in 16 bit, with the
/// mask of the adapter's dropout; attention keeps its output and norms and activation functions their inputs.

#include <fabricost/plan/memory/stack.hpp>
#include <fabricost/plan/model/layout.hpp>
#include <fabricost/plan/model/model.hpp>
#include <fabricost/plan/model/stages.hpp>

namespace fabricost::plan {

/// Bytes per token on one rank.
struct LayerActivations {
  double block = 0;      ///< norms, inputs of column-parallel products, masks; half before attention, half before feed-forward
  double attention = 0;  ///< without scores
  double unfolded = 0;   ///< part of `attention`: q, k and v unfolded from latents; 0 without latents
  double scores = 0;
  double dense = 0;      ///< feed-forward of a layer without experts
  double experts = 0;    ///< feed-forward of a layer with experts
  double normed = 0;     ///< part of `block`: outputs of the norms
  double row_sums = 0;   ///< part of `attention`: of flash attention
  double activated = 0;  ///< part of `experts`: inputs of the routed experts' last product
  double shared = 0;     ///< part of `experts`: of the shared ones

  [[nodiscard]] double dense_layer() const { return block + attention + scores + dense; }
  [[nodiscard]] double expert_layer() const { return block + attention + scores + experts; }
};

/// Bytes of one element of a saved input of a matrix product.
[[nodiscard]] double saved_input_bytes(const MemoryStack& stack, Precision precision);
/// Bytes of one element of a norm's saved inputs: layer norms, those of models without gates, are one kernel in every framework.
[[nodiscard]] double norm_input_bytes(const MemoryStack& stack, const Model& model);

[[nodiscard]] LayerActivations layer_activations(const Model& model, const Layout& layout, const MemoryStack& stack);

/// Activations that the modules of selective recomputation drop, by part of a layer, bytes per token.
struct DroppedActivations {
  double mixing = 0, dense = 0, experts = 0;
};

[[nodiscard]] DroppedActivations dropped_activations(const LayerActivations& a, SetOf<RecomputeModule> modules);

/// Whether selective recomputation without named modules drops anything: a fused attention keeps no scores to drop.
[[nodiscard]] bool selective_drops(const Model& model, const MemoryStack& stack);

/// Activations that a stage keeps for one microbatch from forward to backward, and those that one layer
/// recomputes in the backward; bytes per token.
struct KeptActivations {
  double kept = 0, again = 0;
};

[[nodiscard]] KeptActivations kept_activations(const LayerActivations& a, const StageContent& stage, const Model& model,
                                               const Layout& layout, const MemoryStack& stack);

/// Bytes that every layout with these ranks and this microbatch needs on some GPU, whatever its stages and recomputation: the backward of a
/// layer has all of its activations, and that of the output matrix the logits.
[[nodiscard]] double min_activations(const Model& model, const Layout& layout, const MemoryStack& stack);

}  // namespace fabricost::plan
