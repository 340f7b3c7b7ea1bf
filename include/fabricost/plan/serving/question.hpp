#pragma once
/// Request and answer of a search over serving deployments, and the order of deployments.

#include <fabricost/error.hpp>
#include <fabricost/hardware/check.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/in_order.hpp>
#include <fabricost/plan/serving/serving.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace fabricost::plan {

inline constexpr double max_sequences = 8192;  ///< per attention replica (assumed: above the settings of engines)

/// Machines of another kind that read the prompts, with the same stack's constants for them.
struct PrefillPool {
  std::shared_ptr<const System> system;
  int gpus = 0;
  ServingStack stack;
  ServingConstants constants;
};

/// The request: given fields of the deployment are fixed, the others are searched.
struct ServingQuestion {
  Model model;
  ServingStack stack;
  ServingConstants constants;
  EngineFormat format;
  int gpus = 0;
  double isl = 4096, osl = 512;
  double prefix = 0, prefix_share = 0;  ///< tokens that all prompts begin with, or share of each prompt, that the cache has
  double ttft = 0, tpot = 0;   ///< s, limits; 0: none
  double usual_ttft = 0;       ///< s, limit of a search that is given no `ttft`, doubled until some deployment keeps it; 0: none
  double concurrency = 0;      ///< requests in flight at all engines; 0: as many as the limits allow
  bool disaggregated = false;  ///< prefill and decode on separate GPUs
  std::optional<PrefillPool> pool{};  ///< of prefill workers; none: they are among `gpus`
  bool by_layer = false;       ///< each layer's cache is sent when computed, not all when the prompt has been read
  HostMemory host{};           ///< maximum weights and cache of each GPU in host memory
  int top = 10;
  std::optional<int> tp{}, pp{}, ep{}, attention_dp{}, batch{};  ///< of engines, if disaggregated of decode workers
  /// Sizes of an engine.
  struct Sizes {
    std::optional<int> tp{}, pp{}, ep{}, attention_dp{};
    [[nodiscard]] bool any() const { return tp || pp || ep || attention_dp; }
  };
  Sizes prefill{};  ///< of prefill workers; none: as of decode workers
  [[nodiscard]] double cached() const { return std::min(isl - 1, std::max(prefix, prefix_share * isl)); }
  /// Tokens that engines hold once which read prompts. Decode workers receive each prompt whole.
  [[nodiscard]] double common() const { return std::min(isl - 1, prefix); }
  [[nodiscard]] Sizes sizes() const { return {tp, pp, ep, attention_dp}; }
  [[nodiscard]] int all_gpus() const { return gpus + (pool ? pool->gpus : 0); }
  [[nodiscard]] const ServingStack& prefill_stack() const { return pool ? pool->stack : stack; }
  /// A prompt's cache on its way. \param read s in which it is read
  [[nodiscard]] KvTransfer sent(const KvLink& link, double prompt, double read) const {
    const double bytes = kv_bytes(model, prompt, format.kv_width);
    return {link.seconds(bytes, by_layer ? model.layers : 1, read), link.seconds(bytes)};
  }
};

/// The limit on TTFT of a search without one: without any, the first token comes after half a minute for a last per cent of throughput. MLPerf
/// Inference allows 2 s (Llama 2 70B) to 6 s (Llama 3.1 405B); long prompts are read at 4,000 tokens per second.
[[nodiscard]] inline double usual_ttft(double isl) { return std::max(5.0, isl / 4000); }

struct PricedServing {
  EngineLayout engine;  ///< of decode workers, if disaggregated
  EngineLayout prefill;
  bool apart = false;
  int replicas = 1;  ///< engines, or decode workers
  int prefill_workers = 0;
  int domains = 0;      ///< in each of which workers of both kinds stand, in equal numbers; 0: they stand anywhere
  double batch = 1;     ///< sequences of one engine
  double requests = 1;  ///< in flight at all of them
  ServingTime time;
  double tokens_per_s_per_gpu = 0, tokens_per_s_per_user = 0;
  double weights = 0, cache = 0;  ///< bytes of a GPU's share
  double on_host = 0;             ///< the part of them in host memory
  double memory = 0;              ///< the rest: bytes on the fullest GPU
  KvLink link{};                  ///< between prefill and decode workers
  double cached = 0;              ///< tokens of the mean prompt that a cache has
  double moving = 0;              ///< s of the mean prompt in which links bring some of them back to its replica
  [[nodiscard]] int used() const { return replicas * engine.gpus() + prefill_workers * prefill.gpus(); }
};

struct ServingPlan {
  [[nodiscard]] bool empty() const { return layouts.empty(); }
  std::vector<PricedServing> layouts;  ///< highest tokens per second and GPU first
  long long evaluated = 0;             ///< (deployment, batch) pairs priced
  long long pruned = 0;                ///< layouts rejected because they do not fit or no batch meets the limits
  /// If no deployment meets the limits: the one with the smallest violation (largest ratio to any limit), or,
  /// if none fits, the one short of the least memory.
  std::optional<PricedServing> nearest{};
  double missed = 0;
  std::optional<EngineLayout> nearest_fit{};
  bool of_pool = false;  ///< `nearest_fit` is a prefill worker on machines of another kind
  double lacking = 0;  ///< bytes per GPU
  double ttft = 0;     ///< s, the limit that was kept; 0: none
};

/// \throws RequestError for a question that no deployment can answer
void check(const ServingQuestion& q, const System& system);

namespace detail {

/// A value rounded to 32 significant bits, for comparing ranks: the others differ between machines.
[[nodiscard]] inline double rounded(double value) {
  constexpr std::uint64_t half = 1ULL << 20U;  // of 53 bits
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(value) + half) & ~(2 * half - 1));
}

/// All figures by which deployments differ, except how experts are split.
[[nodiscard]] inline auto figures_of(const PricedServing& p) {
  return in_order(-rounded(p.tokens_per_s_per_gpu), -rounded(p.tokens_per_s_per_user), rounded(p.time.ttft), rounded(p.memory + p.on_host),
                  p.batch, p.engine.tp, p.engine.pp, p.engine.attention_dp, p.replicas, p.prefill.tp, p.prefill.pp, p.prefill.attention_dp,
                  p.prefill_workers);
}

/// The order of deployments: highest tokens per second and GPU first, then the fastest for a user, then the
/// smallest. Different deployments are never equal in it.
[[nodiscard]] bool better(const PricedServing& a, const PricedServing& b);

}  // namespace detail

}  // namespace fabricost::plan
