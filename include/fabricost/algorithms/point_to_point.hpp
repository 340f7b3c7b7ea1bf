#pragma once
/// \file point_to_point.hpp
/// One sender, one receiver.

#include <fabricost/algorithms/registry.hpp>

namespace fabricost::core {

/// S over one level: 1 step, S.
[[nodiscard]] inline Schedule send_recv_schedule(const Levels& levels, int level) {
  Schedule out{Algorithm::direct, Collective::send_recv, levels};
  out.add({.level = level, .steps = 1, .bytes = 1, .message = 1});
  return out;
}

}  // namespace fabricost::core
