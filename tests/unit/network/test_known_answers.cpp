// Figures a person can work out on paper, from the shipped descriptions.
#include "catch.hpp"
#include "machines.hpp"

#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/predict.hpp>
#include "network/rings.hpp"

#include <set>

using namespace fabricost::plan;
using machines::alone;
using machines::first;
using machines::laid_out;

namespace {

/// Every ring visits all endpoints, and together they use no link more often than it exists.
void check_rings(const std::vector<std::vector<int>>& rings, const std::vector<Wire>& wires, std::size_t members) {
  std::map<std::pair<int, int>, double> left;
  for (const Wire& w : wires) left[{w.from, w.to}] += w.links;
  for (const std::vector<int>& ring : rings) {
    CHECK(std::set<int>(ring.begin(), ring.end()).size() == members);
    for (std::size_t i = 0; i < ring.size(); ++i) {
      double& here = left[{ring[i], ring[(i + 1) % ring.size()]}];
      here -= 1;
      CHECK(here >= 0);
    }
  }
}

}  // namespace

TEST_CASE("the hybrid cube mesh runs six rings, 150 GB/s one way; half of it three of four GPUs' links") {
  const Topology t = laid_out("dgx-1-v100");
  const auto rings = disjoint_rings(t, first(8));
  CHECK(rings.size() == 6);
  check_rings(rings, t.wires, 8);
  const double rate = alone(t, TrafficCounter{t}.count(Collective::all_reduce, Algorithm::ring, first(8))).rate;
  CHECK(rate * 1.75 == Approx(6 * 25e9));
  // GPUs 0 to 3 keep 4 of their 6 links (0: 1 + 1 + 2): four rings of 25
  const Traffic quad = TrafficCounter{t}.count(Collective::all_reduce, Algorithm::ring, first(4));
  CHECK(disjoint_rings(t, first(4)).size() == 4);
  CHECK(alone(t, quad).rate * 1.5 == Approx(4 * 25e9));
  // two linked GPUs: their links and no more
  const std::vector<int> pair{0, 3}, thin{0, 1};
  CHECK(alone(t, TrafficCounter{t}.count(Collective::all_reduce, Algorithm::ring, pair)).rate == Approx(50e9));
  CHECK(alone(t, TrafficCounter{t}.count(Collective::all_reduce, Algorithm::ring, thin)).rate == Approx(25e9));
}

TEST_CASE("the first cube mesh, of single links, runs as many rings as a GPU has links") {
  const Topology t = laid_out("dgx-1-p100");
  const auto rings = disjoint_rings(t, first(8));
  check_rings(rings, t.wires, 8);
  CHECK(rings.size() == 4);
  CHECK(alone(t, TrafficCounter{t}.count(Collective::all_reduce, Algorithm::ring, first(8))).rate * 1.75 == Approx(4 * 20e9));
}

TEST_CASE("a full mesh of eight runs a ring for each neighbour: all of a GPU's links") {
  const Topology t = laid_out("mi300x-8");
  const auto rings = disjoint_rings(t, first(8));
  check_rings(rings, t.wires, 8);
  CHECK(rings.size() == 7);
  CHECK(alone(t, TrafficCounter{t}.count(Collective::all_reduce, Algorithm::ring, first(8))).rate * 1.75 == Approx(448e9));
  // a pair has one link of 64 GB/s, whatever the GPU's 448 say
  CHECK(alone(t, TrafficCounter{t}.count(Collective::all_reduce, Algorithm::ring, first(2))).rate == Approx(64e9));
}

TEST_CASE("a chain of wires has no ring") {
  CHECK(disjoint_rings(3, {{0, 1, 1}, {1, 0, 1}, {1, 2, 1}, {2, 1, 1}}).empty());
  CHECK(disjoint_rings(1, {}).empty());
}

