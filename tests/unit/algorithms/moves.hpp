#pragma once
/// Compares a schedule with the messages of simulated ranks.

#include <fabricost/algorithms/schedule.hpp>

#include "catch.hpp"
#include "oracle/simulator/collectives.hpp"
#include "support/levels.hpp"

namespace support {

inline void check_moves(const fabricost::core::Schedule& schedule, const oracle::World& w, const std::vector<int>& sizes) {
  CHECK(schedule.steps() == w.steps());
  for (int level = 0; level < static_cast<int>(sizes.size()); ++level) {
    INFO("level " << level);
    CHECK(schedule.steps(level) == w.steps(level));
    CHECK(close(schedule.bytes(level), w.own_bytes(level)));
    CHECK(close(schedule.bytes(level), w.serial_bytes(level)));
  }
}

/// Ranks before an all-reduce, all-gather or reduce-scatter, with a slot for each rank.
inline oracle::World ranks_before(fabricost::core::Collective c, const std::vector<int>& sizes) {
  oracle::World own = oracle::everyone_has_its_own(sizes);
  return c == fabricost::core::Collective::all_gather ? own : oracle::everyone_contributes(sizes, own.ranks());
}
inline bool is_done(fabricost::core::Collective c, const oracle::World& w) {
  if (c == fabricost::core::Collective::all_reduce) return oracle::all_reduced(w);
  return c == fabricost::core::Collective::all_gather ? oracle::all_gathered(w) : oracle::reduce_scattered(w);
}

}  // namespace support
