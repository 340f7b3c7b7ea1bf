#include <fabricost/price/channels.hpp>

#include "catch.hpp"

using namespace fabricost::core;

TEST_CASE("the channel search finds what NCCL finds on eight GPUs", "[price]") {
  const Channels ampere = search_channels(12 * 20e9, Generation::ampere);
  CHECK(ampere.count == 12);
  CHECK(ampere.rate == 20e9);
  const Channels hopper = search_channels(18 * 20.6e9, Generation::hopper);
  CHECK(hopper.count == 12);
  CHECK(hopper.rate == 30e9);
  const Channels blackwell = search_channels(18 * 40.1e9, Generation::blackwell);
  CHECK(blackwell.count == 16);
  CHECK(blackwell.rate == 45e9);
}

TEST_CASE("collectives run on 24 channels of Ampere and Hopper and 32 of Blackwell", "[price]") {
  CHECK(running_channels(search_channels(12 * 20e9, Generation::ampere)) == 24);
  CHECK(running_channels(search_channels(18 * 20.6e9, Generation::hopper)) == 24);
  CHECK(running_channels(search_channels(18 * 40.1e9, Generation::blackwell)) == 32);
}

TEST_CASE("in-switch reduction runs a channel for each GPU at 40 and 80 GB/s", "[price]") {
  const Channels hopper = in_switch_channels(18 * 20.6e9, 8, Generation::hopper);
  CHECK(hopper.count == 8);
  CHECK(hopper.rate == 40e9);
  const Channels blackwell = in_switch_channels(18 * 40.1e9, 8, Generation::blackwell);
  CHECK(blackwell.count == 8);
  CHECK(blackwell.rate == 80e9);
}

TEST_CASE("the search never plans with more than there is, nor with nothing", "[price]") {
  for (const Generation g : {Generation::volta, Generation::ampere, Generation::hopper, Generation::blackwell, Generation::other})
    for (double total = 1e9; total < 2e12; total *= 1.013) {
      const Channels c = search_channels(total, g);
      if (!(c.count >= 1 && c.count <= 32 && c.total() <= total * (1 + 1e-9) && c.total() > 0))
        FAIL_CHECK(name(g) << " " << total / 1e9 << " GB/s: " << c.count << " x " << c.rate / 1e9);
    }
}

TEST_CASE("the search takes the most that whole channels carry at speeds down to half the fastest that fits", "[price]") {
  struct Case {
    double total;
    Generation generation;
    int count;
    double rate;
    const char* because;
  };
  const Case cases[] = {
      {90e9, Generation::hopper, 3, 30e9, "half the speed of 60 still counts: 3 x 30 beats 2 x 40"},
      {47e9, Generation::ampere, 2, 20e9, "3 x 15 would carry 45, but 15 is below half of 40; one channel at 40 is run as two at 20"},
      {65e9, Generation::hopper, 1, 60e9, "2 x 30 carries no more: the faster speed stays"},
      {240e9, Generation::hopper, 4, 60e9, "four fast channels are not split on Hopper"},
      {300e9, Generation::hopper, 10, 30e9, "five are"},
      {250e9, Generation::hopper, 10, 25e9, "50 is fast enough to be split"},
      {16 * 60e9, Generation::hopper, 32, 30e9, "sixteen are split into what there can be"},
      {17 * 60e9, Generation::hopper, 17, 60e9, "seventeen are too many to be split"},
      {100 * 60e9, Generation::hopper, 32, 60e9, "never more than 32"},
      {30e9, Generation::ampere, 2, 15e9, "30 is fast enough to be split on Ampere, whatever the count"},
      {20e9, Generation::ampere, 1, 20e9, "20 is not"},
      {2e9, Generation::ampere, 1, 2e9, "less than the slowest speed is one channel"},
  };
  for (const Case& c : cases) {
    INFO(name(c.generation) << " " << c.total / 1e9 << " GB/s: " << c.because);
    const Channels found = search_channels(c.total, c.generation);
    CHECK(found.count == c.count);
    CHECK(found.rate == c.rate);
  }
}

TEST_CASE("in-switch channels use speeds that fit exactly, and share what is less than the slowest", "[price]") {
  CHECK(in_switch_channels(9 * 40e9, 8, Generation::hopper).rate == 40e9);
  CHECK(in_switch_channels(9 * 40e9 * (1 - 1e-9), 8, Generation::hopper).rate == 30e9);
  const Channels slow = in_switch_channels(9e9, 8, Generation::hopper);
  CHECK(slow.count == 8);
  CHECK(slow.rate == Approx(1e9));
}
