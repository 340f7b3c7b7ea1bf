#include <fabricost/algorithms/schedule_of.hpp>

#include "catch.hpp"
#include "oracle/simulator/collectives.hpp"
#include "oracle/simulator/exchanges.hpp"
#include "support/levels.hpp"

using namespace fabricost::core;
using support::close;

TEST_CASE("one-shot and two-shot move what ranks that read each other's memory move", "[schedule][oracle]") {
  std::vector<std::vector<int>> cases;
  for (const int n : support::flat_counts()) cases.push_back({n});
  for (const auto& sizes : support::splits()) cases.push_back(sizes);
  for (const auto& sizes : cases) {
    INFO(support::text(sizes));
    const Levels levels = support::levels_of_sizes(sizes);
    const int n = static_cast<int>(levels.ranks());
    oracle::World once = oracle::everyone_contributes(sizes, 1);
    oracle::one_shot(once);
    REQUIRE(oracle::all_reduced(once));
    oracle::World twice = oracle::everyone_contributes(sizes, n);
    oracle::two_shot(twice);
    REQUIRE(oracle::all_reduced(twice));
    for (int level = 0; level < static_cast<int>(sizes.size()); ++level) {
      INFO("level " << level);
      CHECK(close(schedule_of(Algorithm::one_shot, Collective::all_reduce, levels).bytes(level), once.bytes(level)));
      CHECK(close(schedule_of(Algorithm::two_shot, Collective::all_reduce, levels).bytes(level), twice.bytes(level)));
    }
    if (sizes.size() == 1) {
      CHECK(schedule_of(Algorithm::one_shot, Collective::all_reduce, levels).steps() == once.steps());
      CHECK(schedule_of(Algorithm::two_shot, Collective::all_reduce, levels).steps() == twice.steps());
    }
  }
}
