/// The named models, and quantities that follow from the shape of one.

#include <fabricost/fields/field.hpp>
#include <fabricost/plan/answers/models.hpp>
#include <fabricost/plan/model/flops.hpp>
#include <fabricost/plan/specs/load_model.hpp>

namespace fabricost::plan {

RequestTable<ModelsRequest> ModelsRequest::fields() {
  using R = ModelsRequest;
  using enum Amount;
  return {asks(&R::model, "model", "MODEL", " ", "Model: a name or a YAML file; default all"),
          asks(&R::sequence, "sequence", "--sequence", length, {1, 1e9}, "L",
               "Tokens per sequence of the FLOPs and the cache, as in 128k (131072);\ndefault 4096")};
}

AnswerTable<ListedModel> ListedModel::fields() {
  using A = ListedModel;
  return {gives(&A::name, "name", "name", "As in `llama3-70b`, for load_model."),
          gives(&A::title, "title", "title", "What a person calls it."),
          gives(&A::layers, "layers", "layers", "l, layers."),
          gives(&A::hidden, "hidden", "hidden", "h, hidden size."),
          gives(&A::experts, "experts", "experts", "E, routed experts of a layer; 0: none."),
          gives(&A::top_k, "top_k", "top_k", "k, experts of one token."),
          gives(&A::parameters, "parameters", "parameters", "Of the model, without prediction modules."),
          gives(&A::active, "active", "active", "Touched by one token, both tables counted once."),
          gives(&A::stated_parameters, "", "stated_parameters", "Parameters as published; 0: unknown."),
          gives(&A::partial, "partial", "partial", "What of the model this shape leaves out; empty: nothing that matters.")};
}

AnswerTable<MixerFields> MixerFields::fields() {
  return {gives(&Mixer::layers, "layers", "layers", "How many of the model's layers."),
          gives(&Mixer::inner, "inner", "inner", "Width of the values, all heads."),
          gives(&Mixer::keys, "keys", "keys", "Width of the keys, all heads."),
          gives(&Mixer::heads, "", "heads", "Heads."),
          gives(&Mixer::state, "state", "state", "Keys per head: the state of a sequence is inner x state values."),
          gives(&Mixer::gates, "", "gates", "Numbers per head and token that steer it."),
          gives(&Mixer::kernel, "", "kernel", "Of the convolution over time in front.")};
}

AnswerTable<ParameterFields> ParameterFields::fields() {
  using P = ParameterCount;
  return {gives(&P::total, "total", "total", "Of the model, without prediction modules."),
          gives(&P::active, "active", "active", "Touched by one token, both tables counted once."),
          gives(&P::multiplied, "multiplied", "multiplied", "A token is multiplied with: active without norms and input table."),
          gives(&P::attention, "attention", "attention",
                "Of one attention layer that sees the whole sequence: h a d + 2 h g d + a d h, or the latent form."),
          gives(&P::window, "", "window", "Of one attention layer with a window; 0: there are none."),
          gives(&P::mixer, "mixer", "mixer", "Of one layer that mixes through a state; 0: there are none."),
          gives(&P::dense_ffn, "dense_ffn", "dense_ffn",
                "Of the feed-forward block of one layer without experts: 3 h f, or 2 h f without a gate."),
          gives(&P::expert, "expert", "expert", "Of one routed expert."),
          gives(&P::shared, "shared", "shared", "Of all shared experts of one layer."),
          gives(&P::router, "router", "router", "Of the router of one layer: h E."),
          gives(&P::norms, "norms", "norms", "Of the norms of one layer."),
          gives(&P::embedding, "embedding", "embedding", "Of the input table: h V."),
          gives(&P::head, "head", "head", "Of the output table: h V, 0 when it is the input's.")};
}

AnswerTable<ModelFields> ModelFields::fields() {
  using A = ModelFields;
  using M = Model;
  constexpr bool left_out = true, beside = true;
  return {
      gives(&M::name, "", "name", "Its name, as in `llama3-70b`."),
      gives(&M::title, "", "title", "What a person calls it."),
      gives(&A::other_kind, "kind", "", "", 1, left_out),
      gives(&A::kind_name, "", "kind",
            "decoder (a language model), encoder, diffusion (a transformer of images or videos) or recommendation."),
      gives(&A::vision_name, "vision", "vision", "Name of the encoder of its images; empty: none.", 1, left_out),
      gives(&A::part_of_head, "head_share", "", "", 1, left_out),
      gives(&M::head_share, "", "head_share", "Of a sequence's tokens, those that the output table sees, above 0 to 1."),
      gives(&M::cross_tokens, "cross_tokens", "cross_tokens", "Tokens of a text that each layer attends to as well; 0: none.", 1, left_out),
      gives(&M::modulation, "modulation", "modulation", "Matrices h x h of a layer that read its sequence's time and class.", 1, left_out),
      gives(&M::patch_pixels, "patch.pixels", "patch_pixels", "Side of the square of pixels that is a token; 0: no image.", 1, left_out),
      gives(&M::patch_frames, "patch.frames", "patch_frames", "Frames of a video that are a token, after the first.", 1, !left_out, beside),
      gives(&M::layers, "layers", "layers", "l, layers."),
      gives(&M::hidden, "hidden", "hidden", "h, hidden size."),
      gives(&M::heads, "heads", "heads", "a, query heads."),
      gives(&M::kv_heads, "", "kv_heads", "g, key/value heads."),
      gives(&A::shown_kv_heads, "kv_heads", "", ""),
      gives(&M::head_dim, "", "head_dim", "d, size of a head."),
      gives(&A::shown_head_dim, "head_dim", "", ""),
      gives(&M::value_head_dim, "value_dim", "", ""),
      gives(&M::vocab, "vocab", "vocab", "V, vocabulary."),
      gives(&M::ffn, "ffn", "ffn", "f, width of a dense feed-forward block; 0: every layer has experts."),
      gives(&M::gated, "gated", "gated", "Three matrices (SwiGLU) rather than two."),
      gives(&M::tied, "tied", "tied", "Output table shared with the embedding."),
      gives(&M::positions, "positions", "positions", "Rows of a learned position embedding."),
      gives(&M::biases, "", "biases", "Matrices have biases."),
      gives(&M::attention_layers, "attention_layers", "attention_layers", "Layers with attention."),
      gives(&M::dense_layers, "dense_layers", "dense_layers", "Layers whose feed-forward block has no experts."),
      gives(&M::expert_layers, "expert_layers", "expert_layers", "Layers with routed experts."),
      gives(&M::predict_layers, "predict_layers", "", ""),
      gives(&M::experts, "experts.count", "experts", "E, routed experts of a layer; 0: none.", 1, left_out),
      gives(&M::top_k, "experts.top_k", "top_k", "k, experts of one token.", 1, !left_out, beside),
      gives(&M::expert_ffn, "experts.width", "expert_ffn", "Width of one routed expert.", 1, !left_out, beside),
      gives(&M::expert_hidden, "", "expert_hidden", "Width routed experts read and write; 0: hidden."),
      gives(&M::shared_experts, "experts.shared", "shared_experts", "Experts every token goes to.", 1, !left_out, beside),
      gives(&M::shared_ffn, "experts.shared_width", "shared_ffn", "Width of one shared expert.", 1, !left_out, beside),
      gives(&M::first_dense, "", "first_dense", "Leading layers without experts."),
      gives(&M::expert_every, "", "expert_every", "Of the others, each n-th has experts."),
      gives(&M::expert_groups, "experts.groups", "expert_groups", "Groups of experts for routing; 0: none.", 1, !left_out, beside),
      gives(&M::group_limit, "experts.group_limit", "group_limit", "Groups a token may go to.", 1, !left_out, beside),
      gives(&A::latent_q_rank, "latent.q_rank", "", "", 1, left_out),
      gives(&M::q_rank, "", "q_rank", "Rank of compressed queries; 0: not compressed."),
      gives(&M::kv_rank, "latent.kv_rank", "kv_rank", "Rank of the key/value latent; 0: no latent attention.", 1, !left_out, beside),
      gives(&M::rope_dim, "latent.rope_dim", "rope_dim", "Rotary part of a latent head.", 1, !left_out, beside),
      gives(&M::nope_dim, "latent.nope_dim", "nope_dim", "The rest of a latent head.", 1, !left_out, beside),
      gives(&M::value_dim, "", "value_dim", "Of a head's value; 0: head_dim."),
      gives(&M::output_rank, "", "output_rank", "Of an output matrix in two; 0: one matrix."),
      gives(&M::output_groups, "", "output_groups", "Groups of that matrix."),
      gives(&M::gated_attention, "", "gated_attention", "What attention returns is multiplied by a gate."),
      gives(&M::shared_kv, "", "shared_kv", "The keys serve as values, too."),
      gives(&M::window, "window.size", "", "", 1, left_out),
      gives(&M::window_layers, "window.layers", "", "", 1, !left_out, beside),
      gives(&A::index_of_tokens, "index.heads", "", "", 1, left_out),
      gives(&M::index_heads, "", "index_heads", "Heads of an indexer; 0: none."),
      gives(&M::index_dim, "index.head_dim", "index_dim", "Size of its heads.", 1, !left_out, beside),
      gives(&M::index_tokens, "index.tokens", "index_tokens", "Tokens of the past it picks.", 1, !left_out, beside),
      gives(&M::window, "", "window", "Tokens a sliding-window layer sees; 0: there are none."),
      gives(&M::window_layers, "", "window_layers", "Layers with the window."),
      gives(&M::window_heads, "", "window_heads", "Their heads where they differ; 0: as the others."),
      gives(&M::window_kv_heads, "", "window_kv_heads", "The same of key/value heads."),
      gives(&M::window_head_dim, "", "window_head_dim", "The same of a head's size."),
      gives(&M::predict_layers, "", "predict_layers", "Multi-token prediction modules, in no count."),
      gives(&M::mixer, "", "mixer", "Layers that carry a state, a Mixer."),
      gives(&A::shown_mixer, "mixer", "", "", 1, left_out),
      gives(&M::single_block, "", "single_block", "Each layer is one block alone."),
      gives(&M::dense_blocks, "", "dense_blocks", "Of those, feed-forward blocks."),
      gives(&M::expert_blocks, "", "expert_blocks", "Of those, blocks of experts."),
      gives(&M::stated_parameters, "", "stated_parameters", "Parameters as published; 0: unknown."),
      gives(&M::stated_active, "", "stated_active", "Active parameters as published; 0: unknown."),
      gives(&M::stated_other, "", "stated_other", "Of the published, what is no part of this shape."),
      gives(&M::stated_source, "", "stated_source", "Where that was published."),
      gives(&M::partial, "", "partial", "What of the model this shape leaves out; empty: nothing that matters."),
      gives(&M::notes, "", "notes", "Remarks."),
      gives(&M::source, "", "source", "Where the shape comes from."),
      gives(&M::confidence, "", "confidence", "How far to trust it."),
      gives(&M::aliases, "", "aliases", "Other names in use.")};
}

AnswerTable<ModelAnswer> ModelAnswer::fields() {
  using A = ModelAnswer;
  return {gives(&A::model, "", "model", "Its shape, a Model."),
          gives(&A::name, "name", "", ""),
          gives(&A::title, "title", "", ""),
          gives(&A::aliases, "aliases", "", ""),
          gives(&A::shape, "shape", "", ""),
          gives(&A::parameters, "", "parameters", "Numbers of parameters by where they stand, a ParameterCount."),
          gives(&A::parameter_fields, "parameters", "", ""),
          gives(&A::dense_layer_parameters, "parameters.dense_layer", "dense_layer_parameters",
                "Of the matrices of one dense layer; None: there is none."),
          gives(&A::expert_layer_parameters, "parameters.expert_layer", "expert_layer_parameters",
                "Of the matrices of one layer with experts; None: there is none."),
          gives(&A::stated, "stated.parameters", "", ""),
          gives(&A::stated_active, "stated.active", "", ""),
          gives(&A::stated_source, "stated.source", "", ""),
          gives(&A::sequence, "flops_per_token.sequence", "sequence", "Tokens of a sequence."),
          gives(&A::forward_flops_per_token, "flops_per_token.forward", "forward_flops_per_token", "Of one such sequence, causal."),
          gives(&A::decode_flops, "flops_per_token.decode", "decode_flops", "Of one more token after the sequence."),
          gives(&A::training_flops_per_token, "flops_per_token.training", "training_flops_per_token",
                "Forward and backward: dicts of `full` and `causal` scores by convention; None: it has no term for the model."),
          gives(&A::kv_bytes_per_token, "kv_bytes_per_token", "kv_bytes_per_token", "Cache at 2 bytes a value, byte."),
          gives(&A::kv_bytes_per_token_layer, "kv_bytes_per_token_layer", "kv_bytes_per_token_layer",
                "The same of one layer that sees all tokens, byte."),
          gives(&A::kv_bytes_per_sequence, "kv_bytes_per_sequence", "kv_bytes_per_sequence", "Cache of the sequence, byte."),
          gives(&A::partial, "partial", "", ""),
          gives(&A::notes, "notes", "", ""),
          gives(&A::source, "source", "", ""),
          gives(&A::confidence, "confidence", "", "")};
}

namespace {

/// Parameters of the matrices of one layer, without norms.
[[nodiscard]] std::optional<double> layer_parameters(const ParameterCount& n, const Model& m, bool experts) {
  if (m.single_block || m.recommends() || (experts ? m.expert_layers() : m.dense_layers()) == 0) return std::nullopt;
  return n.attention + (experts ? n.shared + n.router + m.experts * n.expert : n.dense_ffn);
}

/// Empty where the convention has no term for the model.
[[nodiscard]] std::optional<double> convention_flops(const Model& m, double sequence, FlopConvention convention, Scores scores) {
  try {
    return training_flops_per_token(m, sequence, convention, scores);
  } catch (const RequestError&) {
    return std::nullopt;
  }
}

[[nodiscard]] ModelAnswer answer_of(const Model& m, double sequence) {
  ModelAnswer out{.model = m, .sequence = sequence, .parameters = parameters_of(m)};
  out.dense_layer_parameters = layer_parameters(out.parameters, m, false);
  out.expert_layer_parameters = layer_parameters(out.parameters, m, true);
  out.forward_flops_per_token = forward_flops(m, sequence) / sequence;
  if (m.causal()) out.decode_flops = decode_flops(m, sequence);
  for (std::size_t i = 0; i < flop_convention_names.size(); ++i) {
    ByName<std::optional<double>> one;
    for (const Scores scores : {Scores::full, Scores::causal})
      one.emplace_back(scores_names[static_cast<std::size_t>(scores)],
                       convention_flops(m, sequence, static_cast<FlopConvention>(i), scores));
    out.training_flops_per_token.emplace_back(flop_convention_names[i], std::move(one));
  }
  if (!m.causal()) return out;  // keeps no keys and values from token to token
  out.kv_bytes_per_token = units::B(kv_bytes_per_token(m, 2));
  out.kv_bytes_per_token_layer = units::B(m.kv_width() * 2);
  out.kv_bytes_per_sequence = units::B(kv_bytes(m, sequence, 2));
  return out;
}

}  // namespace

std::variant<std::vector<ListedModel>, ModelAnswer> answer(const ModelsRequest& request) {
  check_ranges(request);
  if (request.model) return answer_of(request.model.load(), request.sequence.value_or(4096));
  if (request.sequence) throw Refusal("<sequence> is for one model: add <model>");
  std::vector<ListedModel> out;
  for (const std::string& name : model_names()) {
    const Model m = load_model(name);
    const ParameterCount n = parameters_of(m);
    out.push_back({m.name, m.title, m.layers, m.hidden, m.experts, m.top_k, n.total, n.active, m.stated_parameters, m.partial});
  }
  return out;
}

}  // namespace fabricost::plan
