#include <fabricost/plan/memory/activations.hpp>

namespace fabricost::plan {

double saved_input_bytes(const MemoryStack& stack, Precision precision) {
  return precision == Precision::fp8 ? stack.fp8_input : precision == Precision::fp4 ? stack.fp4_input : 2;
}

double norm_input_bytes(const MemoryStack& stack, const Model& model) {
  return model.gated ? stack.norm_input : std::min(stack.norm_input, 2.0);
}

LayerActivations layer_activations(const Model& model, const Layout& layout, const MemoryStack& stack) {
  const double t = layout.tp, each = 1 / t, spread = layout.sequence_parallel ? each : 1;
  const double product = saved_input_bytes(stack, layout.precision);
  // bytes kept of the input of a matrix; of its output, where attention needs it as well
  const auto input = [&](AdapterModule at) { return layout.trains_all() ? product : layout.adapters.at(at) ? 2 + stack.adapter_mask : 0; };
  const double h = model.hidden;
  LayerActivations out;
  const int blocks = 1 + model.mixing_blocks();
  out.normed =
      h * (stack.keeps_gathered ? 1 : spread) * ((blocks - 1) * input(AdapterModule::linear_qkv) + input(AdapterModule::linear_fc1));
  out.block = h * (blocks * norm_input_bytes(stack, model) * spread + (stack.dropout ? 2 * spread : 0)) + out.normed;
  if (model.modulation > 0) out.block += 8 * h * spread;
  const double result = layout.trains_all() ? product : std::max(2.0, input(AdapterModule::linear_proj));
  if (model.latent()) {
    out.unfolded = each * (2 * 2 * model.query_width() + 2 * model.value_width());
    out.attention = out.unfolded + each * result * model.value_width();
    out.attention += (2 + input(AdapterModule::linear_qkv)) * (model.q_rank + model.kv_rank) + 2.0 * model.rope_dim;
  } else {
    const int kv_heads = (model.kv_heads + layout.tp - 1) / layout.tp;
    const double kv = kv_heads * (model.head_dim + model.value_width() / model.heads);
    out.attention = 2 * (each * model.query_width() + kv) + result * each * model.value_width();
  }
  if (model.cross_tokens > 0) {  // queries and the result; keys and values are the text's
    const double text = static_cast<double>(model.cross_tokens) / layout.sequence * layout.cp;
    out.attention +=
        each * (2 * model.query_width() + result * model.value_width() + 2 * text * (model.query_width() + model.value_width()));
  }
  if (model.hybrid()) {
    const Mixer& x = model.mixer;
    const double convolved = x.gates == 2 ? 2 * (x.inner + 2.0 * x.keys) : 0, last = 2 + result;
    const double through_state = each * (2 * (2.0 * x.inner + 2.0 * x.keys + double(x.gates) * x.heads) + convolved + last * x.inner);
    const double states = state_share(model);
    out.attention = (1 - states) * out.attention + states * through_state;
    out.unfolded *= 1 - states;
  }
  if (stack.flash_attention) {
    out.row_sums = (1 - state_share(model)) * 4 * each * model.heads;
    out.attention += out.row_sums;
  } else {
    out.scores = (1 - state_share(model)) * (stack.dropout ? 5 : 2) * each * model.heads * static_cast<double>(layout.attended());
  }
  const double last = input(AdapterModule::linear_fc2);
  const double kept = model.gated ? stack.activation_input : std::min(stack.activation_input, 2.0);
  const double wide = kept * (model.ffn_matrices() - 1) + last;  // bytes per unit of feed-forward width
  out.dense = wide * each * model.ffn;
  if (model.mixture()) {
    const double routed = stack.routed_load * model.top_k * each;
    out.activated = routed * last * model.expert_ffn;
    out.shared = wide * each * model.shared_experts * model.shared_ffn;
    out.experts = routed * (layout.expert_tp * h * (input(AdapterModule::linear_fc1) + (stack.keeps_routed_output ? 2 : 0)) +
                            wide * model.expert_ffn) +
                  out.shared;
  }
  return out;
}

DroppedActivations dropped_activations(const LayerActivations& a, SetOf<RecomputeModule> modules) {
  using enum RecomputeModule;
  const auto of = [&](RecomputeModule one, double bytes) { return modules.has(one) ? bytes : 0; };
  const double norm = of(layernorm, a.normed / 2);
  DroppedActivations out;
  out.mixing = norm + of(core_attn, a.scores + a.row_sums) + of(mla_up_proj, a.unfolded);
  out.dense = norm + of(mlp, a.dense);
  out.experts = norm + (modules.has(moe) ? a.experts : of(moe_act, a.activated) + of(shared_experts, a.shared));
  return out;
}

bool selective_drops(const Model& model, const MemoryStack& stack) {
  return !stack.flash_attention || stack.selective_keeps < 1 || model.latent();
}

KeptActivations kept_activations(const LayerActivations& a, const StageContent& stage, const Model& model, const Layout& layout,
                                 const MemoryStack& stack) {
  const double mixing = a.block / 2 + a.attention, dense = a.block / 2 + a.dense, experts = a.block / 2 + a.experts;
  const double without_scores = stage.mixing_layers * mixing + stage.dense_layers * dense + stage.expert_layers * experts;
  const double all = without_scores + stage.mixing_layers * a.scores;
  if (layout.recompute == Recompute::none || stage.layers == 0) return {all, 0};
  // a layer is an attention and a feed-forward block (the larger kind); single blocks are one of them
  const double feed = std::max(stage.dense_layers > 0 ? dense : 0, stage.expert_layers > 0 ? experts : 0);
  const double layer = stage.mixing_layers == stage.layers ? mixing + feed : std::max(mixing, feed);
  if (layout.recompute == Recompute::selective && !layout.recompute_modules.empty()) {
    const DroppedActivations d = dropped_activations(a, layout.recompute_modules);
    const double dropped = stage.mixing_layers * d.mixing + stage.dense_layers * d.dense + stage.expert_layers * d.experts;
    const double block = std::max(stage.dense_layers > 0 ? d.dense : 0, stage.expert_layers > 0 ? d.experts : 0);
    return {all - dropped, (stage.mixing_layers > 0 ? d.mixing : 0) + block};
  }
  if (layout.recompute == Recompute::selective) {
    // latents: their unfolded tensors are recomputed (priced in layer.hpp), more where the stack drops more
    const double keeps = stack.selective_keeps, mixes = stage.mixing_layers > 0 ? 1 : 0;
    return {std::min(without_scores * keeps, without_scores - stage.mixing_layers * a.unfolded),
            std::max(layer * (1 - keeps), mixes * a.unfolded) + mixes * a.scores};
  }
  const double stored = 2.0 * model.hidden / (layout.sequence_parallel || stack.shards_stored ? layout.tp : 1);
  const bool by_stage = !layout.recompute_by_stage.empty();
  if (by_stage && stage.again == 0) return {all, 0};
  const double of_model = layout.recompute_layers > 0 ? std::min(1.0, static_cast<double>(layout.recompute_layers) / model.layers) : 1;
  const double share = by_stage ? std::min(1.0, static_cast<double>(stage.again) / stage.layers) : of_model;
  // the stored input is one of the layer's tensors
  return {share * stage.layers * stored + (1 - share) * all, std::max(0.0, layer + (stage.mixing_layers > 0 ? a.scores : 0) - stored)};
}

double min_activations(const Model& model, const Layout& layout, const MemoryStack& stack) {
  const LayerActivations a = layer_activations(model, layout, stack);
  const double mixing = a.block / 2 + a.attention + a.scores, dense = a.block / 2 + a.dense, experts = a.block / 2 + a.experts;
  double feed = std::numeric_limits<double>::infinity();
  if (model.dense_layers() > 0) feed = dense;
  if (model.expert_layers() > 0) feed = std::min(feed, experts);
  const double layer = has_single_blocks(model) ? std::min(mixing, feed) : mixing + feed;
  const double logits = stack.logit * model.vocab * model.head_share / (stack.logits_sharded ? layout.tp : 1);
  return layout.tokens() * std::max(layer, logits) * (1 + stack.fragmentation);
}

}  // namespace fabricost::plan
