#pragma once
/// \file models.hpp
/// The named models; for one of them its shape, parameters, FLOPs and KV cache.

#include <fabricost/fields/fields.hpp>
#include <fabricost/plan/fields/named_models.hpp>
#include <fabricost/plan/model/model.hpp>

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace fabricost::plan {

struct ModelsRequest {
  NamedModel model;  ///< empty: all
  std::optional<int> sequence;

  static constexpr auto fields() {
    using R = ModelsRequest;
    using enum Amount;
    return Table{
        asks(&R::model, "model", "MODEL", " ", "Model: a name or a YAML file; default all"),
        asks(&R::sequence, "sequence", "--sequence", length, {1, 1e9}, "L",
             "Tokens per sequence of the FLOPs and the cache, as in 128k (131072);\ndefault 4096")};
  }
};

/// One named model.
struct ListedModel {
  std::string name, title;
  int layers = 0, hidden = 0, experts = 0, top_k = 0;
  double parameters = 0, active = 0, stated_parameters = 0;
  std::string partial;
  bool operator==(const ListedModel&) const = default;

  static constexpr auto fields() {
    using A = ListedModel;
    return Table{gives(&A::name, "name", "name", "As in `llama3-70b`, for load_model."),
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
};

/// A Mixer, as answers list it.
struct MixerFields : Mixer {
  static constexpr auto fields() {
    return Table{gives(&Mixer::layers, "layers", "layers", "How many of the model's layers."),
                 gives(&Mixer::inner, "inner", "inner", "Width of the values, all heads."),
                 gives(&Mixer::keys, "keys", "keys", "Width of the keys, all heads."),
                 gives(&Mixer::heads, "", "heads", "Heads."),
                 gives(&Mixer::state, "state", "state", "Keys per head: the state of a sequence is inner x state values."),
                 gives(&Mixer::gates, "", "gates", "Numbers per head and token that steer it."),
                 gives(&Mixer::kernel, "", "kernel", "Of the convolution over time in front.")};
  }
};

/// A ParameterCount, as answers list it.
struct ParameterFields : ParameterCount {
  static constexpr auto fields() {
    using P = ParameterCount;
    return Table{gives(&P::total, "total", "total", "Of the model, without prediction modules."),
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
};

/// The fields of a Model. Python has all of them; JSON has those of the shape, with objects for parts that
/// only some models have.
struct ModelFields : Model {
  /// For latent attention the number of KV heads that the kernels see.
  [[nodiscard]] int shown_kv_heads() const { return latent() ? 1 : kv_heads; }
  [[nodiscard]] int shown_head_dim() const { return latent() ? nope_dim + rope_dim : head_dim; }
  [[nodiscard]] std::optional<int> latent_q_rank() const { return latent() ? std::optional{q_rank} : std::nullopt; }
  [[nodiscard]] std::optional<int> index_of_tokens() const { return index_tokens > 0 ? std::optional{index_heads} : std::nullopt; }
  [[nodiscard]] std::string kind_name() const { return std::string{model_kind_names[static_cast<std::size_t>(kind)]}; }
  [[nodiscard]] std::string vision_name() const { return vision ? vision->name : std::string{}; }
  [[nodiscard]] std::string other_kind() const { return causal() ? std::string{} : kind_name(); }
  [[nodiscard]] std::optional<double> part_of_head() const { return head_share < 1 ? std::optional{head_share} : std::nullopt; }
  [[nodiscard]] std::optional<MixerFields> shown_mixer() const { return hybrid() ? std::optional{MixerFields{mixer}} : std::nullopt; }

  static constexpr auto fields() {
    using A = ModelFields;
    using M = Model;
    constexpr bool left_out = true, beside = true;
    return Table{
        gives(&M::name, "", "name", "Its name, as in `llama3-70b`."),
        gives(&M::title, "", "title", "What a person calls it."),
        gives(&A::other_kind, "kind", "", "", 1, left_out),
        gives(&A::kind_name, "", "kind", "decoder (a language model), encoder, diffusion (a transformer of images or videos) or recommendation."),
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
};

/// A model and the quantities that follow from its shape.
struct ModelAnswer {
  Model model;
  double sequence = 4096;
  ParameterCount parameters;
  std::optional<double> dense_layer_parameters{}, expert_layer_parameters{};
  double forward_flops_per_token = 0, decode_flops = 0;
  ByName<ByName<std::optional<double>>> training_flops_per_token{};
  Bytes kv_bytes_per_token{}, kv_bytes_per_token_layer{}, kv_bytes_per_sequence{};
  bool operator==(const ModelAnswer&) const = default;

  [[nodiscard]] const std::string& name() const { return model.name; }
  [[nodiscard]] const std::string& title() const { return model.title; }
  [[nodiscard]] const std::vector<std::string>& aliases() const { return model.aliases; }
  [[nodiscard]] ModelFields shape() const { return {model}; }
  [[nodiscard]] ParameterFields parameter_fields() const { return {parameters}; }
  [[nodiscard]] std::optional<double> stated() const { return known(model.stated_parameters); }
  [[nodiscard]] std::optional<double> stated_active() const { return known(model.stated_active); }
  [[nodiscard]] const std::string& stated_source() const { return model.stated_source; }
  [[nodiscard]] const std::string& partial() const { return model.partial; }
  [[nodiscard]] const std::string& notes() const { return model.notes; }
  [[nodiscard]] const std::string& source() const { return model.source; }
  [[nodiscard]] const std::string& confidence() const { return model.confidence; }

  static constexpr auto fields() {
    using A = ModelAnswer;
    return Table{gives(&A::model, "", "model", "Its shape, a Model."),
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

 private:
  [[nodiscard]] static std::optional<double> known(double value) { return value > 0 ? std::optional{value} : std::nullopt; }
};

/// All named models, or the requested one. \throws Refusal for a sequence without a model; SpecError,
/// RequestError as load_model
[[nodiscard]] std::variant<std::vector<ListedModel>, ModelAnswer> answer(const ModelsRequest& request);

}  // namespace fabricost::plan
