#pragma once
/// \file states.hpp
/// Bytes of weights, gradients and optimizer of one rank: bytes per parameter over the ranks that share it.
///
///     weights    w N16 [/ S] + c N_layers [/ S]         N16: parameters kept in 16 bit; c: copies in low precision
///     gradients  g N [/ S]
///     optimizer  o N [/ S] - 2 N16 [/ S]                the second term where only the remainder of the 32-bit master is kept
///
/// N parameters of the rank, each [/ S] where `zero` shards it; routed experts over their own replicas
/// (model/stage_parameters.hpp). N16 is N, or N without layers where fp8 copies are the parameters. All terms
/// are linear in them.

#include <fabricost/memory/stack.hpp>
#include <fabricost/model/stage_parameters.hpp>

#include <algorithm>

namespace fabricost {

/// In bytes.
struct StateBytes {
  double weights = 0;  ///< including low-precision copies
  double gradients = 0;
  double optimizer = 0;
};

/// Whether gradients are sharded between microbatches. Pipeline stages accumulate them before the reduction,
/// so ZeRO-2 does not shard them there.
[[nodiscard]] inline bool shards_gradients(const Layout& layout) { return layout.zero == 3 || (layout.zero == 2 && layout.pp == 1); }

/// States of a rank with the parameters `own`.
[[nodiscard]] inline StateBytes state_bytes(const RankParameters& own, const Layout& layout, const MemoryStack& stack) {
  struct Count {
    double all = 0, sharded = 0;
  };
  const double ranks = shard_ranks(layout), expert_ranks = expert_shard_ranks(layout);
  const Count everything{own.shared() + own.experts, own.shared() / ranks + own.experts / expert_ranks};
  const Count layers{own.layers + own.experts, own.layers / ranks + own.experts / expert_ranks};
  const bool low_only = stack.fp8_parameters && layout.precision == Precision::fp8;
  const Count sixteen = low_only ? Count{own.vocabulary, own.vocabulary / ranks} : everything;
  const double copies = layout.precision == Precision::fp8   ? stack.fp8_weight_copies
                        : layout.precision == Precision::fp4 ? stack.fp4_weight_copies
                                                             : 0;
  const auto held = [](const Count& count, bool sharded) { return sharded ? count.sharded : count.all; };
  StateBytes out;
  out.weights = stack.weight * held(sixteen, layout.zero >= 3) + copies * held(layers, layout.zero >= 3);
  out.gradients = stack.gradient * held(everything, shards_gradients(layout));
  out.optimizer = stack.optimizer * held(everything, layout.zero >= 1);
  if (stack.master_remainders) out.optimizer -= std::min(stack.optimizer, 2.0) * held(sixteen, layout.zero >= 1);
  return out;
}

}  // namespace fabricost
