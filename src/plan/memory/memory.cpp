#include <fabricost/plan/memory/memory.hpp>

namespace fabricost::plan {

PipelineSchedule schedule_of(const Layout& layout) {
  if (layout.pp == 1) return PipelineSchedule::none;
  const bool plain = layout.schedule == PipelineSchedule::none || layout.schedule == PipelineSchedule::one_f_one_b ||
                     layout.schedule == PipelineSchedule::interleaved;
  if (!plain) return layout.schedule;
  return layout.vp > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
}

double microbatches_in_flight(const Layout& layout, int stage) {
  if (layout.pp <= 1) return 1;
  return peak_activations(schedule_of(layout), stage, layout.pp, layout.vp, layout.microbatches());
}

int communicators_of(const Layout& layout) {
  const long long experts = static_cast<long long>(layout.ep) * layout.expert_tp;
  const bool replicated = layout.ep > 1 && static_cast<long long>(layout.tp) * layout.cp * layout.dp > experts;
  return (layout.tp > 1) + (layout.pp > 1) + (layout.cp > 1) + (layout.dp * layout.cp > 1) + (layout.ep > 1) + replicated;
}

double runtime_memory(const Layout& layout, const MemoryStack& stack) {
  return stack.context + stack.extra + stack.communicator * communicators_of(layout);
}

MemoryUse memory_of(const Model& model, const ParameterCount& count, const LayerActivations& layer, const Layout& layout,
                    const MemoryStack& stack, const HeavyStage& at, double in_flight) {
  const int stage = at.stage;
  const bool both_ways = layout.schedule == PipelineSchedule::dualpipe && layout.pp > 1;
  const StageContent content = with_predictions(at.here, model), mirror = both_ways ? with_predictions(at.mirror, model) : StageContent{};
  StageParameters whole = stage_parameters(count, model, at.here);
  if (both_ways) whole += stage_parameters(count, model, at.mirror);
  RankParameters own = rank_parameters(whole, model, layout, content.layers + mirror.layers);
  const bool embeds = content.embedding || mirror.embedding, heads = content.head || mirror.head;
  if (!stack.embedding_sharded && (embeds || copies_embedding(content, model) || copies_embedding(mirror, model)))
    own.vocabulary += count.embedding * (1 - 1.0 / layout.tp);

  MemoryUse use;
  use.stage = stage;
  use.in_flight = in_flight;

  // states; with DualPipe, both copies share their optimizer where it is sharded
  const int zero = layout.zero;
  const double ranks = shard_ranks(layout), expert_ranks = expert_shard_ranks(layout);
  const double sharded = own.shared() / ranks + own.experts / expert_ranks, all = own.shared() + own.experts;
  const RankParameters trained = trained_parameters(own, model, layout, at.here, at.mirror);
  const double learning = trained.shared() + trained.experts, learning_sharded = trained.shared() / ranks + trained.experts / expert_ranks;
  const StateBytes states = state_bytes(own, trained, layout, stack);
  use.weights = states.weights;
  use.gradients = states.gradients;
  use.optimizer = states.optimizer / (zero >= 1 && both_ways ? 2 : 1);

  // activations
  const double tokens = layout.tokens(), h = model.hidden, t = layout.tp;
  // DualPipe's microbatches come from both sides: the opposite stage, the p - s-th of its direction, has s + 1 of them, as 1F1B would
  const double opposite = both_ways ? std::min(in_flight, stage + 1.0) : 0;
  const KeptActivations here = kept_activations(layer, content, model, layout, stack),
                        there = both_ways ? kept_activations(layer, mirror, model, layout, stack) : KeptActivations{};
  const int layers = std::max(content.layers, mirror.layers), away = std::min(layout.offload_layers, layers);
  const double kept = std::max(here.kept, there.kept), on_gpu = layers > 0 ? static_cast<double>(layers - away) / layers : 1;
  const double all_kept = tokens * ((in_flight - opposite) * here.kept + opposite * there.kept);
  use.activations = all_kept * on_gpu;
  use.host = states.offloaded / (zero >= 1 && both_ways ? 2 : 1) + all_kept * (1 - on_gpu);
  use.recompute = tokens * std::max(here.again, there.again);

  if (model.images > 0 && content.embedding) {  // the images of each microbatch in flight
    const Layout seen = vision_layout(model, layout);
    const StageContent encoder = long_stages(*model.vision, Layout{}).front();
    const KeptActivations of_images = kept_activations(layer_activations(*model.vision, seen, stack), encoder, *model.vision, seen, stack);
    use.activations += seen.tokens() * of_images.kept * in_flight;
    use.recompute = std::max(use.recompute, seen.tokens() * of_images.again);
  }

  // embedding and head
  const double spread = layout.sequence_parallel ? 1 / t : 1;
  if (embeds && stack.dropout) use.vocabulary += tokens * h * spread * in_flight;
  if (heads) {
    // of all microbatches before the first backward; XLA's are divided over the stages (maxtext: activation_embed_and_logits_batch)
    const double open = layout.schedule == PipelineSchedule::gpipe ? std::max(1.0, in_flight / (stack.planned ? layout.pp : 1)) : 1;
    const double inputs = norm_input_bytes(stack, model) * h * spread + 2 * h * (stack.keeps_gathered ? 1 : spread);
    // the logits of every prediction module are alive beside the last layer's
    const int predictions = content.predictions + mirror.predictions;
    use.vocabulary +=
        tokens * open * (1 + predictions) * (inputs + stack.logit * model.vocab * model.head_share / (stack.logits_sharded ? t : 1));
    const double joined = 4 * h * spread + 2 * saved_input_bytes(stack, layout.precision) * h * (stack.keeps_gathered ? 1 : spread);
    // inputs of a module's two norms and of the matrix behind them
    use.vocabulary += tokens * (mirror.head ? opposite : in_flight - opposite) * predictions * joined;
  }

  // buffers
  const double mats = model.ffn_matrices();
  const bool has_dense = content.dense_layers + mirror.dense_layers > 0, has_experts = content.expert_layers + mirror.expert_layers > 0;
  const double dense_layer = has_dense ? (count.mixing + count.dense_ffn) / t : 0;
  const double local_experts = model.experts * count.expert / (static_cast<double>(layout.ep) * layout.expert_tp);
  const double apart = expert_ranks > 1 ? local_experts : 0;  // what no other rank has is nowhere gathered or reduced
  const double expert_layer = has_experts ? (count.mixing + count.shared) / t + apart : 0;
  const double largest_layer = std::max(dense_layer, expert_layer);
  // weights are gathered, and their gradients reduced, by layers or, with `gathered_layers` 0, matrix by matrix as XLA does: one in use
  // and the next
  const auto largest_matrix = [&](double experts) {
    return std::max({model.dense_layers() > 0 ? h * model.ffn / t : 0, h * model.query_width() / t, has_experts ? experts / mats : 0});
  };
  const double matrix = largest_matrix(apart);
  const bool by_matrix = stack.gathered_layers == 0;
  const double gathered = !layout.reshards ? all : by_matrix ? 2 * matrix : stack.gathered_layers * largest_layer;
  const double table = embeds || heads ? h * model.vocab / t : 0;  // embedding or output matrix
  if (layout.pp > 1) use.buffers += stack.pipe_buffer * tokens * h * in_flight;
  if (layout.context == ContextParallel::all_gather && layout.cp > 1)
    use.buffers += tokens * (layout.cp - 1) * 2 *
                   (model.latent() ? model.kv_rank + model.rope_dim : 2.0 * std::max(1.0, model.kv_heads / t) * model.head_dim);
  const auto reducing = [&](double parameters) { return shards_gradients(layout) ? std::min(parameters, learning - learning_sharded) : 0; };
  const auto gathering = [&](double parameters) { return zero >= 3 ? std::min(parameters, all - sharded) : 0; };
  if (stack.planned) {
    // a product writes its weights' gradient in the format that it read them in, which is reduced in it
    const double of_layers = stack.gathered_weight * (gathering(gathered) + reducing(matrix));
    const double of_ends = stack.gathered_weight * (gathering(layout.reshards ? table : all) + reducing(table));
    const bool at_ends = use.vocabulary + of_ends > use.recompute + of_layers;
    (at_ends ? use.recompute : use.vocabulary) = 0;
    use.buffers += at_ends ? of_ends : of_layers;
  } else {
    use.buffers += stack.gradient * reducing(std::max(2 * stack.bucket_parameters, by_matrix ? matrix : largest_layer));
    use.buffers += stack.gathered_weight * gathering(gathered + own.vocabulary);
  }
  if (layout.adapters.in_4_bit) use.buffers += 2 * largest_matrix(local_experts);  // the one in use, in 16 bit
  if (model.frozen) {
    const Model& other = *model.frozen;
    const Layout on = frozen_layout(layout, other);
    const StageContent second = stage_content(other, on, stage);
    const RankParameters n = rank_parameters(stage_parameters(parameters_of(other), other, second), other, on, second.layers);
    const bool shared = layout.adapters.on() && other.name == model.name;
    if (!shared) use.frozen = 2 * (zero >= 3 ? n.shared() / ranks + n.experts / expert_shard_ranks(on) : n.shared() + n.experts);
    const double gathers = n.layers + (expert_shard_ranks(on) > 1 ? n.experts : 0);
    if (zero >= 3) use.frozen += stack.gathered_weight * std::max(0.0, 2 * gathers / second.layers - gathering(gathered));
    if (second.head) use.vocabulary += 2 * tokens * other.vocab / (stack.logits_sharded ? t : 1);
  }
  if (away > 0) use.buffers += tokens * kept / layers * std::min(2, away);  // one on its way out, one on its way back
  if (layout.cuda_graphs) use.buffers += stack.graph_buffer * tokens * h * layers * spread * in_flight;
  if (stack.weight_gradient > 0 && layout.trains_all()) {
    // the head's gradient comes first, with all activations alive; the embedding's last, after they are freed
    const double head = heads ? h * model.vocab / t : 0;
    const double dense_matrix = has_dense ? (mats - 1) * h * model.ffn / t : 0,
                 expert_matrix = has_experts ? (mats - 1) * h * model.expert_ffn / layout.expert_tp : 0;
    use.buffers += stack.weight_gradient * std::max({head, dense_matrix, expert_matrix});
  }

  if (stack.frees_gradients && layout.pp == 1 && layout.microbatches() == 1 && !stack.planned) {
    const double head = std::min(use.gradients, heads ? use.gradients * table / std::max(1.0, learning) : 0);
    const double loss = use.activations + use.vocabulary, backward = use.activations + use.recompute + head;
    const double update = use.gradients + use.recompute;
    if (loss >= std::max(backward, update))
      use.gradients = use.recompute = 0;
    else if (backward >= update)
      use.gradients = head, use.vocabulary = 0;
    else
      use.activations = use.vocabulary = 0;
  }

  use.communicators = stack.communicator * communicators_of(layout);
  use.runtime = runtime_memory(layout, stack) - use.communicators;
  use.fragmentation = stack.fragmentation * use.allocated();
  return use;
}

MemoryUse memory_of(const Model& model, const Layout& layout, const MemoryStack& stack, int stage, double in_flight) {
  const HeavyStage at = stage_of(split_layers(model, layout), model, layout, stage);
  return memory_of(model, parameters_of(model), layer_activations(model, layout, stack), layout, stack, at, in_flight);
}

MemoryUse memory_of(const Model& model, const Layout& layout, const MemoryStack& stack, int stage) {
  return memory_of(model, layout, stack, stage, microbatches_in_flight(layout, stage));
}

MemoryUse worst_stage(const Model& model, const ParameterCount& count, const LayerActivations& layer, const Layout& layout,
                      const MemoryStack& stack, std::span<const HeavyStage> stages) {
  const auto of = [&](const HeavyStage& at) {
    return memory_of(model, count, layer, layout, stack, at, microbatches_in_flight(layout, at.stage));
  };
  MemoryUse worst = of(stages.front());
  for (const HeavyStage& at : stages.subspan(1)) {
    const MemoryUse use = of(at);
    const double host = std::max(worst.host, use.host);
    if (use.total() > worst.total()) worst = use;
    worst.host = host;
  }
  return worst;
}

/// Of a recommendation model: tables are spread evenly over the ranks, dense layers copied. Of a sample the outputs of all layers are kept,
/// and what was looked up on its way out and in, forward and back.
MemoryUse recommender_memory(const Model& model, const Layout& layout, const MemoryStack& stack) {
  const Recommender& r = model.recommender;
  const double dense = r.dense(), values = r.rows * r.width / layout.dp, samples = layout.microbatch,
               vectors = r.tables * static_cast<double>(r.width);
  double outputs = r.top_inputs() + r.cross_layers * (r.cross_rank + (r.tables + 1.0) * r.width);
  for (const auto* const widths : {&r.bottom, &r.top})
    for (const int width : *widths) outputs += width;
  MemoryUse use;
  use.weights = stack.weight * dense + r.value_bytes * values;
  use.gradients = stack.gradient * dense;
  use.optimizer = stack.optimizer * dense + r.state_bytes * values;
  use.activations = 2 * samples * (outputs + vectors);
  use.buffers = 4 * 2 * samples * vectors;
  use.communicators = stack.communicator * communicators_of(layout);
  use.runtime = runtime_memory(layout, stack) - use.communicators;
  use.fragmentation = stack.fragmentation * (use.activations + use.buffers);
  return use;
}

MemoryUse worst_stage(const Model& model, const Layout& layout, const MemoryStack& stack) {
  if (model.recommends()) return recommender_memory(model, layout, stack);
  const LayerActivations layer = layer_activations(model, layout, stack);
  return worst_stage(model, parameters_of(model), layer, layout, stack, heavy_stages(model, layout));
}

double lacking(const MemoryUse& use, double capacity, double host) { return std::max(use.total() - capacity, use.host - host); }

bool fits(const MemoryUse& use, double capacity, double margin, double host) { return lacking(use, capacity * (1 - margin), host) <= 0; }

double min_memory(const Model& model, const ParameterCount& count, const Layout& layout, const MemoryStack& stack) {
  StageContent everything{.layers = model.layers, .embedding = true, .head = true};
  everything.dense_layers = dense_layers_before(model, model.layers);
  everything.expert_layers = expert_layers_before(model, model.layers);
  const bool single = has_single_blocks(model);
  everything.mixing_layers = single ? model.layers - everything.dense_layers - everything.expert_layers : model.layers;
  everything.predictions = model.predict_layers;
  const RankParameters own = rank_parameters(stage_parameters(count, model, everything), model, layout, model.layers);
  const StateBytes states = state_bytes(own, trained_parameters(own, model, layout, everything), layout, stack);
  const double bytes = states.weights + states.gradients + states.optimizer;
  return bytes / layout.pp * (1 + stack.fragmentation) + runtime_memory(layout, stack);
}

}  // namespace fabricost::plan
