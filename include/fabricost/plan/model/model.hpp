#pragma once
/// The shape of a transformer language model, and the numbers of parameters and of cached values that follow from it.
///
/// Symbols as in the field: l layers, h hidden, a query heads, g key/value heads, d head dimension, f
/// feed-forward width, V vocabulary, E experts, k of them per token. All counts are functions of the shape;
/// `check` refuses an invalid one. `partial` names parts of a model that these members cannot describe, so
/// that callers can warn or refuse. Counts omit what is below 1e-4 of a model: norms of queries and keys,
/// gates of shared experts, biases of routers.

#include <fabricost/error.hpp>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// Layers with a state of fixed size instead of keys and values: Mamba-2 (gates = 1) or a gated delta rule
/// (gates = 2).
struct Mixer {
  int layers = 0;
  int inner = 0;  ///< width of the values, all heads
  int keys = 0;   ///< width of the keys, all heads (Mamba-2: groups x state); the queries have the same
  int heads = 0;
  int state = 0;   ///< keys per head: the state of a sequence is inner x state values
  int gates = 1;   ///< gates per head and token: the time step, or decay and write strength
  int kernel = 4;  ///< kernel width of the preceding convolution over time
  bool operator==(const Mixer&) const = default;
};

/// What a model's layers are for. A decoder writes a text token by token, under a causal mask; an encoder reads all of a text at once; a
/// diffusion transformer removes noise from all tokens of an image or a video; a recommendation model looks rows of tables up.
enum class ModelKind : unsigned char { decoder, encoder, diffusion, recommendation };
inline constexpr std::array<std::string_view, 4> model_kind_names{"decoder", "encoder", "diffusion", "recommendation"};

/// Norms of queries and keys before their product: none, of each head, or over all heads, for which tensor ranks add up their squares.
enum class HeadNorm : unsigned char { none, each, all };
inline constexpr std::array<std::string_view, 3> head_norm_names{"none", "each", "all"};

/// Embedding tables and dense layers of a recommendation model (training/recommender.hpp).
struct Recommender {
  int tables = 0;
  double rows = 0;          ///< of all tables
  int width = 0;            ///< values of a row
  double lookups = 0;       ///< rows of a sample, from all tables
  int value_bytes = 4;      ///< of a value in the tables
  double state_bytes = 0;   ///< of the tables' optimizer, for a value
  std::vector<int> bottom;  ///< widths of the layers that take in the numbers of a sample, these numbers first
  std::vector<int> top;     ///< widths of the layers behind the interaction
  int cross_layers = 0;     ///< of a cross network (DCNv2); 0: dot products of all pairs of vectors
  int cross_rank = 0;
  bool operator==(const Recommender&) const = default;

  /// What the interaction gives: the inputs of the cross network, or the last vector of `bottom` and a number for each pair.
  [[nodiscard]] double top_inputs() const {
    const double vectors = tables + 1.0;
    return cross_layers > 0 ? vectors * width : width + vectors * (vectors - 1) / 2;
  }
  /// Weights of the dense layers, with their biases.
  [[nodiscard]] double dense() const;
};

struct Model {
  std::string name;
  std::string title;
  ModelKind kind = ModelKind::decoder;
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;  ///< = heads without grouping
  int head_dim = 0;
  int vocab = 0;
  int ffn = 0;        ///< width of a dense feed-forward block; 0 when every layer has experts
  bool gated = true;  ///< three matrices (SwiGLU) instead of two
  bool tied = false;  ///< output matrix shared with the embedding
  int positions = 0;  ///< rows of a learned position embedding; 0 with rotary or none
  bool biases = false;

  int experts = 0;  ///< routed, per expert layer
  int top_k = 0;
  int expert_ffn = 0;     ///< width of one routed expert
  int fp8_block = 0;      ///< columns and rows that share a scale in its published fp8 weights; 0: not in blocks
  int expert_hidden = 0;  ///< width that routed experts read and write, projected down from h and up again; 0: h itself
  int shared_experts = 0;
  int shared_ffn = 0;     ///< width of one shared expert
  int first_dense = 0;    ///< leading layers without experts
  int expert_every = 1;   ///< of the others, each n-th has experts
  int expert_groups = 0;  ///< groups the experts are divided into for routing; 0: none
  int group_limit = 0;    ///< maximum groups per token

