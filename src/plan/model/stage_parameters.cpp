#include <fabricost/plan/model/stage_parameters.hpp>

namespace fabricost::plan {

bool copies_embedding(const StageContent& stage, const Model& model) {
  return stage.predictions > 0 && !stage.embedding && !stage.beside_embedding && !model.tied;
}

StageParameters stage_parameters(const ParameterCount& n, const Model& model, const StageContent& at) {
  const StageContent stage = with_predictions(at, model);
  const double mixed = stage.expert_layers, h = model.hidden;
  StageParameters out;
  out.matrices = (stage.embedding ? n.vision : 0) + stage.mixing_layers * n.mixing + stage.dense_layers * n.dense_ffn + mixed * n.shared +
                 stage.predictions * 2 * h * h;
  out.replicated = stage.layers * n.norms + mixed * n.router + (stage.head ? h : 0) + stage.predictions * 3 * h;
  out.experts = mixed * model.experts * n.expert;
  const double copied = model.tied && !stage.embedding ? h * model.vocab : n.head;
  out.vocabulary = (stage.embedding ? n.embedding : 0) + (stage.head ? copied : 0) + (copies_embedding(stage, model) ? h * model.vocab : 0);
  return out;
}

RankParameters rank_parameters(const StageParameters& whole, const Model& model, const Layout& layout, int layers) {
  const double t = layout.tp;
  RankParameters out;
  out.layers = whole.matrices / t + whole.replicated;
  if (!model.latent() && layout.tp > model.kv_heads) out.layers += layers * 2.0 * model.hidden * model.head_dim * (1 - model.kv_heads / t);
  out.vocabulary = whole.vocabulary / t;
  out.experts = whole.experts / (static_cast<double>(layout.ep) * layout.expert_tp);
  return out;
}

RankParameters trained_parameters(const RankParameters& own, const Model& m, const Layout& layout, const StageContent& stage,
                                  const StageContent& mirror) {
  if (layout.trains_all()) return own;
  const Adapters& on = layout.adapters;
  const double r = on.rank, h = m.hidden, t = layout.tp, inner = m.ffn_matrices() - 1;
  const double keys = m.latent() ? m.kv_rank + m.rope_dim : m.kv_heads * (m.shared_kv ? 1.0 : 2.0) * m.head_dim;
  const auto block = [&](double width) {
    return (on.at(AdapterModule::linear_fc1) ? h + inner * width : 0) + (on.at(AdapterModule::linear_fc2) ? width + h : 0);
  };
  const double mixing =
      (on.at(AdapterModule::linear_qkv) ? h + m.query_width() + keys : 0) + (on.at(AdapterModule::linear_proj) ? m.value_width() + h : 0);
  const double layers = (stage.mixing_layers + mirror.mixing_layers) * mixing + (stage.dense_layers + mirror.dense_layers) * block(m.ffn);
  const double experts = stage.expert_layers + mirror.expert_layers;
  RankParameters out;
  out.layers = r / t * (layers + experts * m.shared_experts * block(m.shared_ffn));
  out.experts = m.mixture() ? r * experts * m.experts * block(m.expert_ffn) / (static_cast<double>(layout.ep) * layout.expert_tp) : 0;
  return out;
}

int shard_ranks(const Layout& layout) {
  const int ranks = layout.dp * layout.cp;
  return layout.shard > 0 ? std::min(layout.shard, ranks) : ranks;
}

double expert_shard_ranks(const Layout& layout) {
  return std::max(1.0, static_cast<double>(shard_ranks(layout)) * layout.tp / (static_cast<double>(layout.ep) * layout.expert_tp));
}

}  // namespace fabricost::plan
