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

#include <fabricost/plan/memory/memory.hpp>

namespace fabricost::plan {

/// Bytes; at most worst_stage's result, up to rounding (1e-12 of it). Uses tp, pp, cp, ep, expert_tp, dp,
/// zero, shard and precision of the layout. \param count parameters_of(model)
[[nodiscard]] double min_memory(const Model& model, const ParameterCount& count, const Layout& layout, const MemoryStack& stack);

}  // namespace fabricost::plan

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/memory/bound-inl.hpp>
#endif
