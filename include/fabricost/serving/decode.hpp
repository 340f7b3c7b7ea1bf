#pragma once
/// \file decode.hpp
/// Seconds of one forward pass of a model on the GPUs of one serving engine: a decode step of many sequences,
/// or the prefill of prompts.
///
///   product        norm_2( 2 M N K / (e P),  (w K N + activations) / (em BW) )         weights are read once for all rows
///   experts        the same with E (1 - (1 - k/E)^T) of the experts touched and a lower e: few rows each, padded tiles, uneven loads
///   attention      norm_2( 2 T c (query + value width) / (ea P16),  cached bytes / (ek BW) );  latent attention folded when decoding
///   kernels        count x start: the minimum time of a kernel in a CUDA graph
///   tensor ranks   two all-reduces of T h 16-bit numbers per layer: the engine's own kernel, or NCCL's above the hand-over size
///   expert ranks   of attention data parallelism: the engine's dispatch and combine, or a gather and a scatter (machine.hpp)
///   stages         one hand-over of T h numbers each
///   head           rows x V, on the last stage
///
/// P peak, BW memory rate; efficiencies are in constants.hpp. All in SI units. An `Engine` counts its layers
/// once; a pass then takes about a microsecond and does not allocate once its curves are compiled.

#include <fabricost/serving/kv_cache.hpp>
#include <fabricost/serving/machine.hpp>

#include <cmath>
#include <limits>
#include <string>

namespace fabricost {

/// GPUs of one engine: t x attention dp x pp; experts over `ep` of the t x dp ranks, split over the rest.
struct EngineLayout {
  int tp = 1, attention_dp = 1, pp = 1, ep = 1;
  [[nodiscard]] int ranks() const { return product(tp, attention_dp); }
  [[nodiscard]] int gpus() const { return product(ranks(), pp); }
  /// GPUs that hold the cache of one sequence.
  [[nodiscard]] int cache_gpus() const { return product(tp, pp); }
  /// Ranks that hold a part of each expert.
  [[nodiscard]] int expert_parts() const { return ranks() / ep; }

