#pragma once
/// Bytes of weights, gradients and optimizer of one rank: bytes per parameter over the ranks that share it.
///
///     weights    w N16 [/ S] + c N_layers [/ S]         N16: parameters kept in 16 bit; c: copies in low precision
///     gradients  g Nt [/ S]                             or whole between microbatches (MemoryStack::accumulated_gradient); of an
///                                                      interleaved pipeline with one round of microbatches, whose chunks have
///                                                      their backwards one after the other, whole in two of v chunks where
///                                                      gradients are freed: one is added up, one is reduced
///     optimizer  (o Nt [/ S] - 2 N16 [/ S]) (1 - f)     the second term where only the remainder of the 32-bit master is kept
///
/// N parameters of the rank, Nt those that are trained, each [/ S] where `zero` shards it; routed experts over their own
/// replicas (model/stage_parameters.hpp). Frozen weights have neither gradients nor states, and of their low-precision
/// copies one is kept, cast to the other layout when needed; in 4 bit (QLoRA) the layers have that copy alone. N16 is N, or N without layers where low-precision copies are
/// the parameters; f the share in host memory. All terms are linear in N and Nt.

#include <fabricost/plan/memory/stack.hpp>
#include <fabricost/plan/model/stage_parameters.hpp>

namespace fabricost::plan {

/// In bytes.
struct StateBytes {
  double weights = 0;  ///< including low-precision copies
  double gradients = 0;
  double optimizer = 0;
  double offloaded = 0;  ///< of the optimizer, in host memory
};

/// Whether gradients are sharded between microbatches. Pipeline stages accumulate them before the reduction,
/// so ZeRO-2 does not shard them there.
[[nodiscard]] inline bool shards_gradients(const Layout& layout) { return layout.zero == 3 || (layout.zero == 2 && layout.pp == 1); }

/// Bytes of the low-precision copies of a parameter: those that products read, and those that are held.
struct NarrowCopies {
  double needed = 0, held = 0;
};
[[nodiscard]] NarrowCopies narrow_copies(const Layout& layout, const MemoryStack& stack);

/// States of a rank with the parameters `own`, of which `trained` are trained: the same, or adapters beside frozen `own`.
[[nodiscard]] StateBytes state_bytes(const RankParameters& own, const RankParameters& trained, const Layout& layout,
                                     const MemoryStack& stack);

}  // namespace fabricost::plan
