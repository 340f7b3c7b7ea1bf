// Routes of messages: hand-drawn ways on shipped machines, and properties of every way on every machine.
#include "machines.hpp"

#include <fabricost/answers/predict.hpp>
#include <fabricost/explain/explain.hpp>
#include <fabricost/hardware/design_parameters.hpp>
#include <fabricost/plan/network/load_store.hpp>
#include <fabricost/plan/network/topology_of.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include "support/message_of.hpp"

#include "catch.hpp"

#include <map>
#include <set>

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

TEST_CASE("the hybrid cube mesh uses its wires, over a third GPU where two have none, and the host where none lead there") {
  const Topology t = laid_out("dgx-1-v100");
  CHECK(way(t, 0, 3) == Names{"nvlink from GPU 0 to GPU 3"});
  CHECK(t.capacity(route(t, 0, 3)[0].link) == 50e9);  // a double link
  CHECK(t.capacity(route(t, 0, 1)[0].link) == 25e9);
  const std::vector<LinkUse> over = route(t, 0, 5);
  CHECK(over.size() == 4);
  std::map<std::string, double> shares;
  for (const LinkUse& use : over) shares[name_of(t, use.link)] = use.share;
  CHECK(shares["nvlink from GPU 0 to GPU 1"] == Approx(0.5));  // 1 x 2 ways by GPU 1, 2 x 1 by GPU 4
  CHECK(shares["nvlink from GPU 4 to GPU 5"] == Approx(0.5));
  System apart = load_system("dgx-1-v100");
  for (Tier& tier : apart.tiers) std::erase_if(tier.edges, [](const Edge& e) { return e.from < 4 && e.to >= 4; });
  CHECK(way(topology_of(apart, 1), 0, 5) ==
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
  CHECK(without.size() == 10);
  CHECK(without[3] == "host memory of node 0");
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
  const LinkUse minimal = of({.adaptive = false}), adaptive = of({});
  CHECK(name_of(t, minimal.link) == "core wires from group 0 to 1");
  CHECK(t.capacity(adaptive.link) == Approx(128 * 4 * 25e9 / 1.75));
  CHECK(t.capacity(minimal.link) == Approx(128 * 4 * 25e9 / 1.75 / 73));  // 4.0 links, as the machine has
  CHECK(t.capacity(minimal.link) / 25e9 == Approx(4).epsilon(0.01));
  CHECK(adaptive.share == 1);
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

// From a GPU to the network: the least rate along the way.

namespace {

Fabric across(const System& s, int ranks = 0, int nodes = 4) {
  return fabric_of(s, Operation{.collective = Collective::all_gather, .ranks = ranks, .nodes = nodes});
}

}  // namespace

TEST_CASE("a NIC sends no faster than the slot it sits in") {
  const System before = load_system("dgx-a100"), s = load_system("dgx-a100", std::vector<std::string>{"nic.link=infiniband-xdr"});
  const Tier* pcie = s.tier("pcie");
  const double slot = pcie->bandwidth.value.value() * pcie->efficiency;
  CHECK(slot == Approx(31.508e9 * 256 / 280).epsilon(1e-4));
  CHECK(across(before).outer_rate == Approx(8 * 25e9));
  CHECK(across(before).nic_limit_tier.empty());
  CHECK(across(s).outer_rate == Approx(8 * slot));
  CHECK(across(s, 4).outer_rate == Approx(slot));  // a GPU of each node
  CHECK(across(s).nic_limit_tier == "pcie");
  for (const Collective op : {Collective::all_gather, Collective::all_to_all}) {
    const Prediction p = predict(s, Operation{.collective = op, .bytes = units::GiB(4), .nodes = 4});
    CHECK(p.bus_bandwidth().value() <= (op == Collective::all_gather ? 8 : 31.0 / 24) * slot);
  }
  const Operation exchange{.collective = Collective::all_to_all, .bytes = units::GiB(4), .nodes = 4};
  CHECK(predict(s, exchange).bottleneck().tier == "pcie");
  CHECK(support::contains(explain(s, exchange), "The 8 NICs of a domain could send 800 GB/s one way"));
  // one message, and the share of collectives at once
  CHECK(rdma_line(s).rate == Approx(slot));
  const Topology t = topology_of(s, 4);
  CHECK(t.capacity(t.link(t.nic_out, 0)) == Approx(slot));
}

TEST_CASE("a wider slot helps no further than the GPU's own link, a NIC of the package needs neither") {
  const auto with = [](const std::string& slot) {
    return across(load_system("dgx-a100", std::vector<std::string>{"nic.link=infiniband-xdr", "nic.slot=" + slot}));
  };
  const double own = 31.508e9 * 256 / 280;
  CHECK(with("pcie-6").outer_rate == Approx(8 * own).epsilon(1e-4));
  CHECK(with("pcie-3").outer_rate == Approx(8 * own / 2).epsilon(1e-3));
  CHECK(with("none").outer_rate == Approx(8 * 100e9));
  CHECK(with("none").nic_limit_tier.empty());
}

TEST_CASE("beyond the PCIe switch NICs share the ports to the processor, and C2C is a link as any") {
  const std::vector<std::string> far{"nic.link=infiniband-hdr", "nic.path=phb"};
  // two GPUs of a DGX A100 share a port
  CHECK(across(load_system("dgx-a100", far)).outer_rate == Approx(4 * 31.508e9 * 256 / 280).epsilon(1e-4));
  CHECK(across(load_system("dgx-a100", far)).nic_limit_tier == "pcie");
  const System grace = load_system("alps-gh200", std::vector<std::string>{"c2c.bandwidth=20 GB/s per direction", "c2c.links=1"});
  CHECK(across(grace).outer_rate == Approx(4 * 20e9 * grace.tier("c2c")->efficiency));
  CHECK(across(grace).nic_limit_tier == "c2c");
}

TEST_CASE("of the shipped machines only those whose NICs exceed their slots are held by them") {
  std::set<std::string> held;
  for (const SystemName& listed : system_names()) {
    const std::string name = listed.name;
    const System s = load_system(name);
    if (s.tier(TierRole::nic) == nullptr) continue;
    try {
      const int nodes = static_cast<int>(2 * std::max(1.0, s.nodes_per_domain()));
      if (!across(s, 0, nodes).nic_limit_tier.empty()) held.insert(name);
    } catch (const RequestError&) {
      continue;  // a machine without NICs for so many
    }
  }
  CHECK(held == std::set<std::string>{"l40s-aiconfigurator", "l40s-pcie", "ualink-pod"});
}

// Rates of the switches above the NICs: slower ports, NICs that one node has lost, exchanges between rails, a job that is
// smaller than the machine.

namespace {

System with(const std::string& name, std::vector<std::string> overrides) { return load_system(name, overrides); }

Fabric exchange_on(const System& s, int nodes) {
  return fabric_of(s, Operation{.collective = Collective::all_to_all, .nodes = nodes});
}

PredictRequest exchange_of(std::vector<std::string> overrides, int nodes) {
  PredictRequest r;
  r.operation = Collective::all_to_all;
  r.system.name = "superpod-h100";
  r.overrides = std::move(overrides);
  r.nodes = nodes;
  r.bytes = units::GiB(4);
  return r;
}

}  // namespace

TEST_CASE("NICs send no faster than the ports of the leaf they are joined to") {
  const System slow = with("superpod-h100", {"tiers.leaf.link=infiniband-hdr"});
  const Fabric f = exchange_on(slow, 4);
  CHECK(f.outer_rate == Approx(8 * 25e9));
  CHECK(f.nic_limit_tier == "leaf");
  const Topology t = topology_of(slow, 4);
  CHECK(t.capacity(t.link(t.nic_out, 0)) == Approx(25e9));
  CHECK(exchange_on(with("superpod-h100", {"tiers.leaf.link=infiniband-xdr"}), 4).outer_rate == Approx(8 * 50e9));
}

TEST_CASE("a spine of slower ports takes in as much less as they are slower, and the parameter of NICs turns them too") {
  const System even = load_system("superpod-h100"), slow = with("superpod-h100", {"tiers.spine.link=infiniband-hdr"});
  const int nodes = 2 * even.tier("leaf")->endpoints;
  const Fabric f = exchange_on(slow, nodes);
  const double N = nodes, m = nodes / 2.0;
  CHECK(f.all_to_all_taper == Approx((1 - 1 / N) / (2 * (1 - m / N))).epsilon(1e-9));
  CHECK(f.all_to_all_taper_tier == "leaf");
  CHECK(f.all_to_all_taper < exchange_on(even, nodes).all_to_all_taper);
  const Topology a = topology_of(even, nodes), b = topology_of(slow, nodes);
  const int up = a.levels.back().up;
  REQUIRE(up >= 0);
  CHECK(b.capacity(b.link(b.levels.back().up, 0)) == Approx(a.capacity(a.link(up, 0)) / 2));
  CHECK(exchange_on(with_parameter(even, DesignParameter::nic_bandwidth, 100e9), nodes).outer_rate == Approx(8 * 100e9));
  CHECK(with_parameter(even, DesignParameter::nic_bandwidth, 100e9).tier("spine")->bandwidth.value.value() == Approx(100e9));
}

TEST_CASE("the NICs that one node has lost take no uplinks from the others") {
  const int nodes = 2 * load_system("superpod-h100").tier("leaf")->endpoints;
  const std::vector<std::string> tapered{"leaf.oversubscription=4"};
  PredictRequest r = exchange_of(tapered, nodes);
  const double whole = answer(r).seconds;
  r.lost_rails = 4;  // half of the NICs still carry more than a quarter
  CHECK(answer(r).seconds == Approx(whole).epsilon(0.02));
  r.overrides.clear();
  r.lost_rails = 0;
  const double full = answer(r).seconds;
  r.lost_rails = 4;
  CHECK(answer(r).seconds == Approx(2 * full).epsilon(0.05));
}

TEST_CASE("without PXN exchanges between rails cross the uplinks below one leaf") {
  const int nodes = load_system("superpod-h100").tier("leaf")->endpoints / 2;
  const auto seconds = [&](const char* taper, bool pxn) {
    PredictRequest r = exchange_of({std::string{"leaf.oversubscription="} + taper}, nodes);
    r.pxn = pxn;
    return answer(r).seconds;
  };
  CHECK(seconds("8", true) == Approx(seconds("1", true)).epsilon(1e-9));
  // all but an eighth of 4 GiB of each of 8 GPUs, over 8 NICs' uplinks of 50/8 GB/s
  const double least = (1 - 1.0 / nodes) * 0.875 * 4 * (1ULL << 30) / (50e9 / 8);
  CHECK(seconds("8", false) > least);
  CHECK(seconds("8", false) < 1.4 * least);
}

TEST_CASE("links between two groups of a dragonfly are as many for a small job as for the whole machine") {
  const System s = load_system("frontier");
  const auto pair = [&](int nodes) {
    const Topology t = topology_of(s, nodes);
    return t.capacity(t.link(t.levels.back().pairs, 1));
  };
  CHECK(pair(1024) == Approx(pair(s.nodes)));
  CHECK(pair(2048) == Approx(pair(s.nodes)));
}

TEST_CASE("two neighbours of a torus have one link between them unless their axis closes over two") {
  const auto rate = [](const System& s) {
    return fabric_on(s, Operation{.collective = Collective::all_reduce, .ranks = 2}, Levels{2}).inner_rate;
  };
  const System cube = load_system("tpu-v4-cube");
  const Tier& ici = *cube.tier(TierRole::scale_up);
  CHECK(rate(cube) == Approx(ici.bandwidth.value.value() / ici.links));
}