 private:
  /// Saturates at two billion, more than any machine has.
  [[nodiscard]] static int product(long long a, long long b) { return static_cast<int>(std::min(a * b, 2'000'000'000LL)); }
};

struct EngineFormat {
  WeightFormat weights = WeightFormat::bf16;
  double kv_width = 2;  ///< bytes of a cached value
};

/// Weights and cache in host memory, and the rate of access to them.
struct HostMemory {
  double weights = 0;  ///< bytes of each GPU's weights that every pass fetches (at most all of them)
  double cache = 0;    ///< bytes of each GPU's cache that may be in host memory when its own memory is full
  double rate = 0;     ///< bytes/s to one GPU, one way
};

/// The reason why a layout cannot hold a model; empty if it can.
[[nodiscard]] inline std::string why_impossible(const Model& m, const EngineLayout& l) {
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

/// The reason why engines refuse to divide a model's experts so, naming the fields of a request; empty if they do not.
[[nodiscard]] inline std::string why_refused(const Model& m, const EngineLayout& l, WeightFormat weights) {
  const int parts = l.expert_parts(), block = weights == WeightFormat::fp8 ? m.fp8_block : 1;
  if (!m.mixture() || m.expert_ffn % (parts * std::max(1, block)) == 0) return {};
  const std::string of = m.name + ": the " + std::to_string(m.expert_ffn) + " columns of an expert do not divide over " +
                         std::to_string(parts) + " ranks (<tp> x <dp> / <ep>)";
  return of + (block > 1 ? ", in blocks of " + std::to_string(block) + " with one fp8 scale each" : std::string{}) +
         "; give <ep> so that fewer share an expert";
}

/// One pass by cause; seconds of all layers.
struct ForwardTime {
  double products = 0;  ///< of attention, dense blocks and mixers
  double attention = 0;
  double experts = 0;
  double elementwise = 0;
  double kernels = 0;   ///< launch and tail
  double tensor = 0;    ///< all-reduces
  double exchange = 0;  ///< to experts and back
  double stages = 0;    ///< hand-overs
  double head = 0;
  double launches = 0;  ///< number of kernels
  [[nodiscard]] double work() const { return products + attention + experts + elementwise + head; }
  [[nodiscard]] double communication() const { return tensor + exchange + stages; }
  [[nodiscard]] double seconds() const { return work() + kernels + communication(); }
};

/// A model on one engine's GPUs.
class Engine {
 public:
  /// \throws RequestError for a layout that the model does not allow or the machine cannot join
  Engine(const Model& model, const EngineLayout& layout, const EngineFormat& format, ServingMachine& machine, const HostMemory& host = {})
      : model_(&model), layout_(layout), format_(format), machine_(&machine), host_(host) {
    check(model);
    if (const std::string why = why_impossible(model, layout); !why.empty()) throw RequestError(why);
    if (layout.gpus() > machine.system().domain && machine.system().tier(TierRole::nic) == nullptr)
      throw RequestError(machine.system().name + ": " + std::to_string(layout.gpus()) + " GPUs do not fit its domain of " +
                         std::to_string(machine.system().domain) + ", and it has no NICs to leave it by");
    const double h = model.hidden, t = layout.tp, mats = model.ffn_matrices();
    // with latent attention every tensor rank computes the whole compression; unfolding to heads is divided
    const double down = model.latent() ? (model.q_rank > 0 ? h * model.q_rank : 0) + h * (model.kv_rank + model.rope_dim) : 0;
    const double all = attention_parameters(model), windowed = model.window_layers > 0 ? window_parameters(model) : 0;
    const double inner = (model.query_width() + model.kv_width() + model.value_width()) / t;
    full_ = {model.full_layers(), (all - down) / t + down, 2 * h + 2 * inner};
    window_ = {model.window_layers, model.latent() ? full_.weights : windowed / t, full_.moved};
    mixer_ = {model.mixer.layers, mixer_parameters(model) / t, 2 * h + 4.0 * (model.mixer.inner + model.mixer.keys) / t};
    dense_ = {model.dense_layers(), mats * h * model.ffn / t, 2 * h + 2 * mats * model.ffn / t};
    expert_layers_ = model.expert_layers();
    const double wide = model.expert_hidden > 0 ? model.expert_hidden : h;
    const int groups = layout.ep;
    held_experts_ = (model.experts + groups - 1) / groups * groups;  // copies of the busiest experts occupy the otherwise empty places
    // a row is written to its expert's place, read, and read and written again when the choices are added up
    expert_ = {expert_layers_, mats * wide * model.expert_ffn, 4 * wide + 2 * mats * model.expert_ffn};
    shared_ = {expert_layers_, (model.shared_experts * mats * h * model.shared_ffn + (model.expert_hidden > 0 ? 2 * h * wide : 0)) / t,
               2 * h + 2.0 * mats * model.shared_experts * model.shared_ffn / t};
    const double w = weight_bytes(format.weights);
    const double blocks = full_.total() + window_.total() + mixer_.total() + dense_.total() + shared_.total();
    const double experts = held_experts_ * expert_.total() / layout.ranks();
    const double table = h * model.vocab / t;
    weight_bytes_ = w * (blocks + experts) / layout.pp + 2 * (layout.pp > 1 || model.tied ? table : 2 * table);
    host_.weights = std::min(host_.weights, weight_bytes_);
    token_traffic_ = traffic_of_token();
  }

  [[nodiscard]] const Model& model() const { return *model_; }
  [[nodiscard]] const EngineLayout& layout() const { return layout_; }
  [[nodiscard]] const EngineFormat& format() const { return format_; }
  [[nodiscard]] ServingMachine& machine() const { return *machine_; }
  /// The same engine with other amounts in host memory.
  [[nodiscard]] Engine with(const HostMemory& host) const {
    Engine out = *this;
    out.host_ = host;
    out.host_.weights = std::min(host.weights, weight_bytes_);
    return out;
  }
  /// Bytes of weights on the fullest GPU, including those in host memory; tables in 16 bit.
  [[nodiscard]] double weights() const { return weight_bytes_; }
  /// Bytes of one sequence's cache on each GPU of its tensor ranks.
  [[nodiscard]] double kv(double context) const { return kv_bytes_per_rank(*model_, context, format_.kv_width, layout_.tp, layout_.pp); }
  [[nodiscard]] const HostMemory& host() const { return host_; }
  /// Bytes of a GPU for the cache: the fraction `free` of the rest that weights leave of the fraction `share`
  /// of its memory. Negative: the weights do not fit.
  [[nodiscard]] double room(double share, double free = 1) const {
    const double left = share * machine_->memory() - (weight_bytes_ - host_.weights);
    return left > 0 ? free * left : left;
  }
  /// Bytes of cache on the GPU whose attention replica has the most of `sequences` whole sequences.
  [[nodiscard]] double cache(double sequences, double context) const {
    return std::ceil(sequences / layout_.attention_dp - 1e-9) * kv(context);
  }
  /// Bytes per GPU of the cache of `sequences` sequences that are in host memory.
  [[nodiscard]] double cache_on_host(double sequences, double context, double share, double free = 1) const {
    if (host_.cache <= 0) return 0;
    return std::clamp(cache(sequences, context) - std::max(0.0, room(share, free)), 0.0, host_.cache);
  }
  /// Seconds that the host link needs for the fetches of a pass, including `cache` bytes of it.
  [[nodiscard]] double host_seconds(double cache) const {
    const double bytes = host_.weights + cache;
    return bytes > 0 ? bytes / host_.rate : 0;
  }
  /// Sequences of `context` tokens that the engine holds within `share` of its memory plus host memory: equal
  /// whole numbers on each attention replica; 0 when not even one fits.
  [[nodiscard]] double capacity(double context, double share, double free = 1) const {
    const double left = room(share, free);
    if (left < -1) return 0;  // one byte for the rounding of the sum
    const double each = kv(context);
    return each > 0 ? std::floor((std::max(0.0, left) + host_.cache) / each * (1 + 1e-10)) * layout_.attention_dp
                    : std::numeric_limits<double>::infinity();
  }

  /// Seconds of a prompt's matrix products at the peak, of all layers one after the other.
  [[nodiscard]] double min_prefill(double tokens) const {
    const double routed = static_cast<double>(layout_.attention_dp) * model_->top_k / layout_.ranks();
    const double weights =
        full_.total() + window_.total() + mixer_.total() + dense_.total() + shared_.total() + routed * expert_.total();
    return 2 * tokens * weights / machine_->peak(format_.weights);
  }

  /// One more token for each of `sequences` sequences of the whole engine, with `context` tokens before it.
  /// \param rows tokens per sequence in one pass: 1, or more with drafts to verify
  [[nodiscard]] ForwardTime decode(double sequences, double context, double rows = 1, Launch launch = Launch::graph) const {
    const double each = std::max(1.0, sequences / layout_.attention_dp / layout_.pp);
    return pass(each * rows, each, context, context, rows * each, {ServingPhase::decode, launch});
  }
  /// `prompts` prompts of `tokens` tokens, after `past` cached ones, in one pass on each attention replica.
  [[nodiscard]] ForwardTime prefill(double tokens, double prompts = 1, double past = 0, Launch launch = Launch::eager) const {
    return pass(prompts * tokens, prompts, past + tokens / 2, past + tokens, prompts, {ServingPhase::prefill, launch});
  }

 private:
  struct Pass {
    ServingPhase phase;
    Launch launch;
  };
  struct Kind {
    int layers = 0;
    double weights = 0;  ///< parameters of one layer on a rank
    double moved = 0;    ///< values that a token's activations read and write around its products
    [[nodiscard]] double total() const { return layers * weights; }
  };

  [[nodiscard]] double product(double rows, const Kind& kind, double flops_rate) const {
    return roofline(machine_->gpu(), 2 * rows * kind.weights, flops_rate,
                    weight_bytes(format_.weights) * kind.weights + 2 * rows * kind.moved);
  }
  /// Bytes that element-wise kernels of all layers move for each token of a rank's replica.
  [[nodiscard]] double traffic_of_token() const {
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

  /// \param T tokens of a rank's replica \param mean context of a query \param read cached tokens per sequence
  [[nodiscard]] ForwardTime pass(double T, double sequences, double mean, double read, double head_rows, Pass as) const {
    const Model& m = *model_;
    const bool unfolded = as.phase == ServingPhase::prefill;
    const ServingConstants& c = machine_->constants;
    const Processor& gpu = machine_->gpu();
    const KernelCounts& k = machine_->kernels;
    const double t = layout_.tp, h = m.hidden, rate = machine_->product_rate(format_.weights);
    ForwardTime out;
    for (const Kind* kind : {&full_, &window_, &mixer_, &dense_}) out.products += kind->layers * product(T, *kind, rate);
    out.attention = attention(T, sequences, mean, read, unfolded);
    if (m.mixer.layers > 0) out.attention += m.mixer.layers * stream_seconds(gpu, sequences * 4.0 * m.mixer.inner * m.mixer.state / t);
    out.launches = (full_.layers + window_.layers) * (m.latent() ? k.latent : k.attention) + mixer_.layers * k.mixer +
                   dense_.layers * k.dense + expert_layers_ * k.experts + 1;
    if (expert_layers_ > 0) {
      const double everywhere = T * layout_.attention_dp, ranks = layout_.ranks();
      const double touched = machine_->touched_share(m, everywhere) * held_experts_ / ranks;
      const double rows = everywhere * m.top_k / ranks * machine_->fullest(m, layout_.ep, everywhere / layout_.ep);
      const double one = roofline(gpu, 2 * rows * expert_.weights, c.experts * rate,
                                  weight_bytes(format_.weights) * touched * expert_.weights + 2 * rows * expert_.moved);
      out.experts = expert_layers_ * (one + (shared_.weights > 0 ? product(T, shared_, rate) : 0));
    }
    out.elementwise = element_seconds(gpu, T * token_traffic_);
    out.kernels = out.launches * gpu.constants.gemm_start;
    if (layout_.tp > 1) out.tensor = 2.0 * m.layers * machine_->all_reduce_seconds(layout_.tp, 2 * T * h, as.launch);
    if (layout_.attention_dp > 1 && expert_layers_ > 0)
      out.exchange = expert_layers_ * machine_->exchange_seconds(m, layout_.ranks(), layout_.ep, T / t, format_.weights, as.phase);
    if (layout_.pp > 1) out.stages = (layout_.pp - 1) * machine_->costs().send(layout_.gpus() > machine_->system().domain, 2 * T * h / t);
    out.head = roofline(gpu, 2 * head_rows * h * m.vocab / t, product_rate(gpu, Precision::bf16), 2 * h * m.vocab / t);
    return out;
  }

  [[nodiscard]] double attention(double T, double sequences, double mean, double read, bool unfolded) const {
    const Model& m = *model_;
    const double t = layout_.tp, share = kv_share(m, layout_.tp);
    // folded: scores and sums are computed on the latent
    const double width = m.latent() && !unfolded ? double(m.heads) * (2.0 * m.kv_rank + m.rope_dim) : m.query_width() + m.value_width();
    const Processor& gpu = machine_->gpu();
    const auto both = [&](double flops, double bytes) {
      return detail::p_norm(flops / attention_rate(gpu), bytes / (machine_->constants.kv * gpu.memory_rate), gpu.constants.gemm_overlap);
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

  const Model* model_;
  EngineLayout layout_;
  EngineFormat format_;
  ServingMachine* machine_;
  HostMemory host_;
  Kind full_, window_, mixer_, dense_, expert_, shared_;  ///< `expert_`: a single whole expert
  int expert_layers_ = 0, held_experts_ = 0;
  double weight_bytes_ = 0, token_traffic_ = 0;
};

}  // namespace fabricost
