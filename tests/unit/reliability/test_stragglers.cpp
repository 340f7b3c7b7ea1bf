/// Maxima over ranks: against draws, against closed forms of few ranks, and in limits.

#include "catch.hpp"
#include "support/message_of.hpp"

#include <fabricost/plan/economics/stragglers.hpp>

using namespace fabricost::plan;

namespace {

/// Mean of the maximum of n draws, by drawing.
template <class Draw>
double drawn_maximum(int ranks, int rounds, Draw&& draw) {
  std::mt19937_64 random{20261120};
  double sum = 0;
  for (int i = 0; i < rounds; ++i) {
    double max = draw(random);
    for (int r = 1; r < ranks; ++r) max = std::max(max, draw(random));
    sum += max;
  }
  return sum / rounds;
}

}  // namespace

TEST_CASE("the expected maximum is the mean of drawn maxima") {
  std::normal_distribution<double> normal(10, 1);
  const double s = Jitter{JitterShape::lognormal, 10, 4}.log_deviation();
  std::lognormal_distribution<double> lognormal(std::log(10) - s * s / 2, s);
  std::exponential_distribution<double> exponential(1 / 2.0);
  for (const int n : {1, 2, 8, 100}) {
    INFO(n << " ranks");
    const int rounds = 4'000'000 / (n + 20);
    CHECK(expected_maximum({JitterShape::normal, 10, 1}, n) == within(drawn_maximum(n, rounds, normal), 0.002));
    CHECK(expected_maximum({JitterShape::lognormal, 10, 4}, n) == within(drawn_maximum(n, rounds, lognormal), 0.008));
    CHECK(expected_maximum({JitterShape::exponential, 10, 2}, n) ==
          within(drawn_maximum(n, rounds, [&](auto& r) { return 8 + exponential(r); }), 0.004));
  }
}

TEST_CASE("few normal ranks have closed forms") {
  const double root_pi = std::sqrt(std::acos(-1.0));  // order statistics of 2 and 3: 1/sqrt(pi), 3/(2 sqrt(pi))
  CHECK(expected_maximum({JitterShape::normal, 0, 1}, 1) == Approx(0).margin(1e-9));
  CHECK(expected_maximum({JitterShape::normal, 0, 1}, 2) == within(1 / root_pi, 1e-9));
  CHECK(expected_maximum({JitterShape::normal, 0, 1}, 3) == within(1.5 / root_pi, 1e-9));
  CHECK(expected_maximum({JitterShape::normal, 5, 2}, 3) == within(5 + 3 / root_pi, 1e-9));
  // Harter 1961: expected largest of 100 and 1000 standard normals
  CHECK(expected_maximum({JitterShape::normal, 0, 1}, 100) == within(2.50759, 1e-5));
  CHECK(expected_maximum({JitterShape::normal, 0, 1}, 1000) == within(3.24144, 1e-5));
}

TEST_CASE("an exponential maximum is the harmonic number") {
  CHECK(harmonic(1) == 1);
  CHECK(harmonic(4) == within(25.0 / 12, 1e-15));
  CHECK(harmonic(10001) - harmonic(10000) == within(1.0 / 10001, 1e-9));  // where the series takes over
  CHECK(expected_maximum({JitterShape::exponential, 3, 3}, 4) == within(3 * 25.0 / 12, 1e-12));
}

TEST_CASE("one rank in a hundred late makes almost every step of a thousand late") {
  CHECK(somebody_late(0.01, 64) == within(0.474, 0.001));
  CHECK(somebody_late(0.01, 1000) == within(0.99996, 1e-5));
  CHECK(somebody_late(1e-12, 1) == within(1e-12, 1e-9));
  CHECK(somebody_late(1, 5) == 1);
}

TEST_CASE("percentiles of a benchmark come back from the distribution they make") {
  for (const JitterShape shape : {JitterShape::normal, JitterShape::lognormal, JitterShape::exponential}) {
    const Jitter j = jitter_of_percentiles(100e-6, 180e-6, shape);
    CHECK(j.at(0) == within(100e-6, 1e-9));
    CHECK(j.at(2.3263478740408408) == within(180e-6, 1e-9));
    CHECK(expected_maximum(j, 64) > 180e-6 * 0.95);
  }
  CHECK(jitter_of_percentiles(5, 5).deviation == 0);
}