  int q_rank = 0;   ///< rank of the compressed query; 0: not compressed
  int kv_rank = 0;  ///< rank of the key/value latent of multi-head latent attention; 0: no latent attention
  int rope_dim = 0, nope_dim = 0;
  int value_dim = 0;                       ///< width of a head's value; 0: head_dim (without latent attention)
  int output_rank = 0, output_groups = 1;  ///< the output matrix in two: per group to this rank, then to h; 0: one matrix
  bool gated_attention = false;            ///< attention output is multiplied by a gate of the same width
  bool shared_kv = false;                  ///< the keys also serve as values
  int index_heads = 0, index_dim = 0;      ///< of an indexer that picks index_tokens earlier tokens per query; 0: none
  int index_tokens = 0;
  HeadNorm head_norm = HeadNorm::none;
  int window = 0;                                                  ///< tokens a sliding-window layer sees; 0: no such layers
  int window_layers = 0;                                           ///< attention layers with the window
  int window_heads = 0, window_kv_heads = 0, window_head_dim = 0;  ///< of windowed layers; 0: as the others
  int predict_layers = 0;                                          ///< multi-token prediction modules; in no count of this file

  double head_share = 1;  ///< of a sequence's tokens, those that the output matrix sees (an encoder's masked words)
  int cross_tokens = 0;   ///< tokens of a text that each layer attends to beside its own, in a block between its two; 0: none
  int modulation = 0;     ///< h x h matrices of a layer that read one vector a sequence, its time and class; 0: none
  int patch_pixels = 0;   ///< side of the square of an image's pixels that is a token; 0: no image
  int patch_frames = 1;   ///< frames of a video that are a token, after the first, which is one alone

  Recommender recommender;

  std::shared_ptr<const Model> vision{};  ///< the encoder of its images, beside the first layers; null: it reads texts only
  int images = 0;                         ///< of a training sequence, which holds their merged tokens
  int image_tokens = 0;                   ///< patches of an image, the encoder's tokens

  Mixer mixer;
  bool single_block = false;                ///< each layer is a single block: attention, mixer or feed-forward (Nemotron-H)
  int dense_blocks = 0, expert_blocks = 0;  ///< of those layers; the rest, apart from mixers, is attention

  double stated_parameters = 0, stated_active = 0;  ///< as published; 0 unknown
  double stated_other = 0;                          ///< published parameters outside this shape (a vision tower)
  std::string stated_source;
  std::string stated_precision;  ///< of the published weights, where narrower than 16 bit; empty: 16 bit, or unknown
  std::string partial;  ///< what this shape omits of the model; empty: nothing that matters
  std::string unread;   ///< keys of its config.json that may say more of its shape and are read by no rule
  std::string notes, source, confidence;
  std::vector<std::string> aliases;  ///< other names in use
  /// A second, frozen model on the same ranks whose forward every microbatch takes, too: the reference of a preference loss, a teacher.
  std::shared_ptr<const Model> frozen{};
  bool operator==(const Model&) const = default;

