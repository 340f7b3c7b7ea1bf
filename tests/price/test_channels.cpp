#include <fabricost/price/channels.hpp>

#include "../catch.hpp"

using namespace fabricost;

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
