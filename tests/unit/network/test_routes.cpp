// Routes of messages: hand-drawn ways on shipped machines, and properties of every way on every machine.
#include "catch.hpp"
#include "support/message_of.hpp"
#include "machines.hpp"

using namespace fabricost::plan;
using machines::laid_out;
using machines::way;
using Names = std::vector<std::string>;

TEST_CASE("GPUs of a switched domain meet in its switches") {
  const Topology t = laid_out("dgx-h100");
  CHECK(way(t, 2, 5) == Names{"nvlink of GPU 2 (out)", "nvlink of GPU 5 (in)"});
  CHECK(t.capacity(t.link(t.gpu_out, 2)) == 450e9);
  CHECK(way(t, 2, 2).empty());
}

TEST_CASE("the hybrid cube mesh uses its wires, and the host where there is none") {
  const Topology t = laid_out("dgx-1-v100");
  CHECK(way(t, 0, 3) == Names{"nvlink from GPU 0 to GPU 3"});
  CHECK(t.capacity(route(t, 0, 3)[0].link) == 50e9);  // a double link
  CHECK(t.capacity(route(t, 0, 1)[0].link) == 25e9);
  CHECK(way(t, 0, 5) ==
        Names{"pcie of GPU 0 (up)", "pcie port of GPUs 0 and 1 (up)", "pcie of GPU 5 (down)", "pcie port of GPUs 4 and 5 (down)"});
}

TEST_CASE("a torus goes the shorter way round, dimension by dimension, both ways when it is equally far") {
  const Topology t = laid_out("tpu-v5p-cube");
  CHECK(way(t, 0, 1) == Names{"ici of GPU 0 (+x)"});
  CHECK(way(t, 0, 3) == Names{"ici of GPU 0 (-x)"});
  CHECK(way(t, 0, 5) == Names{"ici of GPU 0 (+x)", "ici of GPU 1 (+y)"});
  const std::vector<LinkUse> across = route(t, 0, 2);
  CHECK(across.size() == 4);
  for (const LinkUse& use : across) CHECK(use.share == 0.5);
  const auto distance = [](int a, int b) {
    const int d = std::abs(a - b);
    return std::min(d, 4 - d);
  };
  for (int a = 0; a < 64; ++a)
    for (int b = 0; b < 64; ++b) {
      double hops = 0;
      for (const LinkUse& use : route(t, a, b)) hops += use.share;
      REQUIRE(hops == Approx(distance(a % 4, b % 4) + distance(a / 4 % 4, b / 4 % 4) + distance(a / 16, b / 16)).margin(1e-12));
    }
}

TEST_CASE("a torus without wrap-around walks, it never jumps") {
  const Topology t = laid_out("tpu-v5p-cube", 0, {"tiers.ici.wrap=false"});
  CHECK(way(t, 0, 3) == Names{"ici of GPU 0 (+x)", "ici of GPU 1 (+x)", "ici of GPU 2 (+x)"});
}

TEST_CASE("PCIe peers meet below their switch, without peer access in host memory") {
  const Names staged{"pcie of GPU 0 (up)", "pcie port of GPUs 0 and 1 (up)", "pcie of GPU 1 (down)", "pcie port of GPUs 0 and 1 (down)"};
  CHECK(way(laid_out("l40s-pcie", 0, {"tiers.pcie.peer_to_peer=false"}), 0, 1) == staged);
  const Topology peers = laid_out("l40s-pcie", 0, {"tiers.pcie.peer_to_peer=true"});
  CHECK(way(peers, 0, 1) == Names{"pcie of GPU 0 (up)", "pcie of GPU 1 (down)"});
  CHECK(way(peers, 0, 2).size() == 4);
}

TEST_CASE("to another node: PCIe, NIC, NIC, PCIe; on rails by way of the GPU on the receiver's rail") {
  const Topology t = laid_out("superpod-h100", 64);
  const Names direct{"pcie of GPU 3 (up)", "nic 3 of node 0 (out)", "pcie of GPU 11 (down)", "nic 3 of node 1 (in)"};
  CHECK(way(t, 3, 11) == direct);
  const Names relayed = way(t, 3, 12);
  REQUIRE(relayed.size() == 6);
  CHECK(relayed[0] == "nvlink of GPU 3 (out)");
  CHECK(relayed[1] == "nvlink of GPU 4 (in)");
  CHECK(relayed[3] == "nic 4 of node 0 (out)");
  CHECK(way(t, 3, 12, {.relay_on_rails = false})[1] == "nic 3 of node 0 (out)");
  // node 0 and node 40 sit in two scalable units of 32: over the spine, on rail 3
  const Names far = way(t, 3, 40 * 8 + 3);
  CHECK(far[2] == "leaf up-link of rail 3, nodes 0 to 31");
  CHECK(far[3] == "leaf down-link of rail 3, nodes 32 to 63");
}

TEST_CASE("without GPUDirect a message turns in host memory and passes the shared port") {
  const Names with = way(laid_out("dgx-a100", 2), 0, 8), without = way(laid_out("dgx-a100", 2, {"nic.gdr=false"}), 0, 8);
  CHECK(with.size() == 4);
  CHECK(without.size() == 8);
  CHECK(without[1] == "pcie port of GPUs 0 and 1 (up)");
  CHECK(without[2] == "pcie port of GPUs 0 and 1 (down)");
}

