#include <fabricost/plan/serving/offload.hpp>

namespace fabricost::plan {

Offload min_offload(const Engine& engine, double batch, double context, double memory_share) {
  const double room = memory_share * engine.machine().memory();
  const double weights = engine.weights(), cache = batch / engine.layout().attention_dp * engine.kv(context);
  Offload out;
  if (weights + cache <= room) return out;
  out.cache = cache > 0 ? std::min(1.0, (weights + cache - room) / cache) : 0;
  out.weights = std::max(0.0, 1 - room / weights);
  return out;
}

HostMemory min_host(const Engine& engine, const ServingStack& stack, double sequences, double context, const HostMemory& limit) {
  const double stays = std::max(0.0, engine.cache(sequences, context) - limit.cache) / stack.cache_share;
  const double lacks = engine.weights() + stays - stack.memory_share * engine.machine().memory();
  return {std::clamp(lacks, 0.0, limit.weights), limit.cache, limit.rate};
}

double offloaded_step(const Engine& engine, const ServingStack& stack, double batch, double context, const Offload& at, double rate) {
  const double moved = at.weights * engine.weights() + at.cache * batch / engine.layout().attention_dp * engine.kv(context);
  return std::max(decode_step(engine, stack, batch, context).seconds, moved / rate);
}

double offloaded_batch_seconds(const Engine& engine, const ServingStack& stack, double batch, double isl, double osl, const Offload& at,
                               double rate) {
  const double prompts = batch / engine.layout().attention_dp * prefill_prompt(engine, stack, isl).shared;
  const double filled = (at.weights * engine.weights() + at.cache * batch / engine.layout().attention_dp * engine.kv(isl)) / rate;
  return std::max(prompts, filled) + (osl - 1) * offloaded_step(engine, stack, batch, isl + osl / 2, at, rate);
}

}  // namespace fabricost::plan
