#pragma once
/// \file point_to_point-inl.hpp
/// Bodies of point_to_point.hpp.

#include <fabricost/algorithms/point_to_point.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core {

FABRICOST_BODY Schedule send_recv_schedule(const Levels& levels, int level) {
  Schedule out{Algorithm::direct, Collective::send_recv, levels};
  out.add({.level = level, .steps = 1, .bytes = 1, .message = 1});
  return out;
}

}  // namespace fabricost::core
