#pragma once
/// Parameters of a pipeline stage and of each of its ranks.
///
/// Matrices of attention, feed-forward and vocabulary are divided over t tensor ranks; norms and routers are
/// replicated on all. Routed experts are divided over e expert ranks of t_e tensor ranks each (folding: e t_e
/// of the t c D ranks of a stage). A prediction module (multi-token prediction) is on the stage of the output matrix, which it
/// shares: a layer, two norms and a matrix that joins the embedding of the next token with the hidden state (2 h to h), a last norm
/// (DeepSeek-V3, arXiv 2412.19437, section 2.2; megatron/core/transformer/multi_token_prediction.py). Apart from the first stage it keeps
/// a copy of the embedding.

#include <fabricost/plan/model/stages.hpp>

namespace fabricost::plan {

/// Parameters of a whole stage, before tensor and expert ranks divide them.
struct StageParameters {
  double matrices = 0;    ///< attention, dense feed-forward, shared experts
  double replicated = 0;  ///< norms, routers
  double experts = 0;     ///< routed
  double vocabulary = 0;  ///< embedding and output table; if tied, the last stage keeps a copy of the first one's

  [[nodiscard]] double total() const { return matrices + replicated + experts + vocabulary; }
  StageParameters& operator+=(const StageParameters& o) {
    matrices += o.matrices;
    replicated += o.replicated;
    experts += o.experts;
    vocabulary += o.vocabulary;
    return *this;
  }
};

/// Whether a stage keeps the input table for its prediction modules alone; a tied one is there with the output matrix.
[[nodiscard]] bool copies_embedding(const StageContent& stage, const Model& model);

/// Parameters of a stage; they sum to ParameterCount::total and the prediction modules over all stages, except that tables which
/// two stages need count twice.
[[nodiscard]] StageParameters stage_parameters(const ParameterCount& n, const Model& model, const StageContent& at);

/// Parameters of one rank.
struct RankParameters {
  double layers = 0;      ///< this rank's part of attention and feed-forward matrices, norms and routers
  double vocabulary = 0;  ///< of embedding and output table
  double experts = 0;     ///< of routed experts

  [[nodiscard]] double shared() const { return layers + vocabulary; }
};

/// A rank's part. Key/value heads are repeated if fewer than tensor ranks: ceil(g / t) per rank.
[[nodiscard]] RankParameters rank_parameters(const StageParameters& whole, const Model& model, const Layout& layout, int layers);

/// Parameters of a rank that are trained: all of them, or those of the adapters. An adapter of rank r on a matrix from a
/// to b has r (a + b), divided over tensor ranks like the matrix (Megatron Bridge shards the wide side; the narrow one,
/// replicated there, is counted as divided); every routed expert has its own. \param own all parameters of the rank
[[nodiscard]] RankParameters trained_parameters(const RankParameters& own, const Model& m, const Layout& layout,
                                                const StageContent& stage, const StageContent& mirror = {});

/// Ranks that the states outside routed experts are divided over if sharded.
[[nodiscard]] int shard_ranks(const Layout& layout);
/// The same for routed experts, t / (e t_e) as many: expert ranks are taken from data ranks.
[[nodiscard]] double expert_shard_ranks(const Layout& layout);

}  // namespace fabricost::plan
