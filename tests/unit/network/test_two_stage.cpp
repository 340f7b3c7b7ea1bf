// A scale-up switch in two stages: DGX-2's boards and their trunks, and a domain of 576 GPUs in racks whose second stage is narrower.
#include "catch.hpp"
#include "support/message_of.hpp"
#include "machines.hpp"

#include <fabricost/predict/predict.hpp>

#include <map>

using namespace fabricost::plan;
using machines::carried;
using machines::first;

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
  for (const std::vector<int>& ranks : {first(576), first(100), std::vector<int>{0, 71, 72, 150, 575}}) {
    std::map<int, double> wanted;
    for (const int a : ranks)
      for (const int b : ranks)
        if (a != b)
          for (const LinkUse& use : route(t, a, b)) wanted[use.link] += use.share / static_cast<double>(ranks.size());
    const Traffic traffic = TrafficCounter{t}.count(Collective::all_to_all, Algorithm::direct, ranks);
    CHECK(traffic.loads.size() == wanted.size());
    for (const LinkLoad& l : traffic.loads) REQUIRE(l.bytes == Approx(wanted[l.link]));
  }
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
