#pragma once
/// \file stage_parameters.hpp
/// Parameters of a pipeline stage and of each of its ranks.
///
/// Matrices of attention, feed-forward and vocabulary are divided over t tensor ranks; norms and routers are
/// replicated on all. Routed experts are divided over e expert ranks of t_e tensor ranks each (folding: e t_e
/// of the t c D ranks of a stage). A prediction module (multi-token prediction) is on the stage of the output matrix, which it
/// shares: a layer, two norms and a matrix that joins the embedding of the next token with the hidden state (2 h to h), a last norm
/// (DeepSeek-V3, arXiv 2412.19437, section 2.2; megatron/core/transformer/multi_token_prediction.py). Apart from the first stage it keeps
/// a copy of the embedding.

#include <fabricost/model/stages.hpp>

#include <algorithm>

namespace fabricost {

/// Parameters of a whole stage, before tensor and expert ranks divide them.
struct StageParameters {
  double matrices = 0;    ///< attention, dense feed-forward, shared experts
  double replicated = 0;  ///< norms, routers
  double experts = 0;     ///< routed
  double vocabulary = 0;  ///< embedding and output table; if tied, the last stage keeps a copy of the first one's

  [[nodiscard]] double total() const { return matrices + replicated + experts + vocabulary; }
  StageParameters& operator+=(const StageParameters& o) {
    matrices += o.matrices, replicated += o.replicated, experts += o.experts, vocabulary += o.vocabulary;
    return *this;
  }
};

/// Whether a stage keeps the input table for its prediction modules alone; a tied one is there with the output matrix.
[[nodiscard]] inline bool copies_embedding(const StageContent& stage, const Model& model) {
  return stage.predictions > 0 && !stage.embedding && !stage.beside_embedding && !model.tied;
}

/// Parameters of a stage; they sum to ParameterCount::total and the prediction modules over all stages, except that tables which
/// two stages need count twice.
[[nodiscard]] inline StageParameters stage_parameters(const ParameterCount& n, const Model& model, const StageContent& at) {
  const StageContent stage = with_predictions(at, model);
  const double mixed = stage.expert_layers, h = model.hidden;
  StageParameters out;
  out.matrices = stage.mixing_layers * n.mixing + stage.dense_layers * n.dense_ffn + mixed * n.shared +
                 stage.predictions * 2 * h * h;
  out.replicated = stage.layers * n.norms + mixed * n.router + (stage.head ? h : 0) + stage.predictions * 3 * h;
  out.experts = mixed * model.experts * n.expert;
  const double copied = model.tied && !stage.embedding ? h * model.vocab : n.head;
  out.vocabulary = (stage.embedding ? n.embedding : 0) + (stage.head ? copied : 0) + (copies_embedding(stage, model) ? h * model.vocab : 0);
  return out;
}

/// Parameters of one rank.
struct RankParameters {
  double layers = 0;      ///< this rank's part of attention and feed-forward matrices, norms and routers
  double vocabulary = 0;  ///< of embedding and output table
  double experts = 0;     ///< of routed experts

  [[nodiscard]] double shared() const { return layers + vocabulary; }
};

/// A rank's part. Key/value heads are repeated if fewer than tensor ranks: ceil(g / t) per rank.
[[nodiscard]] inline RankParameters rank_parameters(const StageParameters& whole, const Model& model, const Layout& layout, int layers) {
  const double t = layout.tp;
  RankParameters out;
  out.layers = whole.matrices / t + whole.replicated;
  if (!model.latent() && layout.tp > model.kv_heads) out.layers += layers * 2.0 * model.hidden * model.head_dim * (1 - model.kv_heads / t);
  out.vocabulary = whole.vocabulary / t;
  out.experts = whole.experts / (static_cast<double>(layout.ep) * layout.expert_tp);
  return out;
}

/// Parameters of a rank that are trained: all of them, or those of the adapters. An adapter of rank r on a matrix from a
/// to b has r (a + b), divided over tensor ranks like the matrix (Megatron Bridge shards the wide side; the narrow one,
/// replicated there, is counted as divided); every routed expert has its own. \param own all parameters of the rank
[[nodiscard]] inline RankParameters trained_parameters(const RankParameters& own, const Model& m, const Layout& layout,
                                                       const StageContent& stage, const StageContent& mirror = {}) {
  if (layout.trains_all()) return own;
  const Adapters& on = layout.adapters;
  const double r = on.rank, h = m.hidden, t = layout.tp, inner = m.ffn_matrices() - 1;
  const double keys = m.latent() ? m.kv_rank + m.rope_dim : m.kv_heads * (m.shared_kv ? 1.0 : 2.0) * m.head_dim;
  const auto block = [&](double width) {
    return (on.at(AdapterModule::linear_fc1) ? h + inner * width : 0) + (on.at(AdapterModule::linear_fc2) ? width + h : 0);
  };
  const double mixing = (on.at(AdapterModule::linear_qkv) ? h + m.query_width() + keys : 0) +
                        (on.at(AdapterModule::linear_proj) ? m.value_width() + h : 0);
  const double layers = (stage.mixing_layers + mirror.mixing_layers) * mixing + (stage.dense_layers + mirror.dense_layers) * block(m.ffn);
  const double experts = stage.expert_layers + mirror.expert_layers;
  RankParameters out;
  out.layers = r / t * (layers + experts * m.shared_experts * block(m.shared_ffn));
  out.experts = m.mixture() ? r * experts * m.experts * block(m.expert_ffn) / (static_cast<double>(layout.ep) * layout.expert_tp) : 0;
  return out;
}

/// Ranks that the states outside routed experts are divided over if sharded.
[[nodiscard]] inline int shard_ranks(const Layout& layout) {
  const int ranks = layout.dp * layout.cp;
  return layout.shard > 0 ? std::min(layout.shard, ranks) : ranks;
}
/// The same for routed experts, t / (e t_e) as many: expert ranks are taken from data ranks.
[[nodiscard]] inline double expert_shard_ranks(const Layout& layout) {
  return std::max(1.0, static_cast<double>(shard_ranks(layout)) * layout.tp / (static_cast<double>(layout.ep) * layout.expert_tp));
}

}  // namespace fabricost
