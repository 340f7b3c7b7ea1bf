#include <fabricost/algorithms/schedule_of.hpp>

#include "catch.hpp"
#include "oracle/simulator/collectives.hpp"
#include "oracle/simulator/partners.hpp"
#include "support/levels.hpp"
#include "unit/algorithms/moves.hpp"

using namespace fabricost::core;
using support::close;

TEST_CASE("recursive doubling moves what partners who exchange everything move", "[schedule][oracle]") {
  std::vector<std::vector<int>> shapes = support::powers_of_two_splits();
  for (const int n : {2, 4, 8, 16, 32, 64}) shapes.push_back({n});
  shapes.push_back({2, 4, 4});
  shapes.push_back({4, 2, 8});
  for (const auto& sizes : shapes) {
    INFO(support::text(sizes));
    oracle::World w = oracle::everyone_contributes(sizes, 1);
    oracle::recursive_doubling(w);
    REQUIRE(oracle::all_reduced(w));
    const Schedule schedule = schedule_of(Algorithm::recursive_doubling, Collective::all_reduce, support::levels_of_sizes(sizes));
    support::check_moves(schedule, w, sizes);
  }
}

TEST_CASE("recursive doubling folds ranks beyond the power of two in and out again", "[schedule][oracle]") {
  for (const int n : {1, 3, 5, 6, 7, 9, 12, 15, 33, 63}) {
    INFO(n << " ranks");
    oracle::World w = oracle::everyone_contributes({n}, 1);
    oracle::recursive_doubling(w);
    REQUIRE(oracle::all_reduced(w));
    const Schedule schedule = schedule_of(Algorithm::recursive_doubling, Collective::all_reduce, Levels{n});
    CHECK(schedule.steps() == w.steps());
    CHECK(close(schedule.bytes(0), w.serial_bytes(0)));
  }
}
