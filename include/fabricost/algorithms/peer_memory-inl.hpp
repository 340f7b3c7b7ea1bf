#pragma once
/// \file peer_memory-inl.hpp
/// Bodies of peer_memory.hpp.

#include <fabricost/algorithms/peer_memory.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core::algorithms {

FABRICOST_BODY void PeerMemory::add(Schedule& out, const Levels& levels, double steps, double share) {
  const double n = levels.ranks();
  for (int level = 0; level < levels.count; ++level) {
    const double below = levels.below(level);
    const double leaving = level == 0 ? levels.size(0) - 1 : below * (n - below);  // messages that leave one endpoint
    if (levels.size(level) > 1) out.add({.level = level, .steps = steps, .bytes = leaving * share, .message = share, .reduces = 1});
  }
}

}  // namespace fabricost::core::algorithms
