// Rates of the switches above the NICs: slower ports, NICs that one node has lost, exchanges between rails, a job that is
// smaller than the machine.
#include <fabricost/answers/predict.hpp>
#include <fabricost/hardware/dials.hpp>
#include <fabricost/plan/network/topology_of.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

using namespace fabricost::plan;

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

TEST_CASE("a spine of slower ports takes in as much less as they are slower, and the dial of NICs turns them too") {
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
  CHECK(exchange_on(with_dial(even, Dial::nic_bandwidth, 100e9), nodes).outer_rate == Approx(8 * 100e9));
  CHECK(with_dial(even, Dial::nic_bandwidth, 100e9).tier("spine")->bandwidth.value.value() == Approx(100e9));
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
