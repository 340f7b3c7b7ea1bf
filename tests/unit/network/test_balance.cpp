// Hashing, incast and SHARP: against counting every assignment, and against published limits.
#include <fabricost/plan/network/balance.hpp>

#include "catch.hpp"
#include "support/message_of.hpp"

#include <random>

using namespace fabricost::plan;

namespace {

/// E[max] by trying all p^f ways.
double by_counting(int flows, int paths) {
  long long ways = 1, sum = 0;
  for (int i = 0; i < flows; ++i) ways *= paths;
  for (long long way = 0; way < ways; ++way) {
    std::vector<int> on(static_cast<std::size_t>(paths), 0);
    long long left = way;
    for (int i = 0; i < flows; ++i, left /= paths) ++on[static_cast<std::size_t>(left % paths)];
    sum += *std::max_element(on.begin(), on.end());
  }
  return static_cast<double>(sum) / static_cast<double>(ways);
}

double by_throwing(int flows, int paths, int times) {
  std::mt19937 random{1};
  double sum = 0;
  std::vector<int> on(static_cast<std::size_t>(paths));
  for (int t = 0; t < times; ++t) {
    std::fill(on.begin(), on.end(), 0);
    for (int i = 0; i < flows; ++i) ++on[random() % on.size()];
    sum += *std::max_element(on.begin(), on.end());
  }
  return sum / times;
}

}  // namespace

TEST_CASE("the fullest of hashed links is exact for few flows") {
  CHECK(expected_max_load(2, 2) == Approx(1.5));
  CHECK(expected_max_load(2, 8) == Approx(1.125));  // two of eight meet once in eight times
  CHECK(expected_max_load(3, 2) == Approx(2.25));
  for (int f = 1; f <= 7; ++f)
    for (int p = 1; p <= 5; ++p) {
      INFO(f << " flows on " << p);
      CHECK(expected_max_load(f, p) == Approx(by_counting(f, p)).epsilon(1e-10));
    }
}

TEST_CASE("for many flows the fullest link is near what throwing dice says") {
  for (const auto& [f, p] : {std::pair{8, 8}, {64, 64}, {256, 16}, {100, 128}, {1024, 32}, {4096, 64}, {512, 512}}) {
    INFO(f << " flows on " << p);
    CHECK(expected_max_load(f, p) == Approx(by_throwing(f, p, 4000)).epsilon(0.02));
  }
  // asymptotes: right order for as many flows as links, near for many on each
  CHECK(max_load_asymptote(1e6, 1e6) / expected_max_load(1e6, 1e6) == Approx(0.6).margin(0.15));
  CHECK(max_load_asymptote(64000, 64) == Approx(by_throwing(64000, 64, 200)).epsilon(0.03));
}

TEST_CASE("more flows load the fullest link more, more links less, and it is never below the mean") {
  for (int p = 1; p <= 64; p *= 2)
    for (int f = 1; f <= 512; f *= 2) {
      INFO(f << " flows on " << p);
      CHECK(expected_max_load(2 * f, p) >= expected_max_load(f, p) * (1 - 1e-9));
      CHECK(expected_max_load(f, 2 * p) <= expected_max_load(f, p) * 1.02);
      CHECK(expected_max_load(f, p) >= static_cast<double>(f) / p);
    }
}

TEST_CASE("m senders to one port get an m-th each") {
  CHECK(incast_rate(50e9, 8, 50e9) == 50e9 / 8);
  CHECK(incast_rate(50e9, 8, 5e9) == 5e9);
  CHECK(incast_rate(50e9, 1, 100e9) == 50e9);
  CHECK(support::contains(support::message_of([] { return incast_rate(50e9, 0, 50e9); }), "at least one sender"));
}

TEST_CASE("SHARP streams take turns on a Quantum switch and on a Quantum-2 port") {
  CHECK(sharp_turns("quantum", 3, 1) == 3);
  CHECK(sharp_turns("quantum-2", 3, 1) == 1);
  CHECK(sharp_turns("quantum-2", 3, 2) == 2);
  CHECK(support::contains(support::message_of([] { return sharp_turns("quantum", 64, 1); }), "trees for 63"));
  CHECK(support::contains(support::message_of([] { return sharp_turns("spectrum-4", 1, 1); }), "spectrum-4"));
}
