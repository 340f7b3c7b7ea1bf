// Collectives at the same time: hand cases with the link named, and properties.
#include <fabricost/plan/network/until_end.hpp>

#include "catch.hpp"
#include "machines.hpp"
#include "support/message_of.hpp"

#include <fabricost/predict/predict.hpp>

using namespace fabricost::plan;
using machines::first;
using machines::laid_out;

namespace {

std::vector<ConcurrentCollective> rings(const std::vector<std::vector<int>>& groups, Collective c = Collective::all_reduce) {
  std::vector<ConcurrentCollective> out;
  for (std::size_t i = 0; i < groups.size(); ++i) out.push_back({.name = "ring " + std::to_string(i), .collective = c, .ranks = groups[i]});
  return out;
}

/// The link that limits collective `which`.
const ContendedLink& limit_of(const Contention& c, std::size_t which) {
  return c.links[static_cast<std::size_t>(c.outcomes[which].bottleneck)];
}

}  // namespace

TEST_CASE("data-parallel rings of all tensor-parallel ranks: free with a NIC each, halved where two GPUs share one") {
  const std::vector<std::vector<int>> groups = strided_groups(16, 2, 8);
  REQUIRE(groups.size() == 8);
  CHECK(groups[3] == std::vector<int>{3, 11});

  const Topology apart = laid_out("dgx-h100", 2);
  for (const ConcurrentOutcome& o : contention(apart, rings(groups)).outcomes) {
    CHECK(o.slow_down() == Approx(1));
    CHECK(o.alone == Approx(50e9));  // two ranks: 2 (n-1)/n = 1 S through the NIC
  }
  const Topology together = laid_out("dgx-1-v100", 2);
  const std::vector<ConcurrentCollective> all = rings(groups);
  const Contention c = contention(together, all);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(c.outcomes[i].slow_down() == Approx(2));
    CHECK(c.outcomes[i].shared == Approx(12.5e9 / 2));
  }
  const ContendedLink& link = limit_of(c, 3);
  CHECK(link.name == "nic 1 of node 0 (out)");
  CHECK(link.load == Approx(link.capacity));
  CHECK(link.sharers == std::vector<int>{2, 3});
}

TEST_CASE("two GPUs below one x16: alone each has it, together half") {
  const Topology t = laid_out("l40s-pcie", 0, {"tiers.pcie.peer_to_peer=false"});
  const std::vector<ConcurrentCollective> two{{.name = "first", .collective = Collective::send_recv, .ranks = {0, 2}},
                                              {.name = "second", .collective = Collective::send_recv, .ranks = {1, 4}}};
  const Contention c = contention(t, two);
  const double x16 = t.capacity(t.link(t.host_out, 0));
  CHECK(c.outcomes[0].alone == Approx(x16));
  CHECK(c.outcomes[0].slow_down() == Approx(2));
  CHECK(c.outcomes[1].slow_down() == Approx(2));
  CHECK(limit_of(c, 0).name == "pcie port of GPUs 0 and 1 (up)");
  CHECK(limit_of(c, 0).sharers == std::vector<int>{0, 1});
  // on ports of their own they do not meet
  const std::vector<ConcurrentCollective> apart{two[0], {.name = "second", .collective = Collective::send_recv, .ranks = {4, 6}}};
  CHECK(contention(t, apart).outcomes[0].slow_down() == Approx(1));
}

TEST_CASE("an all-reduce beside an all-to-all halves with it on NVLink, and gives way by weight") {
  const Topology t = laid_out("dgx-h100");
  std::vector<ConcurrentCollective> both{
      {.name = "gradients", .ranks = first(8)},
      {.name = "tokens", .collective = Collective::all_to_all, .algorithm = Algorithm::direct, .ranks = first(8)}};
  Contention c = contention(t, both);
  CHECK(c.outcomes[0].alone == Approx(450e9 / 1.75));
  CHECK(c.outcomes[1].alone == Approx(450e9 / 0.875));
  CHECK(c.outcomes[0].slow_down() == Approx(2));
  CHECK(c.outcomes[1].slow_down() == Approx(2));
  CHECK(limit_of(c, 1).name == "nvlink of GPU 0 (out)");
  CHECK(limit_of(c, 1).sharers == std::vector<int>{0, 1});
  both[0].weight = 3;
  c = contention(t, both);
  CHECK(c.outcomes[0].slow_down() == Approx(4.0 / 3));
  CHECK(c.outcomes[1].slow_down() == Approx(4));
}

TEST_CASE("one that is held up elsewhere leaves its part of the shared link to the other") {
  // with two NICs a node the ring over two nodes is held by them; the ring inside node 0 gets what it leaves of NVLink
  const Topology t = laid_out("dgx-h100", 2, {"nic.endpoints=2"});
  const std::vector<ConcurrentCollective> both{{.name = "across", .ranks = first(16)}, {.name = "inside", .ranks = first(8)}};
  const Contention c = contention(t, both);
  CHECK(c.outcomes[0].slow_down() == Approx(1));
  CHECK(limit_of(c, 0).name.substr(0, 3) == "nic");
  double max = 0;  // of the ring across on any NVLink of node 0
  const Traffic across = TrafficCounter{t}.count(Collective::all_reduce, Algorithm::ring, first(16));
  for (const LinkLoad& l : across.loads)
    if (l.link < t.link(t.gpu_out, 8)) max = std::max(max, l.bytes);
  CHECK(c.outcomes[1].shared == Approx((450e9 - max * c.outcomes[0].shared) / 1.75));
  CHECK(c.outcomes[1].slow_down() > 1.1);
}

