#pragma once
/// Seconds of one forward pass of a model on the GPUs of one serving engine: a decode step of many sequences,
/// or the prefill of prompts.
///
///   product        norm_2( 2 M N K / (e P),  (w K N / r + activations) / (em BW) )     weights are read once for all rows
///   experts        the same with E (1 - (1 - k/E)^T) of the experts touched and a lower e: few rows each, padded tiles, uneven loads
///   attention      norm_2( 2 T c (query + value width) / (ea P16),  cached bytes / (ek BW) );  latent attention folded when decoding
///   kernels        count x start: the minimum time of a kernel in a CUDA graph
///   tensor ranks   two all-reduces of T h 16-bit numbers per layer: the engine's own kernel, or NCCL's above the hand-over size; one of
///                  two 32-bit numbers a token where queries and keys are normed over all heads
///   expert ranks   of attention data parallelism: the engine's dispatch and combine, or a gather and a scatter (machine.hpp)
///   stages         one hand-over of T h numbers each
///   head           rows x V, on the last stage
///
/// P peak, BW memory rate, r of it what weights of 8 and 4 bits outside of experts reach beside those of 16; efficiencies are in
/// constants.hpp. All in SI units. An `Engine` counts its layers once; a pass then takes about a microsecond and does not allocate once its
/// curves are compiled.

#include <fabricost/plan/serving/kv_cache.hpp>
#include <fabricost/plan/serving/machine.hpp>

#include <cmath>
#include <string>

namespace fabricost::plan {

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
[[nodiscard]] std::string why_impossible(const Model& m, const EngineLayout& l);

/// The reason why engines refuse to divide a model's experts so, naming the fields of a request; empty if they do not.
[[nodiscard]] std::string why_refused(const Model& m, const EngineLayout& l, WeightFormat weights);

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
    held_experts_ = machine.held_experts(model, groups);  // copies of the busiest experts occupy the otherwise empty places
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
  [[nodiscard]] Engine with(const HostMemory& host) const;
  /// The same engine for sequences that all begin with these tokens, which each of its replicas holds once.
  [[nodiscard]] Engine sharing(double tokens) const;
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
    return held_once() + std::ceil(sequences / layout_.attention_dp - 1e-9) * kv(std::max(0.0, context - common_));
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
  [[nodiscard]] double capacity(double context, double share, double free = 1) const;

  /// Bytes of a GPU's experts, of all layers of its stage.
  [[nodiscard]] double expert_bytes() const {
    return weight_bytes(format_.weights) * held_experts_ * expert_.total() / layout_.ranks() / layout_.pp;
  }
  /// Rows of the fullest rank's experts over the mean, where each replica has so many.
  [[nodiscard]] double fullest(double rows) const {
    return expert_layers_ > 0 ? machine_->fullest(*model_, layout_.ep, rows * layout_.attention_dp / layout_.ep) : 1;
  }
  /// Seconds of a prompt's matrix products at the peak, of all layers one after the other.
  [[nodiscard]] double min_prefill(double tokens) const;

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

  [[nodiscard]] double held_once() const { return common_ > 0 ? kv(common_) : 0; }
  [[nodiscard]] double product(double rows, const Kind& kind, double flops_rate) const {
    return roofline(machine_->gpu(), 2 * rows * kind.weights, flops_rate, weight_traffic() * kind.weights + 2 * rows * kind.moved);
  }
  /// Bytes of 16-bit weights outside of experts that are read in the time of one weight.
  [[nodiscard]] double weight_traffic() const;
  /// Bytes that element-wise kernels of all layers move for each token of a rank's replica.
  [[nodiscard]] double traffic_of_token() const;

  /// \param T tokens of a rank's replica \param mean context of a query \param read cached tokens per sequence
  [[nodiscard]] ForwardTime pass(double T, double sequences, double mean, double read, double head_rows, Pass as) const;

  [[nodiscard]] double attention(double T, double sequences, double mean, double read, bool unfolded) const;

  const Model* model_;
  EngineLayout layout_;
  EngineFormat format_;
  ServingMachine* machine_;
  HostMemory host_;
  double common_ = 0;  ///< tokens at the beginning of all sequences
  Kind full_, window_, mixer_, dense_, expert_, shared_;  ///< `expert_`: a single whole expert
  int expert_layers_ = 0, held_experts_ = 0;
  double weight_bytes_ = 0, token_traffic_ = 0;
};

}  // namespace fabricost::plan