TEST_CASE("measured times give the maximum of draws from them") {
  const MeasuredTimes few{{3, 1, 2}};
  // all 27 triples of {1, 2, 3}: 1 has maximum 1, 7 have 2, 19 have 3
  CHECK(few.expected_maximum(3) == within((1 + 7 * 2 + 19 * 3) / 27.0, 1e-12));
  CHECK(few.expected_maximum(1) == within(2, 1e-12));
  CHECK(few.expected_maximum(1e9) == within(3, 1e-12));  // too few for a tail
  CHECK(few.quantile(0.5) == 2);
}

TEST_CASE("a measured tail answers for more ranks than times") {
  std::mt19937_64 random{7};
  std::exponential_distribution<double> exponential(1);
  std::vector<double> times(20000);
  for (double& t : times) t = 1 + exponential(random);
  const MeasuredTimes measured{times};
  for (const double n : {1.0, 10.0, 1000.0, 1e5, 1e6}) CHECK(measured.expected_maximum(n) == within(1 + harmonic(n), 0.03));
  CHECK(measured.expected_maximum(1) == within(measured.mean(), 1e-9));
  CHECK(measured.deviation() == within(1, 0.03));
}

TEST_CASE("the slowest kind that occurs decides") {
  const std::vector<SlowKind> kinds{{0.05, 1.1}, {0.01, 2}};
  std::mt19937_64 random{5};
  std::uniform_real_distribution<double> uniform(0, 1);
  double sum = 0;
  constexpr int rounds = 200000;
  for (int i = 0; i < rounds; ++i) {
    double factor = 1;
    for (int r = 0; r < 16; ++r)
      if (const double u = uniform(random); u < 0.05)
        factor = std::max(factor, 1.1);
      else if (u < 0.06)
        factor = std::max(factor, 2.0);
    sum += factor;
  }
  CHECK(slow_factor(kinds, 16) == within(sum / rounds, 0.003));
  CHECK(slow_factor({{0.02, 1.5}}, 1) == within(1.01, 1e-12));
  CHECK(slow_factor({}, 100) == 1);
}

TEST_CASE("finer barriers amplify jitter by their root") {
  const Jitter step{JitterShape::normal, 1, 0.02};
  const double once = expected_step(step, 256, 1) - 1;
  CHECK(expected_step(step, 256, 16) - 1 == within(4 * once, 1e-9));
  CHECK(expected_step(step, 1, 16) == within(1, 1e-9));
}

TEST_CASE("a lost rail of eight costs an eighth spread and a double beside its neighbour") {
  CHECK(lost_rail_factor(8, 1, LostRail::spread) == within(8.0 / 7, 1e-15));
  CHECK(lost_rail_factor(8, 1, LostRail::neighbour) == 2);
  CHECK(lost_rail_factor(8, 0, LostRail::neighbour) == 1);
  CHECK(lost_rail_factor(2, 1, LostRail::spread) == 2);
  CHECK(network_slowed(1, 0.25, 2) == 1.25);
  for (const int lost : {-1, 8, 9}) CHECK_THROWS_AS(lost_rail_factor(8, lost, LostRail::spread), RequestError);
  try {
    static_cast<void>(lost_rail_factor(8, 9, LostRail::spread));
  } catch (const RequestError& e) {
    CHECK(std::string{e.what()} == "9 of 8 rails are lost: at least one must be left; take at most 7");
  }
}

TEST_CASE("flapping links stall everybody") {
  const LinkFlaps flaps{.links = 16384, .per_link_hour = 1e-4, .stall_seconds = 5, .fatal_share = 0.1};
  CHECK(flaps.failures_per_hour() == within(0.16384, 1e-12));
  CHECK(flaps.stalled() == within(16384 * 1e-4 * 5 * 0.9 / 3600, 0.002));  // few of them overlap
  CHECK(LinkFlaps{1e6, 100, 100, 0}.stalled() <= 1);
  // a link that fails once in 5 years: 100,000 of them fail every 26 minutes
  CHECK(60 / LinkFlaps{1e5, 1 / (5 * 8766.0), 0, 1}.failures_per_hour() == within(26.3, 0.001));
}
