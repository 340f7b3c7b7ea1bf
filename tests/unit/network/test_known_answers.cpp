// Figures a person can work out on paper, from the shipped descriptions.
#include "machines.hpp"
#include "network/rings.hpp"

#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/price/lower_bound.hpp>
#include <fabricost/specs/load.hpp>
#include <numeric>

#include "support/message_of.hpp"

#include "catch.hpp"

#include <map>
#include <set>

using namespace fabricost::plan;
using machines::alone;
using machines::first;
using machines::laid_out;
using machines::carried;

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

// A scale-up switch in two stages: DGX-2's boards and their trunks, and a domain of 576 GPUs in racks whose second stage is narrower.

namespace {

/// Eight racks of 72 in one domain, second stage tapered.
System racks(const std::string& taper) {
  const std::vector<std::string> set{"domain=576",
                                     "nodes=144",
                                     "tiers.nvlink.endpoints=576",
                                     "tiers.nvlink.switches=432",
                                     "tiers.nvlink.first_stage=72",
                                     "tiers.nvlink.oversubscription=" + taper};
  return load_system("gb200-nvl72", set);
}

}  // namespace

TEST_CASE("the boards of a DGX-2 meet on 48 trunk links: 1.2 TB/s one way") {
  const Topology t = machines::laid_out("dgx-2");
  REQUIRE(t.trunk_up >= 0);
  CHECK(t.blocks[static_cast<std::size_t>(t.trunk_up)].count == 2);
  CHECK(t.capacity(t.link(t.trunk_up, 0)) == Approx(1.2e12));
  CHECK(machines::way(t, 0, 7) == std::vector<std::string>{"nvlink of GPU 0 (out)", "nvlink of GPU 7 (in)"});
  CHECK(machines::way(t, 0, 8) == std::vector<std::string>{"nvlink of GPU 0 (out)", "nvlink trunk of GPUs 0 to 7 (up)",
                                                           "nvlink trunk of GPUs 8 to 15 (down)", "nvlink of GPU 8 (in)"});
  // as wide as the links: nothing is slower than without
  const Traffic exchange = TrafficCounter{t}.count(Collective::all_to_all, Algorithm::direct, first(16));
  CHECK(machines::alone(t, exchange).rate == Approx(150e9 / (15.0 / 16)));
}

TEST_CASE("trunks carry what every message one by one puts on them") {
  const System system = racks("2");
  const Topology t = topology_of(system, 144);
  REQUIRE(t.blocks[static_cast<std::size_t>(t.trunk_up)].count == 8);
  CHECK(t.capacity(t.link(t.trunk_up, 3)) == Approx(72 * 900e9 / 2));
  CHECK(name_of(t, t.link(t.trunk_down, 7)) == "nvlink trunk of GPUs 504 to 575 (down)");
  for (const std::vector<int>& ranks : {first(576), first(100), std::vector<int>{0, 71, 72, 150, 575}})
    machines::check_exchange_one_by_one(t, ranks);
}

TEST_CASE("switches that add send a trunk one copy up and one down") {
  const Topology t = topology_of(racks("2"), 144);
  TrafficCounter counter{t};
  for (const Collective c : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
    const Traffic traffic = counter.count(c, Algorithm::nvls, first(576));
    const double own = 72.0 / 576;
    CHECK(carried(t, traffic, LinkKind::trunk_up) / 8 == Approx(c == Collective::all_reduce   ? 1
                                                                : c == Collective::all_gather ? own
                                                                                              : 1 - own));
    CHECK(carried(t, traffic, LinkKind::trunk_down) / 8 == Approx(c == Collective::all_reduce   ? 1
                                                                  : c == Collective::all_gather ? 1 - own
                                                                                                : own));
  }
}

TEST_CASE("a tapered second stage slows an all_to_all by its links, a ring not at all") {
  const auto exchange_rate = [](const std::string& taper) {
    const System system = racks(taper);
    const Topology t = topology_of(system, 144);
    return machines::alone(t, TrafficCounter{t}.count(Collective::all_to_all, Algorithm::direct, first(576))).rate;
  };
  CHECK(exchange_rate("2") == Approx(72 * 900e9 / 2 / (72.0 * 504 / 576)));  // each of 72 sends 504/576 of its data out
  const auto wire = [](const std::string& taper, Collective c, Algorithm a) {
    const Prediction p = predict(racks(taper), Operation{.collective = c, .bytes = units::GiB(16), .nodes = 144},
                                 {.algorithm = a, .protocol = Protocol::simple});
    double out = 0;
    for (const Term& term : p.terms) out += term.name == name(TermKind::wire) ? term.time.value() : 0;
    return out;
  };
  const double ratio = exchange_rate("1") / exchange_rate("4");
  CHECK(wire("4", Collective::all_to_all, Algorithm::direct) / wire("1", Collective::all_to_all, Algorithm::direct) ==
        Approx(ratio).epsilon(0.02));
  CHECK(wire("4", Collective::all_reduce, Algorithm::ring) == Approx(wire("1", Collective::all_reduce, Algorithm::ring)));
}

