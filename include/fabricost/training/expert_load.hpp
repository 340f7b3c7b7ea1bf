#pragma once
/// \file expert_load.hpp
/// Rows of the fullest expert rank: all ranks wait for them, that rank keeps them for the backward, and a capacity caps them.

#include <fabricost/experts/traffic.hpp>
#include <fabricost/kernels/groups.hpp>
#include <fabricost/kernels/stack.hpp>
#include <fabricost/model/layout.hpp>
#include <fabricost/model/model.hpp>

namespace fabricost {

/// The routing of tokens. A capacity leaves every expert the same rows, whatever is chosen: choices above it are dropped before
/// the exchange, free places are padded (GShard, arXiv 2006.16668).
[[nodiscard]] inline Routing routing_of(const Stack& stack) {
  return {stack.capacity > 0 ? RoutingKind::balanced : stack.routing, stack.zipf_exponent, {}};
}
/// Rows of the fullest expert rank over the mean, which all ranks wait for and which it keeps for the backward. With a capacity
/// every rank has its padded share.
[[nodiscard]] inline double expert_load(const Model& model, const Layout& layout, const Stack& stack, GroupCosts& costs) {
  if (stack.capacity > 0) return stack.capacity;
  if (!model.mixture() || stack.routing == RoutingKind::balanced || layout.ep == 1) return 1;
  return costs.load(gate_of(model), routing_of(stack), layout.ep)(layout.tokens() / layout.tp);
}
/// The memory of a stack whose fullest expert rank has `load` times the mean rows.
[[nodiscard]] inline MemoryStack with_load(MemoryStack memory, double load) {
  memory.routed_load *= load;
  return memory;
}

}  // namespace fabricost
