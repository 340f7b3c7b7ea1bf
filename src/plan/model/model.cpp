#include <fabricost/plan/model/model.hpp>

namespace fabricost::plan {

double Model::window_kv_width() const {
  if (latent()) return kv_width();
  const int groups = window_kv_heads > 0 ? window_kv_heads : kv_heads;
  const bool both = shared_kv && window_kv_heads == 0 && window_head_dim == 0;
  const int key = window_head_dim > 0 ? window_head_dim : head_dim;
  return double(groups) * (both ? key : key + (value_dim > 0 ? value_dim : key));
}

}  // namespace fabricost::plan

namespace fabricost::plan::detail {

/// Matrices of one attention layer; `key_value`: columns that produce keys and values.
double attention_matrices(const Model& m, double query, double key_value, double value) {
  const double h = m.hidden;
  const double to_query = m.q_rank > 0 ? h * m.q_rank + m.q_rank * query : h * query;
  const double out = m.output_rank > 0 ? value * m.output_rank + double(m.output_groups) * m.output_rank * h : value * h;
  return to_query + h * key_value + out + (m.gated_attention ? h * value : 0);
}

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

double attention_parameters(const Model& m) {
  const double h = m.hidden;
  const double from = m.q_rank > 0 ? m.q_rank : h;
  const double index = from * m.index_heads * m.index_dim + h * m.index_dim + h * m.index_heads;
  if (m.latent())
    return detail::attention_matrices(m, m.query_width(), m.kv_rank + m.rope_dim, m.value_width()) +
           double(m.kv_rank) * m.heads * (m.nope_dim + m.value_dim) + index;
  return detail::attention_matrices(m, m.query_width(), m.kv_width() - m.index_dim, m.value_width()) + index;
}

double window_parameters(const Model& m) {
  if (m.latent()) return attention_parameters(m);
  const double heads = m.window_heads > 0 ? m.window_heads : m.heads;
  const double key = m.window_head_dim > 0 ? m.window_head_dim : m.head_dim;
  return detail::attention_matrices(m, heads * key, m.window_kv_width(), heads * (m.value_dim > 0 ? m.value_dim : key));
}

double mixer_parameters(const Model& m) {
  const Mixer& x = m.mixer;
  if (x.layers == 0) return 0;
  const double in = double(m.hidden) * (2.0 * x.inner + 2.0 * x.keys + double(x.gates) * x.heads);
  return in + (x.inner + 2.0 * x.keys) * x.kernel + double(x.inner) * m.hidden;
}

double Recommender::dense() const {
  double out = 0;
  for (std::size_t i = 1; i < bottom.size(); ++i) out += (bottom[i - 1] + 1.0) * bottom[i];
  double from = top_inputs();
  for (const int width_of : top) out += (from + 1) * width_of, from = width_of;
  const double inputs = (tables + 1.0) * width;
  return out + cross_layers * (2 * inputs * cross_rank + inputs);
}

double conditioning_flops(const Model& m, double sequence) {
  const double h = m.hidden, text = m.cross_tokens, width = m.query_width() + m.value_width();
  return 2 * text * h * width + 2 * m.modulation * h * h + 2 * sequence * text * width;
}

ParameterCount parameters_of(const Model& m) {
  ParameterCount n;
  if (m.recommends()) {
    n.embedding = m.recommender.rows * m.recommender.width;
    n.multiplied = n.head = m.recommender.dense();
    n.total = n.embedding + n.multiplied;
    n.active = m.recommender.lookups * m.recommender.width + n.multiplied;
    return n;
  }
  const double h = m.hidden, mats = m.ffn_matrices();
  const double wide = m.expert_hidden > 0 ? m.expert_hidden : h;
  const auto bias = [&](double width, double in) { return m.biases ? (mats - 1) * width + in : 0; };
  const double attention_bias = m.biases ? m.query_width() + (m.latent() ? 0 : m.kv_width() - m.index_dim) + h : 0;
  const double width = m.query_width() + m.value_width(), text = m.cross_tokens > 0 ? 1 : 0;  // the text has as many heads
  n.conditioning = text * (h + m.biases) * width + m.modulation * (h + m.biases) * h;
  n.attention = attention_parameters(m) + attention_bias + text * (h * width + (m.biases ? m.query_width() + h : 0)) + n.conditioning;
  n.window = m.window_layers > 0 ? window_parameters(m) + attention_bias : 0;
  n.mixer = mixer_parameters(m);
  n.dense_ffn = mats * h * m.ffn + bias(m.ffn, h);
  n.expert = mats * wide * m.expert_ffn + bias(m.expert_ffn, wide);
  n.shared = m.shared_experts * mats * h * m.shared_ffn + (m.expert_hidden > 0 ? 2 * h * wide : 0);
  n.router = h * m.experts;
  n.norms = (m.single_block ? 1 : 1 + m.mixing_blocks()) * (m.biases ? 2 : 1) * h;
  n.embedding = h * m.vocab + h * m.positions;
  n.head = m.tied ? 0 : h * m.vocab;
  const double dense = m.dense_layers(), mixed = m.expert_layers();
  const double mixing = m.full_layers() * n.attention + m.window_layers * n.window + m.mixer.layers * n.mixer;
  n.mixing = mixing / std::max(1, m.full_layers() + m.window_layers + m.mixer.layers);
  const double blocks = mixing + dense * n.dense_ffn + mixed * (n.shared + n.router);
  const double always = blocks + m.layers * n.norms + n.embedding + n.head + h;
  if (m.vision) n.vision = parameters_of(*m.vision).total;
  n.total = always + mixed * m.experts * n.expert + n.vision;
  n.active = always + mixed * m.top_k * n.expert;
  n.multiplied = blocks - m.full_layers() * n.conditioning + m.head_share * h * m.vocab + mixed * m.top_k * n.expert;
  return n;
}

double kv_bytes_per_token(const Model& m, double width) {
  return (m.full_layers() * m.kv_width() + m.window_layers * m.window_kv_width()) * width;
}

double kv_bytes(const Model& m, double context, double width, double state_width) {
  const Mixer& x = m.mixer;
  const double state = double(x.inner) * x.state * state_width + (x.inner + 2.0 * x.keys) * (x.kernel - 1) * width;
  const double seen = m.window > 0 ? std::min<double>(context, m.window) : context;
  return (m.full_layers() * m.kv_width() * context + m.window_layers * m.window_kv_width() * seen) * width + x.layers * state;
}

void check(const Model& m) {
  const auto refuse = [&](const std::string& what) { throw RequestError(m.name + ": " + what); };
  if (m.recommends()) {
    const Recommender& r = m.recommender;
    if (r.tables < 1 || !(r.rows >= r.tables) || r.width < 1 || !(r.lookups >= r.tables)) refuse("tables need rows, a width and lookups");
    if (r.bottom.size() < 2 || r.top.empty() || r.bottom.back() != r.width)
      refuse("bottom must end with the width of a row, and top have a layer");
    if ((r.cross_layers > 0) != (r.cross_rank > 0)) refuse("cross layers need a rank, and the other way round");
    return;
  }
  if (m.layers < 1 || m.hidden < 1 || m.heads < 1 || m.vocab < 1) refuse("layers, hidden, heads and vocab must be at least 1");
  if (!m.latent() && (m.kv_heads < 1 || m.heads % m.kv_heads != 0 || m.head_dim < 1))
    refuse("kv_heads must divide heads and head_dim be at least 1");
  if (m.latent() && (m.nope_dim + m.rope_dim < 1 || m.value_dim < 1)) refuse("latent attention needs nope_dim or rope_dim, and value_dim");
  if (m.experts > 0 && (m.top_k < 1 || m.top_k > m.experts || m.expert_ffn < 1)) refuse("top_k must be 1 to experts, and expert_ffn given");
  if (m.shared_experts > 0 && m.shared_ffn < 1) refuse("shared experts need a width");
  if (m.first_dense < 0 || m.first_dense > m.layers || m.expert_every < 1)
    refuse("first_dense must be 0 to layers, expert_every at least 1");
  if (m.expert_groups > 0 && (m.experts % m.expert_groups != 0 || m.group_limit < 1 || m.group_limit > m.expert_groups))
    refuse("groups must divide experts, and a token go to 1 to all of them");
  if (m.attention_layers() < 0) refuse("more mixing and feed-forward layers than layers");
  if (m.window_layers < 0 || m.window_layers > m.attention_layers()) refuse("more layers with a window than with attention");
  if ((m.window_layers > 0) != (m.window > 0)) refuse("a window needs its layers counted, and the other way round");
  if (m.dense_layers() > 0 && m.ffn < 1) refuse("ffn must be given for layers without experts");
  if (m.expert_layers() > 0 && m.experts < 1) refuse("layers with experts need a number of experts");
  if (!(m.head_share > 0 && m.head_share <= 1)) refuse("head_share is a share of a sequence's tokens, above 0 to 1");
  if (m.causal() && m.cross_tokens + m.modulation + m.patch_pixels > 0)
    refuse("cross, modulation and patch are of other kinds than a decoder");
  if (m.vision && (m.vision->kind != ModelKind::encoder || m.vision->patch_pixels < 1)) refuse("vision is an encoder of patches");
  if (!m.causal() && (m.latent() || m.hybrid() || m.predict_layers > 0)) refuse("only a decoder has latents, states or predicted tokens");
  if (m.mixer.layers > 0 && (m.mixer.inner < 1 || m.mixer.state < 1)) refuse("mixing layers need inner and state");
}

}  // namespace fabricost::plan
