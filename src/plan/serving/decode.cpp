#include <fabricost/plan/serving/decode.hpp>

namespace fabricost::plan {

std::string why_impossible(const Model& m, const EngineLayout& l) {
  const auto no = [&](const std::string& what) { return m.name + ": " + what; };
  if (l.tp < 1 || l.attention_dp < 1 || l.pp < 1 || l.ep < 1) return no("sizes of groups must be at least 1");
  if (m.heads % l.tp != 0) return no(std::to_string(m.heads) + " heads do not divide over " + std::to_string(l.tp) + " tensor ranks");
  if (l.gpus() > 65536) return no("an engine of " + std::to_string(l.gpus()) + " GPUs; write at most 65536");
  if (l.pp > m.layers) return no("more stages than its " + std::to_string(m.layers) + " layers");
  if (l.ep > 1 && !m.mixture()) return no("has no experts to divide");
  if (l.ranks() % l.ep != 0)
    return no(std::to_string(l.ep) + " expert ranks do not divide " + std::to_string(l.ranks()) + " ranks of a stage");
  if (l.ep > m.experts && l.ep > 1) return no("more expert ranks than its " + std::to_string(m.experts) + " experts");
  return {};
}

std::string why_refused(const Model& m, const EngineLayout& l, WeightFormat weights) {
  const int parts = l.expert_parts(), block = weights == WeightFormat::fp8 ? m.fp8_block : 1;
  if (!m.mixture() || m.expert_ffn % (parts * std::max(1, block)) == 0) return {};
  const std::string of = m.name + ": the " + std::to_string(m.expert_ffn) + " columns of an expert do not divide over " +
                         std::to_string(parts) + " ranks (<tp> x <dp> / <ep>)";
  return of + (block > 1 ? ", in blocks of " + std::to_string(block) + " with one fp8 scale each" : std::string{}) +
         "; give <ep> so that fewer share an expert";
}

Engine Engine::with(const HostMemory& host) const {
  Engine out = *this;
  out.host_ = host;
  out.host_.weights = std::min(host.weights, weight_bytes_);
  return out;
}

Engine Engine::sharing(double tokens) const {
  Engine out = *this;
  out.common_ = tokens;
  return out;
}

double Engine::capacity(double context, double share, double free) const {
  const double left = room(share, free);
  if (left < -1) return 0;  // one byte for the rounding of the sum
  const double each = kv(context - common_), all = std::max(0.0, left) + host_.cache - held_once();
  return each > 0 ? std::max(0.0, std::floor(all / each * (1 + 1e-10))) * layout_.attention_dp : std::numeric_limits<double>::infinity();
}

double Engine::min_prefill(double tokens) const {
  const double routed = static_cast<double>(layout_.attention_dp) * model_->top_k / layout_.ranks();
  const double weights = full_.total() + window_.total() + mixer_.total() + dense_.total() + shared_.total() + routed * expert_.total();
  return 2 * tokens * weights / machine_->peak(format_.weights);
}

double Engine::weight_traffic() const {
  const ServingConstants& c = machine_->constants;
  const WeightFormat f = format_.weights;
  return weight_bytes(f) / (f == WeightFormat::bf16 ? 1 : f == WeightFormat::fp8 ? c.weights8 : c.weights4);
}

double Engine::traffic_of_token() const {
  const Model& m = *model_;
  const Processor& gpu = machine_->gpu();
  const double t = layout_.tp, h = m.hidden, mats = m.ffn_matrices(), query = m.query_width() / t;
  const double keys = m.latent() ? query + m.value_width() / t : m.kv_width() * kv_share(m, layout_.tp);
  const double routed = static_cast<double>(layout_.attention_dp) * m.top_k / layout_.ranks();
  return (full_.layers + window_.layers) * attention_traffic(gpu, 1, h, 1, query + keys) +
         mixer_.layers * attention_traffic(gpu, 1, h, 1, 2.0 * (m.mixer.inner + m.mixer.keys) / t) +
         dense_.layers * block_traffic(1, mats * m.ffn / t) +
         expert_layers_ *
             (routed_traffic(gpu, routed, h, mats * m.expert_ffn) + block_traffic(1, mats * m.shared_experts * m.shared_ffn / t));
}

ForwardTime Engine::pass(double T, double sequences, double mean, double read, double head_rows, Pass as) const {
  const Model& m = *model_;
  const bool unfolded = as.phase == ServingPhase::prefill;
  const ServingConstants& c = machine_->constants;
  const Processor& gpu = machine_->gpu();
  const KernelCounts& k = machine_->kernels;
  const double t = layout_.tp, h = m.hidden, rate = machine_->product_rate(format_.weights);
  const bool in_4_bit = machine_->multiplies_in_4_bit(format_.weights);
  ForwardTime out;
  for (const Kind* kind : {&full_, &window_, &mixer_, &dense_}) out.products += kind->layers * product(T, *kind, rate);
  out.attention = attention(T, sequences, mean, read, unfolded);
  if (m.mixer.layers > 0) out.attention += m.mixer.layers * stream_seconds(gpu, sequences * 4.0 * m.mixer.inner * m.mixer.state / t);
  const double attentions = full_.layers + window_.layers;
  out.launches = attentions * ((m.latent() ? k.latent : k.attention) + (m.head_norm == HeadNorm::none ? 0 : k.norms)) +
                 (m.index_tokens > 0 ? full_.layers * k.index : 0) + mixer_.layers * k.mixer + dense_.layers * k.dense +
                 expert_layers_ * (in_4_bit ? k.experts4 : k.experts) + 1;
  if (expert_layers_ > 0) {
    const double everywhere = T * layout_.attention_dp, ranks = layout_.ranks();
    const double touched = machine_->touched_share(m, everywhere) * held_experts_ / ranks;
    const double rows = everywhere * m.top_k / ranks * machine_->fullest(m, layout_.ep, everywhere / layout_.ep);
    const double share = expert_share(in_4_bit ? c.experts4 : c.experts, everywhere * m.top_k / held_experts_);
    const double one = roofline(gpu, 2 * rows * expert_.weights, share * rate,
                                weight_bytes(format_.weights) * touched * expert_.weights + 2 * rows * expert_.moved);
    out.experts = expert_layers_ * (one + (shared_.weights > 0 ? product(T, shared_, rate) : 0));
  }
  out.elementwise = element_seconds(gpu, T * token_traffic_);
  if (machine_->system().gpu.dataflow) out.launches = 0;
  out.kernels = out.launches * gpu.constants.gemm_start;
  if (layout_.tp > 1) out.tensor = 2.0 * m.layers * machine_->all_reduce_seconds(layout_.tp, 2 * T * h, as.launch);
  if (layout_.tp > 1 && m.head_norm == HeadNorm::all) out.tensor += attentions * machine_->all_reduce_seconds(layout_.tp, 8 * T, as.launch);
  if (layout_.attention_dp > 1 && expert_layers_ > 0)
    out.exchange = expert_layers_ * machine_->exchange_seconds(m, layout_.ranks(), layout_.ep, T / t, format_.weights, as.phase);
  if (layout_.pp > 1) out.stages = (layout_.pp - 1) * machine_->costs().send(layout_.gpus() > machine_->system().domain, 2 * T * h / t);
  out.head = roofline(gpu, 2 * head_rows * h * m.vocab / t, product_rate(gpu, Precision::bf16), 2 * h * m.vocab / t);
  for (double* one : {&out.products, &out.attention, &out.experts, &out.elementwise, &out.kernels, &out.head}) *one *= machine_->engine().scale;
  return out;
}

double Engine::attention(double T, double sequences, double mean, double read, bool unfolded) const {
  const Model& m = *model_;
  const double t = layout_.tp, share = kv_share(m, layout_.tp);
  // folded: scores and sums are computed on the latent
  const double width = m.latent() && !unfolded ? double(m.heads) * (2.0 * m.kv_rank + m.rope_dim) : m.query_width() + m.value_width();
  const Processor& gpu = machine_->gpu();
  const auto both = [&](double flops, double bytes) {
    return p_norm(flops / attention_rate(gpu), bytes / (machine_->constants.kv * gpu.memory_rate), gpu.constants.gemm_overlap);
  };
  const auto layer = [&](double seen, double cached, double kv_width) {
    return both(2 * T * seen * width / t, sequences * cached * kv_width * share * format_.kv_width);
  };
  double seconds = 0;
  if (full_.layers > 0) {
    const bool picks = m.index_tokens > 0;
    const double chosen = picks ? std::min<double>(mean, m.index_tokens) : mean,
                 kept = picks ? std::min<double>(read, m.index_tokens) : read;
    seconds += full_.layers * layer(chosen, unfolded ? read : kept, m.kv_width());
    if (picks)  // the indexer looks at all of the past
      seconds += full_.layers * both(2.0 * T * mean * m.index_heads * m.index_dim, sequences * read * m.index_dim);
  }
  if (window_.layers > 0)
    seconds += window_.layers * layer(std::min<double>(mean, m.window), std::min<double>(read, m.window), m.window_kv_width());
  return seconds;
}

}  // namespace fabricost::plan
