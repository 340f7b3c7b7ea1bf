/// \file test_expert_load.cpp
/// The fullest rank, capacity and replicas against simulated tokens and small cases worked out by hand.

#include "catch.hpp"
#include "simulated_tokens.hpp"

#include <fabricost/experts/imbalance.hpp>

using namespace fabricost::core;

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