TEST_CASE("NVL72: 64.8 TB/s injected and 32.4 across the worst cut, one way; 130 is both directions of all GPUs added up") {
  const System system = load_system("gb200-nvl72");
  const Topology t = topology_of(system);
  double out = 0, in = 0, cut = 0;
  for (int gpu = 0; gpu < 72; ++gpu) {
    out += t.capacity(t.link(t.gpu_out, gpu));
    in += t.capacity(t.link(t.gpu_in, gpu));
  }
  CHECK(out == Approx(64.8e12));
  CHECK(out + in == Approx(129.6e12));  // "130 TB/s"
  // the cut by traffic: half of the GPUs send to the other half, each its whole rate
  for (int gpu = 0; gpu < 36; ++gpu) cut += t.capacity(route(t, gpu, gpu + 36)[0].link);
  CHECK(cut == Approx(32.4e12));
  CHECK(system.tier(TierRole::scale_up)->bisection().value() == Approx(cut));
  // an all-to-all moves half of everything across it: bisection / (72 / 4) x 71/72 of the exchange, as its NVLinks say
  const double rate = alone(t, TrafficCounter{t}.count(Collective::all_to_all, Algorithm::direct, first(72))).rate;
  CHECK(rate * 71 / 72 == Approx(cut / 36));
}

TEST_CASE("7:1 between pods: an all-to-all over two pods runs at a seventh of the pod's share, and predict says the same") {
  const System system = load_system("meta-24k-roce");
  const Topology t = topology_of(system, 768);
  const Traffic traffic = TrafficCounter{t}.count(Collective::all_to_all, Algorithm::direct, first(6144));
  const machines::Alone all = alone(t, traffic);
  CHECK(name_of(t, all.link) == "spine up-link of nodes 0 to 383 (7:1)");
  CHECK(all.rate == Approx(2 * 50e9 / 7));  // half of the data crosses a seventh of the NICs' rate
  const Fabric f = fabric_of(system, Operation{.collective = Collective::all_to_all, .ranks = 6144, .nodes = 768});
  CHECK(f.all_to_all_taper_tier == "spine");
  CHECK(f.outer_rate / 8 * f.all_to_all_taper / (1 - 8.0 / 6144) == Approx(all.rate));
  // inside one pod nothing is tapered
  const Topology pod = topology_of(system, 384);
  const machines::Alone inside = alone(pod, TrafficCounter{pod}.count(Collective::all_to_all, Algorithm::direct, first(3072)));
  CHECK(inside.rate * (1 - 8.0 / 3072) == Approx(50e9));
}

TEST_CASE("predict's shares of every tapered tier are what counting the traffic gives") {
  for (const auto& [name, nodes] : {std::pair{"meta-24k-roce", 3072}, {"frontier", 1280}, {"superpod-h100", 96}}) {
    const System system = load_system(name);
    const Topology t = topology_of(system, nodes);
    const int ranks = nodes * system.gpus_per_node;
    const machines::Alone all =
        alone(t, TrafficCounter{t, {.relay_on_rails = false}}.count(Collective::all_to_all, Algorithm::direct, first(ranks)));
    const Fabric f = fabric_of(system, Operation{.collective = Collective::all_to_all, .ranks = ranks, .nodes = nodes});
    INFO(name << ": " << name_of(t, all.link));
    const double g = system.gpus_per_node;
    CHECK(all.rate == Approx(f.outer_rate / g * std::min(1.0, f.all_to_all_taper) / (1 - g / ranks)).epsilon(1e-6));
  }
}

TEST_CASE("two GPUs below one x16 have half of it each towards the host") {
  const Topology t = laid_out("dgx-1-v100", 2, {"nic.path=phb"});
  // both of a pair send to the other node by their NIC, over the host bridge: 15.75 x payload, then 12.5 of the NIC, for two
  const std::vector<LinkUse> a = route(t, 0, 8), b = route(t, 1, 9);
  CHECK(a[1].link == b[1].link);
  CHECK(name_of(t, a[1].link) == "pcie port of GPUs 0 and 1 (up)");
  CHECK(t.capacity(a[1].link) == Approx(15.754e9 * load_system("dgx-1-v100").tier("pcie")->efficiency).epsilon(1e-3));
}
