/// Questions without sense, which the reader of files and the command refuse, are refused of values that a program fills in.

#include "catch.hpp"
#include "support/systems.hpp"

#include <fabricost/predict/predict.hpp>

namespace {

using namespace fabricost::core;
using Catch::Contains;

const Operation some = AllReduce{.bytes = Bytes::from_value(1e6)};

TEST_CASE("a System without tiers has no price") {
  CHECK_THROWS_WITH(predict(System{}, some), Contains("describes no tiers"));
  CHECK_THROWS_WITH(compile(System{}, some), Contains("describes no tiers"));
  CHECK_THROWS_WITH(check(System{}), Contains("describes no tiers"));
  System named;
  named.name = "mine";
  CHECK_THROWS_WITH(predict(named, some), Contains("mine: describes no tiers"));
}

TEST_CASE("a rate in another unit is refused, whichever link has it") {
  for (const double rate : {4.5e17, 1.1e15})
    for (const TierRole role : {TierRole::scale_up, TierRole::nic}) {
      System box = systems::hopper_box();
      for (Tier& tier : box.tiers)
        if (tier.role == role) tier.bandwidth.value = Bandwidth::from_value(rate);
      Operation across = some;
      across.nodes = role == TierRole::nic ? 2 : 1;
      INFO(name(role));
      CHECK_THROWS_WITH(predict(box, across), Contains("10^15"));
    }
}

TEST_CASE("a link without a rate is named") {
  System box = systems::hopper_box();
  for (Tier& tier : box.tiers)
    if (tier.role == TierRole::scale_up) tier.bandwidth.value = {};
  CHECK_THROWS_WITH(predict(box, some), Contains("bandwidth is 0"));
}

TEST_CASE("a size that was not given is asked for, and one of zero is the latency") {
  const System box = systems::hopper_box();
  CHECK_THROWS_WITH(predict(box, AllReduce{}), Contains("how much?"));
  CHECK_THROWS_WITH(predict(box, SendRecv{}), Contains("how much?"));
  CHECK(predict(box, AllReduce{.bytes = Bytes::from_value(0)}).seconds > 0);
  CHECK(compile(box, AllReduce{}).seconds(1e6) == Approx(predict(box, some).seconds));
}

TEST_CASE("a message between nodes is of the communicator of all their GPUs, as the command has it, one inside a node of two") {
  const Operation across = SendRecv{.path = Path::nic}, pair = SendRecv{.path = Path::nic, .ranks = 2}, inside = SendRecv{};
  CHECK(across.ranks == 0);
  CHECK(pair.ranks == 2);
  CHECK(inside.ranks == 2);
  const System box = systems::hopper_box();
  const Bytes size = Bytes::from_value(1e6);
  CHECK(predict(box, SendRecv{.bytes = size, .path = Path::nic}).seconds ==
        predict(box, SendRecv{.bytes = size, .path = Path::nic, .ranks = 16}).seconds);
}

}  // namespace
