#include <fabricost/algorithms/schedule_of.hpp>

#include "catch.hpp"
#include "oracle/simulator/collectives.hpp"
#include "oracle/simulator/partners.hpp"
#include "support/levels.hpp"
#include "unit/algorithms/moves.hpp"

using namespace fabricost::core;
using support::close;

namespace {

/// `near_first`: Rabenseifner's order.
void compare_doubling(Collective collective, const std::vector<int>& sizes, bool near_first) {
  INFO(name(collective) << (near_first ? " near first " : " far first ") << support::text(sizes));
  const Schedule schedule =
      schedule_of(near_first ? Algorithm::rabenseifner : Algorithm::halving_doubling, collective, support::levels_of_sizes(sizes));
  oracle::World w = support::ranks_before(collective, sizes);
  if (collective != Collective::all_gather) oracle::halving(w, near_first);
  if (collective != Collective::reduce_scatter) oracle::doubling(w, near_first);
  CHECK(support::is_done(collective, w));
  CHECK(schedule.algorithm == (near_first ? Algorithm::rabenseifner : Algorithm::halving_doubling));
  support::check_moves(schedule, w, sizes);
}

}  // namespace

TEST_CASE("halving and doubling move what partners at doubling distances move", "[schedule][oracle]") {
  for (const Collective c : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter})
    for (const bool near_first : {false, true}) {
      for (const int n : support::flat_counts())
        if (support::is_power_of_two(n)) compare_doubling(c, {n}, near_first);
      for (const auto& sizes : support::powers_of_two_splits()) compare_doubling(c, sizes, near_first);
      compare_doubling(c, {2, 4, 4}, near_first);
      compare_doubling(c, {4, 2, 8}, near_first);
    }
}

TEST_CASE("ranks beyond the power of two cost two more steps", "[schedule][oracle]") {
  for (const int n : support::flat_counts()) {
    if (n < 2) continue;
    INFO(n << " ranks");
    const oracle::World w = oracle::folded_all_reduce(n);
    REQUIRE(oracle::all_reduced(w));
    for (const bool near_first : {false, true}) {
      const Schedule schedule =
          schedule_of(near_first ? Algorithm::rabenseifner : Algorithm::halving_doubling, Collective::all_reduce, Levels{n});
      CHECK(schedule.steps() == w.steps());
      // the fold and the return of the result each take S over one link, one after the other: neither hides the other
      CHECK(close(schedule.bytes(0), w.serial_bytes(0)));
    }
  }
}
