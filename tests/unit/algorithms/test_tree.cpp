#include <fabricost/algorithms/schedule_of.hpp>

#include "catch.hpp"
#include "oracle/simulator/collectives.hpp"
#include "oracle/simulator/trees.hpp"
#include "support/levels.hpp"

using namespace fabricost::core;
using support::close;

TEST_CASE("a chain inside and two binary trees outside move what the tree schedule says", "[schedule][oracle]") {
  for (const auto& sizes : std::vector<std::vector<int>>{
           {3, 1}, {4, 1}, {8, 1}, {1, 2}, {1, 4}, {1, 16}, {3, 2}, {4, 2}, {8, 2}, {4, 4}, {8, 4}, {8, 8}, {4, 16}}) {
    INFO(support::text(sizes));
    oracle::World w = oracle::everyone_contributes(sizes, 2);
    oracle::tree_all_reduce(w, sizes[0]);
    REQUIRE(oracle::all_reduced(w));
    const Schedule schedule = schedule_of(Algorithm::tree, Collective::all_reduce, Levels{sizes[0], sizes[1]});
    CHECK(close(schedule.steps(), w.steps()));
    CHECK(close(schedule.bytes(0), w.bytes(0)));
    if (sizes[1] > 1) {
      CHECK(close(schedule.steps(1), w.steps(1)));
      CHECK(close(schedule.bytes(1), w.bytes(1)));
    }
  }
}