// Shipped machines: where an interval begins, against bytes over datasheet rates worked out here.

TEST_CASE("the least time of a ring or an exchange is what its routes put on the fullest link") {
  using machines::alone;
  for (const auto& [name, nodes] : {std::pair{"dgx-h100", 4}, {"superpod-h100", 64}, {"meta-24k-roce", 768}, {"dgx-a100", 2}})
    for (const auto& [op, algorithm] : {std::pair{Collective::all_to_all, Algorithm::direct}, {Collective::all_gather, Algorithm::ring}}) {
      const System system = load_system(name);
      const Topology t = topology_of(system, nodes);
      std::vector<int> all;
      for (int i = 0; i < nodes * system.gpus_per_node; ++i) all.push_back(i);
      const Fabric f = fabric_of(system, Operation{.collective = op, .nodes = nodes});
      const double counted = 1 / alone(t, TrafficCounter{t, {.relay_on_rails = false}}.count(op, algorithm, all)).rate;
      INFO(name << " " << fabricost::core::name(op));
      CHECK(min_per_byte(schedule_of(algorithm, op, f), f) == Approx(counted).epsilon(0.01));
    }
}

TEST_CASE("an exchange on a mesh takes at least what its messages put on the busiest edge, and what its bisection carries") {
  for (const char* name : {"dgx-1-v100", "dgx-1-p100", "mi250x-16gcd", "frontier"}) {
    System system = load_system(name);
    for (int dropped = 0; dropped < 2; ++dropped) {
      INFO(name << ", edges dropped: " << dropped);
      Tier& mesh = *std::find_if(system.tiers.begin(), system.tiers.end(), [](const Tier& t) { return t.role == TierRole::scale_up; });
      const int n = mesh.endpoints;
      std::vector<int> all(static_cast<std::size_t>(n));
      std::iota(all.begin(), all.end(), 0);
      const Operation op{.collective = Collective::all_to_all, .bytes = units::GiB(4)};
      const Fabric f = fabric_of(system, op);
      const Topology t = topology_of(system, 1);
      const double counted = 1 / machines::alone(t, TrafficCounter{t}.count(op.collective, Algorithm::direct, all)).rate;
      CHECK(min_per_byte(schedule_of(Algorithm::direct, op.collective, f), f) == Approx(counted));
      CHECK(predict(system, op).low * mesh.bisection().value() >= op.bytes.value() * n / 4 * (1 - 1e-9));
      mesh.edges.pop_back();
    }
  }
}

TEST_CASE("copies to the host and kernels of inference engines begin within their links") {
  for (const char* name : {"dgx-h100", "gb200-nvl72", "dgx-a100"}) {
    const System s = load_system(name);
    const Tier* host = host_tier(s);
    for (const double bytes : {1e3, 1e6, 1e9, 16e9}) {
      const Prediction copy =
          predict(s, Operation{.collective = Collective::send_recv, .bytes = Bytes::from_value(bytes), .path = Path::gpu_host});
      CHECK(bytes / copy.low <= host->bandwidth.value.value() * host->efficiency * (1 + 1e-9));
    }
    const double link = s.tier(TierRole::scale_up)->bandwidth.value.value();
    const int n = std::min(8, s.gpus_per_node);
    for (const InferenceLibrary library : {InferenceLibrary::vllm, InferenceLibrary::sglang, InferenceLibrary::trtllm})
      for (const bool from_host : {false, true})
        for (const double bytes : {4096.0, 262144.0, 1048576.0, 8388608.0}) {
          const Choice choice{.inference = {.library = library, .from_host = from_host}};
          const Prediction p = predict(s, Operation{.bytes = Bytes::from_value(bytes), .ranks = n}, choice);
          const double volume = p.ran.algorithm == Algorithm::one_shot ? n - 1.0
                                : p.ran.algorithm == Algorithm::nvls   ? 1 + 1.0 / n
                                                                       : 2 * (n - 1.0) / n;
          INFO(name << " " << fabricost::core::name(library) << " " << bytes);
          CHECK(volume * bytes / p.low <= link * (1 + 1e-9));
        }
  }
}
