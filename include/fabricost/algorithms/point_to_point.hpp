#pragma once
/// \file point_to_point.hpp
/// One sender, one receiver, and the hand-over between the stages of a pipeline.

#include <fabricost/algorithms/registry.hpp>

namespace fabricost {

/// S over one level: 1 step, S.
[[nodiscard]] inline Schedule send_recv_schedule(const Levels& levels, int level) {
  Schedule out{Algorithm::direct, Collective::send_recv, levels};
  out.add({.level = level, .steps = 1, .bytes = 1, .message = 1});
  return out;
}

/// m microbatches of S bytes each through p stages: the last arrives after p - 1 + m - 1 hand-overs. `bytes`
/// is that volume on the critical path (a stage sends m S). `level`: the tier between neighbouring stages.
[[nodiscard]] inline Schedule pipeline_schedule(const Levels& levels, int level, int stages, int microbatches) {
  Schedule out{Algorithm::direct, Collective::send_recv, levels};
  if (stages < 2 || microbatches < 1) return out;
  const double handovers = static_cast<double>(stages) - 1 + microbatches - 1;
  out.add({.level = level, .steps = handovers, .bytes = handovers, .message = 1});
  return out;
}

}  // namespace fabricost
