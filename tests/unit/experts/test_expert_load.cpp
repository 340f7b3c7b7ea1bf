/// \file test_expert_load.cpp
/// The fullest rank, capacity and replicas against simulated tokens and small cases worked out by hand.

#include "catch.hpp"
#include "simulated_tokens.hpp"

#include <fabricost/experts/load.hpp>

#include <numeric>

using namespace fabricost;

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
    const double seen = test::Tokens{c.gate, std::vector<double>(static_cast<std::size_t>(c.gate.experts), 1.0), 5}.fullest_over_mean(
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
        const double seen = test::Tokens{gate, p.weights, 17}.fullest_over_mean(ranks, tokens, 6400 / tokens + 10);
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
    const double chosen = detail::heaviest_run(p.shares, 32);
    std::mt19937 random{23};
    double sum = 0;
    for (int i = 0; i < 200; ++i) {
      std::shuffle(p.shares.begin(), p.shares.end(), random);
      sum += detail::heaviest_run(p.shares, 32) / 200;
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

TEST_CASE("a capacity factor drops what simulated tokens lose") {
  for (const Gate& gate : {Gate{16, 2}, Gate{64, 6}})
    for (const double factor : {0.75, 1.0, 1.25, 2.0}) {
      const int tokens = 128;
      const CapacityOutcome c = capacity_outcome(gate, {RoutingKind::uniform}, tokens, factor);
      test::Tokens source{gate, std::vector<double>(static_cast<std::size_t>(gate.experts), 1.0), 29};
      double lost = 0;
      for (int trial = 0; trial < 300; ++trial) {
        std::vector<int> load(static_cast<std::size_t>(gate.experts), 0);
        for (int t = 0; t < tokens; ++t)
          for (const int i : source.choose()) ++load[static_cast<std::size_t>(i)];
        for (const int n : load) lost += std::max(0.0, n - c.slots) / 300;
      }
      const double share = lost / (tokens * gate.top_k);
      INFO(gate.top_k << " of " << gate.experts << ", factor " << factor);
      CHECK(c.dropped == Approx(share).margin(0.004));
      CHECK(c.slots == std::ceil(factor * tokens * gate.top_k / gate.experts));
      CHECK((1 - c.padded) * c.slots * gate.experts == Approx((1 - c.dropped) * tokens * gate.top_k).epsilon(1e-9));
      CHECK(c.moved == Approx(c.slots * gate.experts / (tokens * gate.top_k)));
    }
  const CapacityOutcome even = capacity_outcome({8, 2}, {RoutingKind::balanced}, 1024, 1);
  CHECK(even.dropped == 0);
  CHECK(even.padded == 0);
  CHECK(capacity_outcome({8, 2}, {RoutingKind::balanced}, 1024, 0.5).dropped == Approx(0.5));
  CHECK_THROWS_WITH(capacity_outcome({8, 2}, {RoutingKind::uniform}, 1024, 0), Catch::Contains("capacity factor"));
}

TEST_CASE("replicas even out what is skewed") {
  // by hand: loads 6 1 1, one copy: 3 3 1 1 on two ranks of two slots is 4 and 4
  const Replication small = replicate(std::vector<double>{6, 1, 1}, 2, 1);
  CHECK(small.copies == std::vector<int>{2, 1, 1});
  CHECK(small.ratio == Approx(1));
  const Gate gate{256, 8};
  const Popularity p = popularity_of(gate, {RoutingKind::zipf, 0.8}, 32);
  const double plain = detail::heaviest_run(p.shares, 32) * 32 / 8;
  const Replication packed = replicate(p.shares, 32, 0), copied = replicate(p.shares, 32, 32);
  CHECK(packed.ratio <= plain);
  CHECK(copied.ratio <= packed.ratio);
  CHECK(copied.ratio >= 1);
  CHECK(std::accumulate(copied.load_of_rank.begin(), copied.load_of_rank.end(), 0.0) == Approx(8).epsilon(1e-5));
  // DeepSeek's prefill of 32 ranks keeps 32 redundant experts: 288 slots, 9 a rank
  CHECK(copied.expert_of_slot.size() == 288);
  std::vector<int> seen(256, 0);
  for (const int i : copied.expert_of_slot) ++seen[static_cast<std::size_t>(i)];
  CHECK(seen == copied.copies);
}
