#pragma once
/// \file expert_load-inl.hpp
/// Bodies of expert_load.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/model/gate.hpp>
#include <fabricost/plan/training/expert_load.hpp>

namespace fabricost::plan {

FABRICOST_BODY double expert_load(const Model& model, const Layout& layout, const Stack& stack, GroupCosts& costs) {
  const bool even = !model.mixture() || stack.routing == RoutingKind::balanced || layout.ep == 1;
  const double load = even ? 1 : costs.load(gate_of(model), routing_of(stack), layout.ep)(layout.tokens() / layout.tp);
  return stack.capacity > 0 ? std::min(load, stack.capacity) : load;
}

FABRICOST_BODY MemoryStack with_load(MemoryStack memory, double load) {
  memory.routed_load *= load;
  return memory;
}

}  // namespace fabricost::plan