TEST_CASE("GPUs without a NIC of their own share one, GPUs with several spread over theirs") {
  const Topology few = laid_out("dgx-1-v100", 2);
  CHECK(way(few, 0, 8)[1] == "nic 0 of node 0 (out)");
  CHECK(way(few, 1, 9)[1] == "nic 0 of node 0 (out)");
  CHECK(way(few, 2, 10)[1] == "nic 1 of node 0 (out)");
  const Topology many = laid_out("aws-p5", 2);
  double share = 0;
  int nics = 0;
  for (const LinkUse& use : route(many, 1, 9))
    if (many.block_of(use.link).kind == LinkKind::nic_out) {
      share += use.share;
      ++nics;
    }
  CHECK(nics == 4);
  CHECK(share == Approx(1));
}

TEST_CASE("a tapered tier is crossed only by those on both sides of it, and says its taper") {
  const Topology t = laid_out("meta-24k-roce");
  const int pod = 384 * 8;
  CHECK(way(t, 0, pod - 8).size() == 6);  // inside a pod: NICs and the racks' links
  const Names far = way(t, 0, pod);
  CHECK(far.size() == 8);
  CHECK(far[4] == "spine up-link of nodes 0 to 383 (7:1)");
  CHECK(t.capacity(route(t, 0, pod)[4].link) == Approx(384 * 8 * 50e9 / 7));
}

TEST_CASE("a dragonfly sends over one wire between two groups, or adaptively over all of a group's") {
  const Topology t = laid_out("frontier");
  const int group = 128 * 8;
  const auto of = [&](const RouteOptions& options) {
    for (const LinkUse& use : route(t, 0, group, options))
      if (const LinkBlock& b = t.block_of(use.link); b.kind == LinkKind::groups || (b.kind == LinkKind::tier_up && b.tier == "spine"))
        return use;
    return LinkUse{-1, 0};
  };
  const LinkUse minimal = of({.adaptive = false}), adaptive = of({}), detoured = of({.detoured = 1});
  CHECK(name_of(t, minimal.link) == "core wires from group 0 to 1");
  CHECK(t.capacity(adaptive.link) == Approx(128 * 4 * 25e9 / 1.75));
  CHECK(t.capacity(minimal.link) == Approx(128 * 4 * 25e9 / 1.75 / 73));  // 4.0 links, as the machine has
  CHECK(t.capacity(minimal.link) / 25e9 == Approx(4).epsilon(0.01));
  CHECK(adaptive.share == 1);
  CHECK(detoured.share == 2);
}

TEST_CASE("on every shipped machine every way starts at the sender, ends at the receiver and loses nothing") {
  std::mt19937 random{3};
  for (const SystemName& s : system_names()) {
    INFO(s.name);
    const System system = load_system(s.name);
    if (system.tier(TierRole::nic) == nullptr && system.domain < 2) continue;
    const Topology t = topology_of(system);
    for (int i = 0; i < 50; ++i) {
      const int a = static_cast<int>(random() % static_cast<unsigned>(t.gpus())),
                b = static_cast<int>(random() % static_cast<unsigned>(t.gpus()));
      if (a == b || (t.domain_of(a) != t.domain_of(b) && t.nic_out < 0)) continue;
      std::map<LinkKind, double> through;
      for (const LinkUse& use : route(t, a, b)) {
        REQUIRE(use.link >= 0);
        REQUIRE(use.link < t.links());
        REQUIRE(t.capacity(use.link) > 0);
        REQUIRE(use.share > 0);
        REQUIRE_FALSE(name_of(t, use.link).empty());
        through[t.block_of(use.link).kind] += use.share;
      }
      REQUIRE_FALSE(through.empty());
      REQUIRE(through[LinkKind::gpu_out] == Approx(through[LinkKind::gpu_in]).margin(1e-9));
      REQUIRE(through[LinkKind::nic_out] == Approx(t.domain_of(a) != t.domain_of(b) ? 1.0 : 0.0).margin(1e-9));
      REQUIRE(through[LinkKind::nic_in] == Approx(through[LinkKind::nic_out]).margin(1e-9));
      REQUIRE(through[LinkKind::tier_up] == Approx(through[LinkKind::tier_down]).margin(1e-9));
    }
  }
}

TEST_CASE("a way that is not there is refused with the machine and the GPU") {
  const Topology t = laid_out("dgx-h100");
  CHECK(support::contains(support::message_of([&] { return route(t, 0, 8); }), "dgx-h100: GPU 8 of 0 to 7"));
  CHECK(support::contains(support::message_of([&] { return route(t, -1, 0); }), "GPU -1"));
  CHECK(support::contains(support::message_of([] { return topology_of(load_system("dgx-h100"), -2); }), "must not be negative"));
  CHECK(support::contains(support::message_of([] { return topology_of(load_system("dgx-h100"), 900000000); }), "ask for fewer"));
}
