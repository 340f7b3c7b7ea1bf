#include <fabricost/plan/memory/states.hpp>

namespace fabricost::plan {

NarrowCopies narrow_copies(const Layout& layout, const MemoryStack& stack) {
  const bool fp8 = layout.precision == Precision::fp8, fp4 = layout.precision == Precision::fp4;
  const double needed = fp8 ? stack.fp8_weight_copies : fp4 ? stack.fp4_weight_copies : 0;
  const double one = fp4 ? bytes_in_4_bit : stack.fp8_tensor_scaled ? 1 : needed / 2;
  return {needed, layout.trains_all() ? needed : std::min(needed, one)};
}

StateBytes state_bytes(const RankParameters& own, const RankParameters& trained, const Layout& layout, const MemoryStack& stack) {
  struct Count {
    double all = 0, sharded = 0;
  };
  const double ranks = shard_ranks(layout), expert_ranks = expert_shard_ranks(layout);
  const Count everything{own.shared() + own.experts, own.shared() / ranks + own.experts / expert_ranks};
  const Count layers{own.layers + own.experts, own.layers / ranks + own.experts / expert_ranks};
  const bool frozen = !layout.trains_all();
  const Count learning{trained.shared() + trained.experts, trained.shared() / ranks + trained.experts / expert_ranks};
  const bool in_4_bit = frozen && layout.adapters.in_4_bit;
  const bool fp8_only = stack.fp8_parameters && (layout.precision == Precision::fp8 || (frozen && layout.precision == Precision::fp4));
  const Count sixteen = in_4_bit || fp8_only ? Count{own.vocabulary, own.vocabulary / ranks} : everything;
  const auto held = [](const Count& count, bool sharded) { return sharded ? count.sharded : count.all; };
  StateBytes out;
  // frozen 32-bit parameters are kept in the 16 bit they are computed in
  const double weight = frozen ? std::min(stack.weight, stack.gathered_weight) : stack.weight;
  const double low = in_4_bit ? stack.weight_in_4_bit : narrow_copies(layout, stack).held;
  out.weights = weight * held(sixteen, layout.zero >= 3) + low * held(layers, layout.zero >= 3);
  if (frozen) out.weights += stack.weight * learning.all;
  const bool waits = stack.accumulated_gradient > 0 && shards_gradients(layout) && layout.microbatches() > 1 && ranks > 1;
  out.gradients = waits ? stack.accumulated_gradient * learning.all : stack.gradient * held(learning, shards_gradients(layout));
  const bool by_chunk = stack.frees_gradients && layout.zero >= 1 && layout.pp > 1 && layout.vp > 2 && layout.microbatches() <= layout.pp;
  if (by_chunk && !waits) {
    const double whole = 2.0 / layout.vp;
    out.gradients = std::min(out.gradients, stack.gradient * (whole * learning.all + (1 - whole) * learning.sharded));
  }
  out.optimizer = stack.optimizer * held(learning, layout.zero >= 1);
  if (stack.master_remainders) out.optimizer -= std::min(stack.optimizer, 2.0) * held(frozen ? learning : sixteen, layout.zero >= 1);
  out.offloaded = out.optimizer * layout.offload_optimizer;
  out.optimizer -= out.offloaded;
  return out;
}

}  // namespace fabricost::plan
