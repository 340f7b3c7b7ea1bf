#include <fabricost/algorithms/schedule_of.hpp>

#include "catch.hpp"
#include "oracle/simulator/collectives.hpp"
#include "oracle/simulator/exchanges.hpp"
#include "oracle/simulator/rings.hpp"
#include "support/levels.hpp"
#include "unit/algorithms/moves.hpp"

using namespace fabricost::core;
using support::close;

TEST_CASE("rings level by level move what the hierarchical schedule says", "[schedule][oracle]") {
  std::vector<std::vector<int>> cases = support::splits();
  for (const int n : support::flat_counts()) cases.push_back({n});
  for (const auto& deep : std::vector<std::vector<int>>{{2, 3, 4}, {4, 4, 4}, {8, 1, 4}, {1, 8, 2}, {2, 2, 2, 2}, {3, 2, 2, 5}})
    cases.push_back(deep);
  for (const auto& sizes : cases)
    for (const Collective collective : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
      INFO(name(collective) << " " << support::text(sizes));
      oracle::World w = support::ranks_before(collective, sizes);
      if (collective != Collective::all_gather) oracle::hierarchical_reduce_scatter(w, sizes);
      if (collective != Collective::reduce_scatter) oracle::hierarchical_all_gather(w, sizes);
      CHECK(support::is_done(collective, w));
      const Schedule schedule = schedule_of(Algorithm::hierarchical, collective, support::levels_of_sizes(sizes));
      support::check_moves(schedule, w, sizes);
    }
}

TEST_CASE("an exchange in two levels moves what is bound for a place to that place first", "[schedule][oracle]") {
  for (const auto& sizes : support::splits()) {
    INFO(support::text(sizes));
    oracle::World w = oracle::everyone_has_one_for_each(sizes);
    oracle::two_level_all_to_all(w, sizes[0]);
    REQUIRE(oracle::exchanged(w));
    const Schedule schedule = schedule_of(Algorithm::hierarchical, Collective::all_to_all, support::levels_of_sizes(sizes));
    CHECK(schedule.steps() == w.steps());
    for (int level = 0; level < 2; ++level) {
      INFO("level " << level);
      CHECK(close(schedule.bytes(level), w.own_bytes(level)));
      CHECK(close(schedule.bytes(level), w.serial_bytes(level)));
    }
    oracle::World direct = oracle::everyone_has_one_for_each(sizes);
    oracle::direct_all_to_all(direct);
    CHECK(close(w.bytes(1), direct.bytes(1)));  // what leaves a domain is the same
  }
}