  [[nodiscard]] bool causal() const { return kind == ModelKind::decoder; }
  [[nodiscard]] bool recommends() const { return kind == ModelKind::recommendation; }
  /// Blocks of a layer that mix tokens: its own, and those of a text.
  [[nodiscard]] int mixing_blocks() const { return cross_tokens > 0 ? 2 : 1; }
  [[nodiscard]] bool latent() const { return kv_rank > 0; }
  [[nodiscard]] bool mixture() const { return experts > 0; }
  [[nodiscard]] bool hybrid() const { return mixer.layers > 0; }
  /// Whether steps of models of its kind were fitted: decoders of text alone whose layers attend.
  [[nodiscard]] bool in_fits() const { return causal() && images == 0 && !hybrid(); }
  [[nodiscard]] int expert_layers() const {
    if (single_block) return expert_blocks;
    return experts == 0 ? 0 : (layers - first_dense) / expert_every;
  }
  [[nodiscard]] int dense_layers() const { return single_block ? dense_blocks : layers - expert_layers(); }
  [[nodiscard]] int attention_layers() const { return layers - mixer.layers - (single_block ? dense_blocks + expert_blocks : 0); }
  /// Attention layers without a window.
  [[nodiscard]] int full_layers() const { return attention_layers() - window_layers; }
  [[nodiscard]] int ffn_matrices() const { return gated ? 3 : 2; }
  [[nodiscard]] int value_head_dim() const { return value_dim > 0 ? value_dim : head_dim; }
  /// Width of the queries and of the attention output, all heads: a d, or with latent attention a (nope +
  /// rope) and a value.
  [[nodiscard]] double query_width() const { return latent() ? double(heads) * (nope_dim + rope_dim) : double(heads) * head_dim; }
  [[nodiscard]] double value_width() const { return double(heads) * value_head_dim(); }
  /// Values cached per token and full-attention layer: keys and values of all groups, or the latent and its
  /// rotary part; an index key.
  [[nodiscard]] double kv_width() const {
    const double own = latent() ? kv_rank + rope_dim : double(kv_heads) * (shared_kv ? head_dim : head_dim + value_head_dim());
    return own + index_dim;
  }
  /// The same for a layer with a window.
  [[nodiscard]] double window_kv_width() const;
};

/// Parameters by place.
struct ParameterCount {
  double attention = 0;   ///< one full-attention layer, with its attention to a text and its modulation
  double conditioning = 0;  ///< of these, matrices that read a text or a vector rather than the layer's tokens
  double window = 0;      ///< attention of one layer with a window
  double mixer = 0;       ///< one layer that mixes through a state
  double mixing = 0;      ///< one layer's attention or state mixer: the mean of these three over the layers that have one
  double dense_ffn = 0;   ///< one layer without experts
  double expert = 0;      ///< one routed expert
  double shared = 0;      ///< shared experts of one layer, together, with the projections to and from `expert_hidden`
  double router = 0;      ///< one layer
  double norms = 0;       ///< one layer
  double vision = 0;      ///< the encoder of images
  double embedding = 0;   ///< input table (and positions)
  double head = 0;        ///< output table; 0 when tied
  double total = 0;       ///< of the model, without prediction modules
  double active = 0;      ///< touched by one token, both tables counted once
  double multiplied = 0;  ///< those a token is multiplied with: `active` without norms and input table, with the output table even when
                          ///< tied
  bool operator==(const ParameterCount&) const = default;
};

/// Attention matrices of one full-attention layer: h a d + 2 h g d + a d h; latent: h q + q a (n + r) + h (kv
/// + r) + kv a (n + v) + a v h (DeepSeek-V2, arXiv 2405.04434); an indexer adds q a' d' + h d' + h a'
/// (DeepSeek-V3.2).
[[nodiscard]] double attention_parameters(const Model& m);

/// The same for a layer with a window.
[[nodiscard]] double window_parameters(const Model& m);

/// One mixing layer: h (2 inner + 2 keys + gates heads) in, the convolution, inner h out (Mamba-2, arXiv 2405.21060; gated delta rule,
/// arXiv 2412.06464).
[[nodiscard]] double mixer_parameters(const Model& m);

/// FLOPs of a layer's matrices that read a text or a vector, and of the scores of its tokens with the text, for one sequence.
[[nodiscard]] double conditioning_flops(const Model& m, double sequence);

/// Counts every matrix, the norms and, if present, the biases. \param m a shape that passed `check`
[[nodiscard]] ParameterCount parameters_of(const Model& m);

/// Bytes added by a cached token while no window is full, all layers: 2 l g d w, latent l (kv + r) w.
/// \param width bytes of one value
[[nodiscard]] double kv_bytes_per_token(const Model& m, double width);

/// Bytes of one sequence of `context` tokens: windowed layers keep at most their window; mixing layers keep a
/// state of fixed size (of `state_width` bytes per value) and the past of their convolution.
[[nodiscard]] double kv_bytes(const Model& m, double context, double width, double state_width = 4);

/// \throws RequestError naming what makes the shape invalid
void check(const Model& m);

}  // namespace fabricost::plan
