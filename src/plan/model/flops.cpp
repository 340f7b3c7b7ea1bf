#include <fabricost/plan/model/flops.hpp>

namespace fabricost::plan::detail {

/// Mean number of earlier tokens that a query in a sequence of s attends to, in a window of `max` (0: none).
double mean_context(double s, double max, Scores scores) {
  if (max <= 0 || max >= s) return scores == Scores::causal ? s / 2 : s;
  // full: a kernel that masks nothing inside the window; causal: the window fills up over its first tokens
  return scores == Scores::causal ? max - max * max / (2 * s) : max;
}

/// Scores and weighted sums of one token: over `all` tokens in full layers and `near` in windowed ones, the
/// indexer over all, and the state update of mixing layers: decay, outer product, read-out, plus the
/// correction of the delta rule.
double context_flops(const Model& m, double per_full, double all, double chosen, double near) {
  const double window_heads = m.window_heads > 0 ? m.window_heads : m.heads;
  const double window_key = m.window_head_dim > 0 ? m.window_head_dim : m.head_dim;
  const double per_window = m.latent() ? per_full : window_heads * (window_key + (m.value_dim > 0 ? m.value_dim : window_key));
  const double index = double(m.index_heads) * m.index_dim;
  const double update = m.mixer.gates == 2 ? 7 : 5;
  return 2 * m.full_layers() * (per_full * chosen + index * all) + 2 * m.window_layers * per_window * near +
         update * m.mixer.layers * double(m.mixer.inner) * m.mixer.state;
}

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

double forward_flops(const Model& m, double sequence, Scores scores) {
  if (m.recommends()) {
    const Recommender& r = m.recommender;
    const double vectors = r.tables + 1.0;
    return sequence * 2 * (r.dense() + (r.cross_layers > 0 ? 0 : vectors * vectors * r.width));
  }
  if (!m.causal()) scores = Scores::full;
  const double all = detail::mean_context(sequence, 0, scores);
  const double chosen = detail::mean_context(sequence, m.index_tokens, scores);
  const double near = detail::mean_context(sequence, m.window, scores);
  return sequence * (2 * parameters_of(m).multiplied + detail::context_flops(m, m.query_width() + m.value_width(), all, chosen, near)) +
         m.full_layers() * conditioning_flops(m, sequence) + (m.vision ? m.images * forward_flops(*m.vision, m.image_tokens, scores) : 0);
}

double prediction_flops(const Model& m, double sequence, Scores scores) {
  if (m.predict_layers == 0) return 0;
  const ParameterCount n = parameters_of(m);
  const double h = m.hidden, mixing = m.attention_layers() + m.mixer.layers;
  const double matrices = (m.full_layers() * n.attention + m.window_layers * n.window + m.mixer.layers * n.mixer) / mixing;
  const double feed = m.mixture() ? n.shared + n.router + m.top_k * n.expert : n.dense_ffn;
  const double all = detail::mean_context(sequence, 0, scores), chosen = detail::mean_context(sequence, m.index_tokens, scores);
  const double near = detail::mean_context(sequence, m.window, scores);
  const double context = detail::context_flops(m, m.query_width() + m.value_width(), all, chosen, near) / mixing;
  return m.predict_layers * sequence * (2 * (matrices + feed + 2 * h * h + h * m.vocab) + context);
}

double decode_flops(const Model& m, double context) {
  const double per_full = m.latent() ? double(m.heads) * (2.0 * m.kv_rank + m.rope_dim) : m.query_width() + m.value_width();
  const double chosen = m.index_tokens > 0 ? std::min<double>(context, m.index_tokens) : context;
  const double near = m.window > 0 ? std::min<double>(context, m.window) : context;
  return 2 * parameters_of(m).multiplied + detail::context_flops(m, per_full, context, chosen, near);
}

double training_flops(const Model& m, double sequence, FlopConvention convention, Scores scores) {
  const double s = sequence, l = m.layers, h = m.hidden, vocab = m.vocab;
  const double part = scores == Scores::causal && m.causal() ? 0.5 : 1;
  const auto refuse = [&](std::string_view what) {
    throw RequestError(m.name + ": the convention " + std::string{flop_convention_names[static_cast<std::size_t>(convention)]} +
                       " has no term for " + std::string{what} + "; count it with " +
                       std::string{m.recommends() ? "matmul" : "matmul or palm"});
  };
  if (m.recommends() && convention != FlopConvention::matmul) refuse("tables");
  switch (convention) {
    case FlopConvention::matmul: return 3 * forward_flops(m, s, scores);
    case FlopConvention::kaplan: return 6 * parameters_of(m).active * s;
    case FlopConvention::palm:
      return s * (6 * parameters_of(m).active + 6 * m.attention_layers() * (m.query_width() + m.value_width()) * s * part);
    case FlopConvention::megatron:
    case FlopConvention::megatron_recompute: {
      if (m.mixture() || m.hybrid()) refuse(m.mixture() ? "experts" : "mixing layers");
      const bool again = convention == FlopConvention::megatron_recompute;
      return (again ? 96 : 72) * s * l * h * h * (1 + part * s / (6 * h) + vocab / ((again ? 16 : 12) * l * h));
    }
    case FlopConvention::dgx_cloud: {
      if (m.latent() || m.hybrid()) refuse(m.latent() ? "latent attention" : "mixing layers");
      const double attention = 12 * l * s * h * h * (1 + double(m.kv_heads) / m.heads + part * s / h);
      const double shared = double(m.shared_experts) * m.shared_ffn;
      const double widths = m.dense_layers() * double(m.ffn) + m.expert_layers() * (m.top_k * double(m.expert_ffn) + shared);
      return attention + 6 * m.ffn_matrices() * s * h * widths + 6 * s * h * vocab;
    }
    case FlopConvention::mosaic:
    case FlopConvention::mosaic_recompute:
      return (convention == FlopConvention::mosaic ? 3 : 4) * s * (2 * parameters_of(m).active + 4 * l * h * s * part);
  }
  return 0;
}

double training_flops_per_token(const Model& m, double sequence, FlopConvention convention, Scores scores) {
  return training_flops(m, sequence, convention, scores) / sequence;
}

}  // namespace fabricost::plan