TEST_CASE("8 senders to one NIC: an eighth of the port each") {
  const Topology t = laid_out("superpod-h100", 16);
  std::vector<ConcurrentCollective> senders;
  for (int node = 1; node <= 8; ++node)
    senders.push_back({.name = "node " + std::to_string(node), .collective = Collective::send_recv, .ranks = {8 * node, 0}});
  const Contention c = contention(t, senders);
  for (std::size_t i = 0; i < senders.size(); ++i) {
    CHECK(c.outcomes[i].shared == Approx(incast_rate(50e9, 8, 50e9)));
    CHECK(limit_of(c, i).name == "nic 0 of node 0 (in)");
  }
  CHECK(limit_of(c, 0).sharers.size() == 8);
}

TEST_CASE("hashing slows rings that cross a spine by the expected collisions, spreading does not") {
  // two racks of 2 nodes below tapered switches: 16 rings leave a rack over its 16 links
  const Topology t = laid_out("meta-24k-roce", 4);
  const std::vector<ConcurrentCollective> all = rings(strided_groups(32, 2, 16));
  REQUIRE(all.size() == 16);
  const Contention even = contention(t, all), hashed = contention(t, all, {.balancing = Balancing::hashed});
  const double expected = expected_max_load(16, 16);
  CHECK(expected > 2.5);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(even.outcomes[i].shared == Approx(50e9));
    CHECK(hashed.outcomes[i].shared == Approx(50e9 / expected));
  }
}

TEST_CASE("fewer or more hashed flows than links wait for the fullest link alike") {
  const Topology t = laid_out("meta-24k-roce", 4);  // 16 links out of a rack
  const std::vector<ConcurrentCollective> once = rings(strided_groups(32, 2, 16));
  const std::vector<ConcurrentCollective> few(once.begin(), once.begin() + 8);
  std::vector<ConcurrentCollective> many = once;
  many.insert(many.end(), once.begin(), once.end());
  for (const auto& [all, flows] : {std::pair{few, 8.0}, {many, 32.0}}) {
    INFO(flows << " flows");
    const Contention even = contention(t, all), hashed = contention(t, all, {.balancing = Balancing::hashed});
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(hashed.outcomes[i].shared == Approx(50e9 / expected_max_load(flows, 16)));
      CHECK(even.outcomes[i].shared / hashed.outcomes[i].shared == Approx(expected_max_load(flows, 16) / std::max(1.0, flows / 16)));
    }
  }
}

TEST_CASE("concurrency properties on random groups: never faster than alone, order does not matter, no link above its capacity") {
  std::mt19937 random{11};
  for (const std::string name : {"superpod-h100", "dgx-1-v100", "mi300x-8", "meta-24k-roce", "frontier"}) {
    const Topology t = laid_out(name, name == "superpod-h100" ? 64 : name == "dgx-1-v100" || name == "mi300x-8" ? 4 : 800);
    for (int round = 0; round < 8; ++round) {
      std::vector<ConcurrentCollective> all;
      for (int c = 0; c < 6; ++c) {
        std::vector<int> pool = first(t.gpus());
        std::shuffle(pool.begin(), pool.end(), random);
        pool.resize(2 + random() % 7);
        std::sort(pool.begin(), pool.end());
        const bool exchange = random() % 3 == 0;
        all.push_back({.collective = exchange ? Collective::all_to_all : Collective::all_reduce,
                       .algorithm = exchange            ? Algorithm::direct
                                    : random() % 2 == 0 ? Algorithm::tree
                                                        : Algorithm::ring,
                       .ranks = pool});
      }
      const Contention c = contention(t, all);
      for (const ContendedLink& link : c.links) {
        REQUIRE(link.load <= link.capacity * (1 + 1e-9));
        REQUIRE(link.load == Approx(link.capacity));
      }
      std::vector<ConcurrentCollective> turned(all.rbegin(), all.rend());
      const Contention r = contention(t, turned);
      for (std::size_t i = 0; i < all.size(); ++i) {
        REQUIRE(c.outcomes[i].slow_down() >= 1);
        REQUIRE(r.outcomes[all.size() - 1 - i].shared == Approx(c.outcomes[i].shared));
        const Contention only = contention(t, std::span{&all[i], 1});
        REQUIRE(only.outcomes[0].shared == Approx(c.outcomes[i].alone));
      }
    }
  }
}

TEST_CASE("only the transfer of a prediction is slowed down") {
  const System system = load_system("dgx-h100");
  const Prediction large = predict(system, AllReduce{.bytes = units::GiB(1)}), little = predict(system, AllReduce{.bytes = units::B(8)});
  CHECK(contended_time(large, 1) == large.seconds);
  CHECK(contended_time(large, 2) / large.seconds == Approx(2).epsilon(0.05));
  CHECK(contended_time(little, 2) / little.seconds < 1.05);
}
