#pragma once
/// \file memory_bound.hpp
/// A lower bound on the memory of every layout that has these ranks, from its states alone, before schedule, chunks, microbatch and
/// recomputation are known.
///
/// With N the parameters of a tensor, expert and pipeline rank if stages were alike (all stages' sum / p), S the ranks states are sharded
/// over and w, g, o the stack's bytes per parameter (memory_stack.hpp), c those of low-precision copies:
///
///     bound = (1 + fragmentation) (w N [/ S] + g N [/ S] + o N [/ S] + c N_layers) + CUDA context + communicators
///
/// with each [/ S] where `zero` shards it, c only below zero = 3. It holds for every stage assignment: the bytes of a stage's states are
/// linear in its parameters, so their mean over stages is that of the mean stage, the worst stage is not below the mean, and whatever else
/// a layout keeps (activations, buffers, the second copy of DualPipe, a tied table's copy) only adds. It falls as t, e, p, S and `zero`
/// grow, but for the communicator a group of two ranks has and one of one rank has not.

#include <fabricost/workload/memory.hpp>

namespace fabricost {

/// Bytes; what worst_stage finds is never less, but for rounding (1e-12 of it). Uses tp, pp, cp, ep, expert_tp, dp, zero, shard and
/// precision of the layout. \param count parameters_of(model)
[[nodiscard]] inline double least_memory(const Model& model, const ParameterCount& count, const Layout& layout, const MemoryStack& stack) {
  StageContent everything{.layers = model.layers, .embedding = true, .head = true};
  everything.dense_layers = dense_layers_before(model, model.layers);
  everything.expert_layers = expert_layers_before(model, model.layers);
  const bool single = has_single_blocks(model);
  everything.mixing_layers = single ? model.layers - everything.dense_layers - everything.expert_layers : model.layers;
  const RankParameters own = rank_parameters(stage_parameters(count, model, everything), model, layout, model.layers);
  const double all = own.shared() + own.experts, sharded = own.shared() / shard_ranks(layout) + own.experts / expert_shard_ranks(layout);
  const int zero = layout.zero;
  const bool gradients_sharded = zero == 3 || (zero == 2 && layout.pp == 1);
  const double low = layout.precision == Precision::fp8   ? stack.fp8_weight_copies
                     : layout.precision == Precision::fp4 ? stack.fp4_weight_copies
                                                          : 0;
  const double states = stack.weight * (zero >= 3 ? sharded : all) + stack.gradient * (gradients_sharded ? sharded : all) +
                        stack.optimizer * (zero >= 1 ? sharded : all) + (zero >= 3 ? 0 : low * (own.layers + own.experts));
  return states / layout.pp * (1 + stack.fragmentation) + runtime_memory(layout, stack);
}

}  // namespace fabricost
