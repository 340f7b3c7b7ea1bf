/// \file test_chase_cycle.cpp
/// The ring of a pointer chase goes through every line once, and no launch is mostly warm-up.

#include "catch.hpp"

#include "measure/gpu/probes/chase_cycle.hpp"
#include "measure/gpu/probes/work_shape.hpp"

using namespace fabricost::probes::measure::gpu;

TEST_CASE("a chase's ring is one cycle through all lines") {
  for (const std::uint64_t lines : {2U, 3U, 4U, 7U, 64U, 1000U, 65537U})
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const auto next = chase_cycle(lines, seed);
      std::vector<bool> seen(lines, false);  // counted here, not by is_one_cycle
      std::uint32_t at = 0;
      for (std::uint64_t i = 0; i < lines; ++i) {
        CHECK_FALSE(seen[at]);
        seen[at] = true;
        at = next[at];
      }
      CHECK(at == 0);
      CHECK(is_one_cycle(next));
    }
}

TEST_CASE("what is no single cycle is recognised") {
  CHECK_FALSE(is_one_cycle({0, 1}));        // two of one line
  CHECK_FALSE(is_one_cycle({1, 0, 3, 2}));  // two of two
  CHECK_FALSE(is_one_cycle({1, 2, 1}));     // never comes back
  CHECK_FALSE(is_one_cycle({1, 5, 0}));     // leaves the set
  CHECK(is_one_cycle({1, 2, 0}));
}

TEST_CASE("a chase's ring has no stride a prefetcher could learn") {
  constexpr std::uint32_t lines = 4096;
  const auto next = chase_cycle(lines);
  int neighbours = 0;
  for (std::uint32_t i = 0; i < lines; ++i) neighbours += std::abs(static_cast<long>(next[i]) - static_cast<long>(i)) <= 1 ? 1 : 0;
  CHECK(neighbours < 20);  // 2 expected of a random cycle, 4096 of a sequential one
}

TEST_CASE("a chase is followed to where a launch must arrive") {
  const auto next = chase_cycle(100);
  std::uint32_t at = 0;
  for (std::uint64_t steps = 0; steps < 350; ++steps, at = next[at]) CHECK(after_steps(next, steps) == at);
}

TEST_CASE("a ring that cannot be is refused") {
  CHECK_THROWS_AS(chase_cycle(0), std::invalid_argument);
  CHECK_THROWS_AS(chase_cycle(1), std::invalid_argument);
}

TEST_CASE("the loads that bring a ring into L1 are few among those that are timed") {
  for (std::uint64_t lines = 2; lines * 128 <= 256 << 10; lines *= 2) CHECK(50 * lines <= chase_steps(lines, 128));
  CHECK(chase_steps(std::uint64_t{1} << 24, 128) < 100000);  // a ring in HBM: 10 ms, not minutes
}

TEST_CASE("a grid fills the GPU, and never more than has work") {
  CHECK(blocks_for(std::uint64_t{1} << 30, 132, 4) == 132 * 4);
  CHECK(blocks_for(1, 132, 4) == 1);
  CHECK(blocks_for(16 * 512, 132, 4) == 1);
  CHECK(blocks_for(16 * 512 + 1, 132, 4) == 2);
  CHECK(blocks_for(0, 132, 4) == 1);
  CHECK(blocks_for(std::uint64_t{1} << 62, 132, 4) == 132 * 4);  // no overflow
  for (std::uint64_t bytes = 1; bytes < 16 * 512 * 40; bytes += 977) {
    const std::uint64_t blocks = blocks_for(bytes, 4, 4);
    CHECK((blocks == 16 || blocks * 512 * 16 >= bytes));      // every vector has a thread, or the GPU is full
    CHECK((blocks == 1 || (blocks - 1) * 512 * 16 < bytes));  // no block without work
  }
}

TEST_CASE("a launch lasts long against the gap between launches") {
  CHECK(passes_for(1e-3) == 1);
  CHECK(passes_for(2e-6) == 64);
  CHECK(passes_for(0) == 64);
  for (const double once : {3e-6, 1e-5, 5e-5, 1.5e-4, 2.1e-4}) {
    const int passes = passes_for(once);
    CHECK((passes == 64 || passes * once >= 200e-6));
    CHECK((passes == 1 || passes / 2 * once < 200e-6));
  }
}

TEST_CASE("launches cover the repetitions asked for") {
  for (const int repetitions : {1, 5, 63, 64, 65, 100000})
    for (const std::uint64_t per : {1U, 64U, 65536U}) {
      const auto covered = static_cast<std::uint64_t>(launches_for(repetitions, per)) * per;
      CHECK(covered >= static_cast<std::uint64_t>(repetitions));
      CHECK(covered < static_cast<std::uint64_t>(repetitions) + per);
    }
  CHECK(launches_for(0, 1) == 1);
}
