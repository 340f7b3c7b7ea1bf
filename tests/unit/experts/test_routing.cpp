// Expectations over tokens' choices against tokens that really choose: a simulation that shares no code with the model.
#include "support/simulated_tokens.hpp"

#include <fabricost/experts/imbalance.hpp>

#include "catch.hpp"

using namespace fabricost::plan;
using namespace fabricost::core;

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

// The fullest rank, capacity and replicas against simulated tokens and small cases worked out by hand.

TEST_CASE("the fullest expert under uniform routing is what a Monte Carlo published beside moe.csv gives") {
  // rows M168, M169, M171: 200 trials of random routing
  CHECK(load_imbalance({256, 8}, {RoutingKind::uniform}, 256, 128) == Approx(2.624).epsilon(0.02));
  CHECK(load_imbalance({256, 8}, {RoutingKind::uniform}, 256, 1024) == Approx(1.529).epsilon(0.02));
  CHECK(load_imbalance({8, 2}, {RoutingKind::uniform}, 8, 4096) == Approx(1.043).epsilon(0.01));
  CHECK(load_imbalance({256, 8}, {RoutingKind::balanced}, 256, 128) == 1);
}

TEST_CASE("the fullest rank is within 3 % of simulated tokens, uniform routing") {
  double worst = 0;
  struct Case {
    Gate gate;
    int ranks, tokens, trials;
  };
  for (const Case& c : {Case{{256, 8}, 32, 32, 600},
                        {{256, 8}, 32, 512, 120},
                        {{256, 8}, 32, 4096, 20},
                        {{256, 8}, 8, 8, 2000},
                        {{256, 8}, 256, 256, 200},
                        {{64, 6}, 8, 64, 600},
                        {{8, 2}, 8, 8, 4000},
                        {{8, 2}, 2, 16, 4000},
                        {{16, 4}, 2, 4, 4000},
                        {{128, 8}, 16, 1024, 60},
                        {{256, 1}, 64, 64, 1000}}) {
    const double seen = fabricost::test::Tokens{c.gate, std::vector<double>(static_cast<std::size_t>(c.gate.experts), 1.0), 5}.fullest_over_mean(
        c.ranks, c.tokens, c.trials);
    const double ours = load_imbalance(c.gate, {RoutingKind::uniform}, c.ranks, c.tokens);
    INFO(c.gate.top_k << " of " << c.gate.experts << " on " << c.ranks << ", " << c.tokens << " tokens: " << ours << " against " << seen);
    CHECK(ours == Approx(seen).epsilon(0.03));
    worst = std::max(worst, std::fabs(ours / seen - 1));
  }
  WARN("fullest rank, uniform routing: worst error " << 100 * worst << " %");
}

TEST_CASE("the fullest rank is within 4 % of simulated tokens, Zipf routing in the same order") {
  double worst = 0;
  for (const double exponent : {0.3, 0.8, 1.2, 1.8})
    for (const int ranks : {8, 32})
      for (const int tokens : {ranks, 20 * ranks}) {
        const Gate gate{256, 8};
        const Popularity p = popularity_of(gate, {RoutingKind::zipf, exponent}, ranks);
        const double seen = fabricost::test::Tokens{gate, p.weights, 17}.fullest_over_mean(ranks, tokens, 6400 / tokens + 10);
        const double ours = fullest_over_mean(load_classes(gate, p, ranks), tokens, std::min(8, 256 / ranks));
        INFO("zipf " << exponent << " on " << ranks << ", " << tokens << " tokens: " << ours << " against " << seen);
        CHECK(ours == Approx(seen).epsilon(0.04));
        worst = std::max(worst, std::fabs(ours / seen - 1));
      }
  WARN("fullest rank, Zipf routing: worst error " << 100 * worst << " %");
}

TEST_CASE("the order Zipf's experts stand in is a typical one") {
  // mean over 200 random orders of the heaviest rank, against the order chosen
  for (const double exponent : {0.8, 1.2}) {
    const Gate gate{256, 8};
    Popularity p = popularity_of(gate, {RoutingKind::zipf, exponent}, 32);
    const double chosen = fabricost::core::detail::heaviest_run(p.shares, 32);
    std::mt19937 random{23};
    double sum = 0;
    for (int i = 0; i < 200; ++i) {
      std::shuffle(p.shares.begin(), p.shares.end(), random);
      sum += fabricost::core::detail::heaviest_run(p.shares, 32) / 200;
    }
    CHECK(chosen == Approx(sum).epsilon(0.08));
  }
}

TEST_CASE("imbalance falls towards the mean with more tokens and never below") {
  const Imbalance curve{load_classes({256, 8}, popularity_of({256, 8}, {RoutingKind::uniform}, 32), 32), 32, 8};
  double last = 1e9;
  for (double tokens = 1; tokens < 1e6; tokens *= 1.7) {
    CHECK(curve(tokens) <= last);
    CHECK(curve(tokens) >= 1);
    CHECK(curve(tokens) == Approx(load_imbalance({256, 8}, {RoutingKind::uniform}, 32, 32 * tokens)).epsilon(0.01));
    last = curve(tokens);
  }
  CHECK(last == Approx(1).epsilon(0.005));
  CHECK(Imbalance{}(123) == 1);
}
