#include <fabricost/algorithms/schedule_of.hpp>

#include "catch.hpp"
#include "oracle/simulator/collectives.hpp"
#include "oracle/simulator/exchanges.hpp"
#include "oracle/simulator/partners.hpp"
#include "support/levels.hpp"

using namespace fabricost::core;
using support::close;

namespace {

std::vector<std::vector<int>> flat_and_split() {
  std::vector<std::vector<int>> out;
  for (const int n : support::flat_counts()) out.push_back({n});
  for (const auto& sizes : support::splits()) out.push_back(sizes);
  return out;
}

}  // namespace

TEST_CASE("pairwise exchange meets every partner once", "[schedule][oracle]") {
  auto cases = flat_and_split();
  for (const auto& sizes : cases) {
    INFO(support::text(sizes));
    oracle::World w = oracle::everyone_has_one_for_each(sizes);
    oracle::pairwise_all_to_all(w, sizes[0]);
    REQUIRE(oracle::exchanged(w));
    const Schedule schedule = schedule_of(Algorithm::pairwise, Collective::all_to_all, support::levels_of_sizes(sizes));
    CHECK(schedule.steps() == w.steps());
    for (int level = 0; level < static_cast<int>(sizes.size()); ++level) {
      INFO("level " << level);
      CHECK(schedule.steps(level) == w.steps(level));
      CHECK(close(schedule.bytes(level), w.bytes(level)));
    }
  }
}

TEST_CASE("a direct exchange moves the same bytes at once, whatever the collective", "[schedule][oracle]") {
  auto cases = flat_and_split();
  cases.push_back({2, 3, 4});
  for (const auto& sizes : cases) {
    INFO(support::text(sizes));
    oracle::World all_to_all = oracle::everyone_has_one_for_each(sizes);
    oracle::direct_all_to_all(all_to_all);
    REQUIRE(oracle::exchanged(all_to_all));
    oracle::World gather = oracle::everyone_has_its_own(sizes);
    oracle::direct_all_gather(gather);
    REQUIRE(oracle::all_gathered(gather));
    oracle::World scatter = oracle::everyone_contributes(sizes, gather.ranks());
    oracle::direct_reduce_scatter(scatter);
    REQUIRE(oracle::reduce_scattered(scatter));
    const std::vector<std::pair<Collective, const oracle::World*>> worlds{
        {Collective::all_to_all, &all_to_all}, {Collective::all_gather, &gather}, {Collective::reduce_scatter, &scatter}};
    for (const auto& [collective, w] : worlds) {
      const Schedule schedule = schedule_of(Algorithm::direct, collective, support::levels_of_sizes(sizes));
      for (int level = 0; level < static_cast<int>(sizes.size()); ++level) {
        INFO(name(collective) << " level " << level);
        CHECK(close(schedule.bytes(level), w->bytes(level)));
        CHECK(schedule.steps(level) <= w->steps());
      }
    }
  }
}

TEST_CASE("Bruck gathers and exchanges in ceil(log2 n) steps on any number of ranks", "[schedule][oracle]") {
  for (const int n : support::flat_counts()) {
    INFO(n << " ranks");
    oracle::World exchange = oracle::everyone_has_one_for_each({n});
    oracle::bruck_all_to_all(exchange);
    REQUIRE(oracle::exchanged(exchange));
    oracle::World gather = oracle::everyone_has_its_own({n});
    oracle::bruck_all_gather(gather);
    REQUIRE(oracle::all_gathered(gather));
    const Schedule a = schedule_of(Algorithm::bruck, Collective::all_to_all, Levels{n});
    const Schedule g = schedule_of(Algorithm::bruck, Collective::all_gather, Levels{n});
    CHECK(a.steps() == exchange.steps());
    CHECK(close(a.bytes(0), exchange.bytes(0)));
    CHECK(close(a.bytes(0), exchange.serial_bytes(0)));
    CHECK(g.steps() == gather.steps());
    CHECK(close(g.bytes(0), gather.bytes(0)));
  }
}

TEST_CASE("Bruck over several domains sends out what crosses their borders", "[schedule][oracle]") {
  auto cases = support::splits();
  for (const auto& more : support::powers_of_two_splits()) cases.push_back(more);
  for (const auto& sizes : cases) {
    INFO(support::text(sizes));
    oracle::World exchange = oracle::everyone_has_one_for_each(sizes);
    oracle::bruck_all_to_all(exchange);
    oracle::World gather = oracle::everyone_has_its_own(sizes);
    oracle::bruck_all_gather(gather);
    const Levels levels = support::levels_of_sizes(sizes);
    for (const auto& [collective, w] :
         std::vector<std::pair<Collective, const oracle::World*>>{{Collective::all_to_all, &exchange}, {Collective::all_gather, &gather}}) {
      INFO(name(collective));
      const Schedule schedule = schedule_of(Algorithm::bruck, collective, levels);
      CHECK(schedule.steps() == w->steps());
      CHECK(close(schedule.bytes(1), w->bytes(1)));
      CHECK(close(schedule.bytes(0), w->mean_bytes(0)));  // some ranks send more inside, others more across
    }
  }
}
