/// \file test_routing.cpp
/// Expectations over tokens' choices against tokens that really choose: a simulation that shares no code with the model.

#include "catch.hpp"
#include "simulated_tokens.hpp"

#include <fabricost/experts/imbalance.hpp>

using namespace fabricost::plan;

TEST_CASE("a token of 8 among 256 touches the published number of nodes") {
  // hypergeometric, as derived for DeepSeek-V3's routing (exact values; 4096 x 7392 bytes x these give DeepEP's printed volumes)
  CHECK(touched_sets({256, 8}, 8) == Approx(5.29465).epsilon(1e-6));
  CHECK(touched_sets({256, 8}, 4) == Approx(3.61421).epsilon(2e-6));
  CHECK(touched_sets({256, 8, 8, 4}, 8) == Approx(touched_sets({128, 8}, 4)).epsilon(1e-12));  // the limit halves both
  CHECK(touched_sets({256, 8}, 1) == 1);
  // sets that lie alike to the groups: the short way is the sum over all of them
  for (const int sets : {2, 4, 8, 16, 64, 128}) {
    double sum = 0;
    for (int s = 0; s < sets; ++s) sum += 1 - fabricost::core::detail::missed_under_limit({256, 8, 8, 4}, s * 256 / sets, 256 / sets);
    CHECK(touched_sets({256, 8, 8, 4}, sets) == Approx(sum).epsilon(1e-12));
  }
  CHECK(touched_sets({64, 64}, 16) == 16);
  CHECK(touched_sets({256, 8}, 256) == Approx(8).epsilon(1e-12));
}

TEST_CASE("touched ranks and nodes agree with tokens that choose, with and without a limit on groups") {
  struct Case {
    Gate gate;
    int sets;
  };
  for (const Case& c : {Case{{256, 8}, 32},
                        {{64, 6}, 8},
                        {{256, 8, 8, 4}, 8},
                        {{256, 8, 8, 4}, 32},
                        {{256, 8, 8, 4}, 4},
                        {{160, 6, 8, 3}, 20},
                        {{160, 6, 8, 3}, 10},
                        {{48, 4, 3, 1}, 4},
                        {{48, 4, 6, 2}, 4},
                        {{48, 4, 3, 2}, 16}}) {
    INFO(c.gate.experts << " " << c.gate.top_k << " " << c.gate.groups << " " << c.gate.group_limit << " over " << c.sets);
    fabricost::test::Tokens tokens{c.gate, std::vector<double>(static_cast<std::size_t>(c.gate.experts), 1.0), 7};
    CHECK(touched_sets(c.gate, c.sets) == Approx(tokens.mean_touched(c.sets, 20000)).epsilon(0.01));
  }
}

TEST_CASE("skewed choices touch what simulated tokens touch") {
  for (const double exponent : {0.0, 0.5, 1.2, 2.0})
    for (const Gate& gate : {Gate{256, 8}, Gate{16, 2}, Gate{128, 1}}) {
      const Popularity p = popularity_of(gate, {RoutingKind::zipf, exponent}, 8);
      const double k = std::accumulate(p.shares.begin(), p.shares.end(), 0.0);
      INFO("zipf " << exponent << ", " << gate.top_k << " of " << gate.experts);
      CHECK(k == Approx(gate.top_k).epsilon(1e-5));
      fabricost::test::Tokens tokens{gate, p.weights, 11};
      const std::vector<double> each = touched_each(gate, {RoutingKind::zipf, exponent}, p, 8), seen = tokens.touched_each(8, 40000);
      for (std::size_t s = 0; s < 8; ++s) CHECK(each[s] == Approx(seen[s]).margin(0.012));
      if (exponent == 0) CHECK(std::accumulate(each.begin(), each.end(), 0.0) == Approx(touched_sets(gate, 8)).epsilon(1e-5));
    }
}

TEST_CASE("a limit on groups with skewed choices is within 10 % of simulated tokens") {
  const Gate gate{256, 8, 8, 4};
  for (const double exponent : {0.5, 1.0, 1.5})
    for (const int sets : {8, 32}) {
      const Routing routing{RoutingKind::zipf, exponent};
      const Popularity p = popularity_of(gate, routing, 32);
      const std::vector<double> each = touched_each(gate, routing, p, sets);
      fabricost::test::Tokens tokens{gate, p.weights, 13};
      INFO("zipf " << exponent << " over " << sets);
      CHECK(std::accumulate(each.begin(), each.end(), 0.0) == Approx(tokens.mean_touched(sets, 20000)).epsilon(0.10));
    }
}

TEST_CASE("a histogram gives its own shares back") {
  const Gate gate{8, 2};
  const Routing routing{RoutingKind::histogram, 1, {40, 30, 20, 10, 40, 30, 20, 10}};
  const Popularity p = popularity_of(gate, routing, 4);
  CHECK(p.shares[0] == Approx(0.4));
  // weights that independent clocks give those shares with: the choices drawn from them lie near the shares
  const std::vector<double> seen = fabricost::test::Tokens{gate, p.weights, 3}.touched_each(8, 40000);
  for (std::size_t i = 0; i < 8; ++i) CHECK(seen[i] == Approx(p.shares[i]).epsilon(0.06));
}

TEST_CASE("many experts of which many are chosen have shares that sum to the number chosen", "[experts]") {
  for (const Gate& gate : {Gate{512, 88}, Gate{1024, 62}, Gate{2048, 43}}) {
    const Popularity p = popularity_of(gate, {RoutingKind::zipf, 1}, 64);
    double sum = 0;
    for (const double share : p.shares) sum += share;
    CHECK(sum == within(gate.top_k, 1e-4));
  }
  CHECK_THROWS_WITH(popularity_of(Gate{1024, 512}, {RoutingKind::zipf, 1}, 64), Catch::Contains("unevenly are not priced"));
}
