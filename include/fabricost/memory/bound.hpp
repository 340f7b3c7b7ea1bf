#pragma once
/// \file bound.hpp
/// A lower bound on the memory of all layouts with the same ranks, from their states alone, before schedule,
/// chunks, microbatch and recomputation are known.
///
/// With N the parameters of a tensor, expert and pipeline rank if stages were equal (sum over stages / p):
///
///     bound = (1 + fragmentation) (weights + gradients + optimizer of N, states.hpp) + CUDA context + communicators
///
/// It holds for every assignment of stages: a stage's states are linear in its parameters, so the mean over
/// stages is the value of the mean stage, the worst stage is at least the mean, and everything else that a
/// layout keeps (activations, buffers, the second copy of DualPipe, a tied table's copy) only adds. The bound
/// falls as t, e, p, S and `zero` grow, except for a group's communicator, which exists from two ranks on.

#include <fabricost/memory/memory.hpp>

namespace fabricost {

/// Bytes; at most worst_stage's result, up to rounding (1e-12 of it). Uses tp, pp, cp, ep, expert_tp, dp,
/// zero, shard and precision of the layout. \param count parameters_of(model)
[[nodiscard]] inline double min_memory(const Model& model, const ParameterCount& count, const Layout& layout, const MemoryStack& stack) {
  StageContent everything{.layers = model.layers, .embedding = true, .head = true};
  everything.dense_layers = dense_layers_before(model, model.layers);
  everything.expert_layers = expert_layers_before(model, model.layers);
  const bool single = has_single_blocks(model);
  everything.mixing_layers = single ? model.layers - everything.dense_layers - everything.expert_layers : model.layers;
  everything.predictions = model.predict_layers;
  const RankParameters own = rank_parameters(stage_parameters(count, model, everything), model, layout, model.layers);
  const StateBytes states = state_bytes(own, trained_parameters(own, model, layout, everything), layout, stack);
  const double bytes = states.weights + states.gradients + states.optimizer;
  return bytes / layout.pp * (1 + stack.fragmentation) + runtime_memory(layout, stack);
}

}  // namespace fabricost
