#pragma once
/// The way to divide GPUs between training and generation that makes an iteration of reinforcement learning shortest.
///
/// The space: all GPUs for both, one after the other (colocated; the trainer's states stay or move to host memory), and splits
/// in steps of a node, at least a sixteenth of the GPUs. Training takes its fastest layout (training/search.hpp). Engines are
/// those on the front of throughput against speed (serving/plan.hpp): for each, the whole generation is priced.

#include <fabricost/plan/rl/question.hpp>

namespace fabricost::plan {

/// The ways to divide the GPUs, fastest first; none, and the last reason where nothing holds both. Deterministic.
/// \throws Refusal, RequestError
[[nodiscard]] RlPlan plan_rl(const System& system, const RlQuestion& question);

}  // namespace fabricost::plan
