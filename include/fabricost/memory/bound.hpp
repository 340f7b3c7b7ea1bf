#pragma once
/// \file bound.hpp
/// A lower bound on the memory of every layout that has these ranks, from its states alone, before schedule, chunks, microbatch and
/// recomputation are known.
///
/// With N the parameters of a tensor, expert and pipeline rank if stages were alike (all stages' sum / p):
///
///     bound = (1 + fragmentation) (weights + gradients + optimizer of N, memory_states.hpp) + CUDA context + communicators
///
/// It holds for every stage assignment: the bytes of a stage's states are linear in its parameters, so their mean over
/// stages is that of the mean stage, the worst stage is not below the mean, and whatever else
/// a layout keeps (activations, buffers, the second copy of DualPipe, a tied table's copy) only adds. It falls as t, e, p, S and `zero`
/// grow, but for the communicator a group of two ranks has and one of one rank has not.

#include <fabricost/memory/memory.hpp>

namespace fabricost {

/// Bytes; what worst_stage finds is never less, but for rounding (1e-12 of it). Uses tp, pp, cp, ep, expert_tp, dp, zero, shard and
/// precision of the layout. \param count parameters_of(model)
[[nodiscard]] inline double min_memory(const Model& model, const ParameterCount& count, const Layout& layout, const MemoryStack& stack) {
  StageContent everything{.layers = model.layers, .embedding = true, .head = true};
  everything.dense_layers = dense_layers_before(model, model.layers);
  everything.expert_layers = expert_layers_before(model, model.layers);
  const bool single = has_single_blocks(model);
  everything.mixing_layers = single ? model.layers - everything.dense_layers - everything.expert_layers : model.layers;
  const RankParameters own = rank_parameters(stage_parameters(count, model, everything), model, layout, model.layers);
  const StateBytes states = state_bytes(own, layout, stack);
  const double bytes = states.weights + states.gradients + states.optimizer;
  return bytes / layout.pp * (1 + stack.fragmentation) + runtime_memory(layout, stack);
}

}  // namespace fabricost
