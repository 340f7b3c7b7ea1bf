#pragma once
/// \file bound-inl.hpp
/// Bodies of bound.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/memory/bound.hpp>

namespace fabricost::plan {

FABRICOST_BODY double min_memory(const Model& model, const ParameterCount& count, const Layout& layout, const MemoryStack& stack) {
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

}  // namespace fabricost::plan
