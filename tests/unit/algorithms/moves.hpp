#pragma once
/// Compares a schedule with the messages of a simulated run.

#include <fabricost/algorithms/schedule.hpp>

#include "catch.hpp"
#include "oracle/simulator/collectives.hpp"
#include "support/levels.hpp"

namespace support {

/// Steps and bytes of each level are those that the simulated ranks took and sent.
inline void check_moves(const fabricost::core::Schedule& schedule, const oracle::World& w, const std::vector<int>& sizes) {
  CHECK(schedule.steps() == w.steps());
  for (int level = 0; level < static_cast<int>(sizes.size()); ++level) {
    INFO("level " << level);
    CHECK(schedule.steps(level) == w.steps(level));
    CHECK(close(schedule.bytes(level), w.own_bytes(level)));
    CHECK(close(schedule.bytes(level), w.serial_bytes(level)));
  }
}

/// The ranks before an all-reduce, all-gather or reduce-scatter; a slot for each rank.
inline oracle::World ranks_before(fabricost::core::Collective collective, const std::vector<int>& sizes) {
  oracle::World own = oracle::everyone_has_its_own(sizes);
  if (collective == fabricost::core::Collective::all_gather) return own;
  return oracle::everyone_contributes(sizes, own.ranks());
}
/// Whether each rank holds what an all-reduce, all-gather or reduce-scatter owes it.
inline bool is_done(fabricost::core::Collective collective, const oracle::World& w) {
  if (collective == fabricost::core::Collective::all_reduce) return oracle::all_reduced(w);
  return collective == fabricost::core::Collective::all_gather ? oracle::all_gathered(w) : oracle::reduce_scattered(w);
}

}  // namespace support
