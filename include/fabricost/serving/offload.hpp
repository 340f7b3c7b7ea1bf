#pragma once
/// \file offload.hpp
/// Serving a model larger than the GPU's memory: weights, and the part of the cache that does not fit, are in
/// host memory and are fetched over PCIe or a chip-to-chip link in every pass.
///
///   pass      max( the GPU's own work,  (weights on the host + cache on the host) / link )     the next layer is loaded during this one
///   block     many sequences share one load of the weights (FlexGen, arXiv 2303.06865, section 4)
///
/// The host does not compute. Where a real engine computes there (attention over a cache in host memory),
/// predictions are too slow.

#include <fabricost/hardware/host_rate.hpp>
#include <fabricost/serving/serving.hpp>

namespace fabricost {

/// Fractions in host memory.
struct Offload {
  double weights = 0, cache = 0;
};

/// The minimum to offload for `batch` sequences of `context` tokens: first the cache, then weights.
[[nodiscard]] inline Offload min_offload(const Engine& engine, double batch, double context, double memory_share) {
  const double room = memory_share * engine.machine().memory();
  const double weights = engine.weights(), cache = batch / engine.layout().attention_dp * engine.kv(context);
  Offload out;
  if (weights + cache <= room) return out;
  out.cache = cache > 0 ? std::min(1.0, (weights + cache - room) / cache) : 0;
  out.weights = std::max(0.0, 1 - room / weights);
  return out;
}

/// The minimum host memory, within `limit`, for `sequences` sequences of `context` tokens: first the cache,
/// which prompts do not wait for, then weights.
[[nodiscard]] inline HostMemory min_host(const Engine& engine, const ServingStack& stack, double sequences, double context,
                                         const HostMemory& limit) {
  const double stays = std::max(0.0, engine.cache(sequences, context) - limit.cache) / stack.cache_share;
  const double lacks = engine.weights() + stays - stack.memory_share * engine.machine().memory();
  return {std::clamp(lacks, 0.0, limit.weights), limit.cache, limit.rate};
}

/// Seconds of one decode step. \param rate host_rate, bytes/s
[[nodiscard]] inline double offloaded_step(const Engine& engine, const ServingStack& stack, double batch, double context, const Offload& at,
                                           double rate) {
  const double moved = at.weights * engine.weights() + at.cache * batch / engine.layout().attention_dp * engine.kv(context);
  return std::max(decode_step(engine, stack, batch, context).seconds, moved / rate);
}

/// Seconds until the last of `batch` answers is complete.
[[nodiscard]] inline double offloaded_batch_seconds(const Engine& engine, const ServingStack& stack, double batch, double isl, double osl,
                                                    const Offload& at, double rate) {
  const double prompts = batch / engine.layout().attention_dp * prefill_prompt(engine, stack, isl).shared;
  const double filled = (at.weights * engine.weights() + at.cache * batch / engine.layout().attention_dp * engine.kv(isl)) / rate;
  return std::max(prompts, filled) + (osl - 1) * offloaded_step(engine, stack, batch, isl + osl / 2, at, rate);
}

}  // namespace fabricost
