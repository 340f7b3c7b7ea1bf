#pragma once
/// \file model.hpp
/// The shape of a transformer language model, and the numbers of parameters that follow from it.
///
/// Symbols as in the field: l layers, h hidden, a query heads, g key/value heads, d head dimension, f feed-forward width, V vocabulary,
/// E experts, k of them per token. All counts are exact functions of the shape; a shape that is not one is refused by `check`.

#include <fabricost/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

struct Model {
  std::string name;
  std::string title;
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;  ///< = heads without grouping
  int head_dim = 0;
  int vocab = 0;
  int ffn = 0;        ///< width of a dense feed-forward block; 0 when every layer has experts
  bool gated = true;  ///< three matrices (SwiGLU) rather than two
  bool tied = false;  ///< output matrix shared with the embedding
  int positions = 0;  ///< rows of a learned position embedding; 0 with rotary or none
  bool biases = false;

  int experts = 0;  ///< routed, per expert layer
  int top_k = 0;
  int expert_ffn = 0;  ///< width of one routed expert
  int shared_experts = 0;
  int shared_ffn = 0;     ///< width of one shared expert
  int first_dense = 0;    ///< leading layers without experts
  int expert_every = 1;   ///< of the others, each n-th has experts
  int expert_groups = 0;  ///< groups the experts are divided into for routing; 0: none
  int group_limit = 0;    ///< groups a token may go to

  int q_rank = 0;   ///< multi-head latent attention: rank of the query, 0 when the query is not compressed
  int kv_rank = 0;  ///< rank of the key/value latent; 0: no latent attention
  int rope_dim = 0, nope_dim = 0, value_dim = 0;
  int window = 0;          ///< tokens a sliding-window layer sees; 0: all
  int predict_layers = 0;  ///< multi-token prediction modules

  double stated_parameters = 0, stated_active = 0;  ///< as published; 0 unknown

  [[nodiscard]] bool latent() const { return kv_rank > 0; }
  [[nodiscard]] bool mixture() const { return experts > 0; }
  [[nodiscard]] int expert_layers() const {
    return experts == 0 ? 0 : (layers - first_dense) / expert_every;
  }
  [[nodiscard]] int dense_layers() const { return layers - expert_layers(); }
  [[nodiscard]] int ffn_matrices() const { return gated ? 3 : 2; }
  /// Widths of the queries and of what attention returns, all heads: a d, or with latent attention a (nope + rope) and a value.
  [[nodiscard]] double query_width() const { return latent() ? double(heads) * (nope_dim + rope_dim) : double(heads) * head_dim; }
  [[nodiscard]] double value_width() const { return latent() ? double(heads) * value_dim : double(heads) * head_dim; }
};

/// Parameters by where they stand.
struct ParameterCount {
  double attention = 0;    ///< one layer
  double dense_ffn = 0;    ///< one layer without experts
  double expert = 0;       ///< one routed expert
  double shared = 0;       ///< shared experts of one layer, together
  double router = 0;       ///< one layer
  double norms = 0;        ///< one layer
  double embedding = 0;    ///< input table (and positions)
  double head = 0;         ///< output table; 0 when tied
  double total = 0;        ///< of the model, without prediction modules
  double active = 0;       ///< touched by one token, embeddings counted once each as in published "active" figures
};

/// Attention matrices of one layer: h a d + 2 h g d + a d h; latent: h q + q a (n + r) + h (kv + r) + kv a (n + v) + a v h (DeepSeek-V2).
[[nodiscard]] inline double attention_parameters(const Model& m) {
  const double h = m.hidden;
  const double width = m.query_width();
  if (m.latent()) {
    const double query = m.q_rank > 0 ? h * m.q_rank + m.q_rank * width : h * width;
    return query + h * (m.kv_rank + m.rope_dim) + double(m.kv_rank) * m.heads * (m.nope_dim + m.value_dim) + m.value_width() * h;
  }
  return h * width + 2 * h * m.kv_heads * m.head_dim + width * h;
}

[[nodiscard]] inline ParameterCount parameters_of(const Model& m) {
  ParameterCount n;
  const double h = m.hidden, mats = m.ffn_matrices();
  n.attention = attention_parameters(m) + (m.biases ? m.query_width() + 2.0 * m.kv_heads * m.head_dim + h : 0);
  n.dense_ffn = mats * h * m.ffn + (m.biases ? m.ffn + h : 0);
  n.expert = mats * h * m.expert_ffn;
  n.shared = m.shared_experts * mats * h * m.shared_ffn;
  n.router = h * m.experts;
  n.norms = (m.biases ? 4 : 2) * h;
  n.embedding = h * m.vocab + h * m.positions;
  n.head = m.tied ? 0 : h * m.vocab;
  const double dense = m.dense_layers(), mixed = m.expert_layers();
  const double always = m.layers * (n.attention + n.norms) + dense * n.dense_ffn + mixed * (n.shared + n.router) + n.embedding + n.head + h;
  n.total = always + mixed * m.experts * n.expert;
  n.active = always + mixed * m.top_k * n.expert;
  return n;
}

/// \throws RequestError naming what is no shape of a transformer
inline void check(const Model& m) {
  const auto refuse = [&](const std::string& what) { throw RequestError(m.name + ": " + what); };
  if (m.layers < 1 || m.hidden < 1 || m.heads < 1 || m.vocab < 1) refuse("layers, hidden, heads and vocab must be at least 1");
  if (!m.latent() && (m.kv_heads < 1 || m.heads % m.kv_heads != 0 || m.head_dim < 1))
    refuse("kv_heads must divide heads and head_dim be at least 1");
  if (m.experts > 0 && (m.top_k < 1 || m.top_k > m.experts || m.expert_ffn < 1)) refuse("top_k must be 1 to experts, and expert_ffn given");
  if (m.first_dense < 0 || m.first_dense > m.layers || m.expert_every < 1) refuse("first_dense must be 0 to layers, expert_every at least 1");
  if (m.dense_layers() > 0 && m.ffn < 1) refuse("ffn must be given for layers without experts");
}

}  // namespace fabricost
