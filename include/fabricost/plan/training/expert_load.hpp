#pragma once
/// \file expert_load.hpp
/// Rows of the fullest expert rank: all ranks wait for them, that rank keeps them for the backward, and a capacity caps them.

#include <fabricost/experts/expert_traffic.hpp>
#include <fabricost/plan/kernels/groups.hpp>
#include <fabricost/plan/kernels/stack.hpp>
#include <fabricost/plan/model/layout.hpp>
#include <fabricost/plan/model/model.hpp>

#include <algorithm>

namespace fabricost::plan {

/// The routing of tokens.
[[nodiscard]] inline Routing routing_of(const Stack& stack) { return {stack.routing, stack.zipf_exponent, {}}; }
/// Rows of the fullest expert rank over the mean, which all ranks wait for and which it keeps for the backward. Choices above a
/// capacity are dropped before the exchange; free places stay empty (Megatron-Core pads only with moe_pad_expert_input_to_capacity).
[[nodiscard]] double expert_load(const Model& model, const Layout& layout, const Stack& stack, GroupCosts& costs);
/// The memory of a stack whose fullest expert rank has `load` times the mean rows.
[[nodiscard]] MemoryStack with_load(MemoryStack memory, double load);

}  // namespace fabricost::plan

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/training/expert_load-inl.hpp>
#endif
