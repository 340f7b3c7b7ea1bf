#pragma once
/// Serving a model larger than the GPU's memory: weights, and the part of the cache that does not fit, are in
/// host memory and are fetched over PCIe or a chip-to-chip link in every pass.
///
///   pass      max( the GPU's own work,  (weights on the host + cache on the host) / link )     the next layer is loaded during this one
///   block     many sequences share one load of the weights (FlexGen, arXiv 2303.06865, section 4)
///
/// The host does not compute. Where a real engine computes there (attention over a cache in host memory),
/// predictions are too slow.

#include <fabricost/hardware/host_rate.hpp>
#include <fabricost/plan/serving/serving.hpp>

namespace fabricost::plan {

/// Fractions in host memory.
struct Offload {
  double weights = 0, cache = 0;
};

/// The minimum to offload for `batch` sequences of `context` tokens: first the cache, then weights.
[[nodiscard]] Offload min_offload(const Engine& engine, double batch, double context, double memory_share);

/// The minimum host memory, within `limit`, for `sequences` sequences of `context` tokens: first the cache,
/// which prompts do not wait for, then weights.
[[nodiscard]] HostMemory min_host(const Engine& engine, const ServingStack& stack, double sequences, double context,
                                  const HostMemory& limit);

/// Seconds of one decode step. \param rate host_rate, bytes/s
[[nodiscard]] double offloaded_step(const Engine& engine, const ServingStack& stack, double batch, double context, const Offload& at,
                                    double rate);

/// Seconds until the last of `batch` answers is complete.
[[nodiscard]] double offloaded_batch_seconds(const Engine& engine, const ServingStack& stack, double batch, double isl, double osl,
                                             const Offload& at, double rate);

}  // namespace fabricost::plan
