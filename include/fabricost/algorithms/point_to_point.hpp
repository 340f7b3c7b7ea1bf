#pragma once
/// \file point_to_point.hpp
/// One sender, one receiver.

#include <fabricost/algorithms/registry.hpp>

namespace fabricost::core {

/// S over one level: 1 step, S.
[[nodiscard]] Schedule send_recv_schedule(const Levels& levels, int level);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/algorithms/point_to_point-inl.hpp>
#endif
