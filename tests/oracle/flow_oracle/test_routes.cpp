// The load of a collective on the links of real machines (network/traffic.hpp), against the sends this simulator executes, each along its
// route one by one. Senders and receivers are written twice, once there and once here; the routes are shared.
#include "cases.hpp"

#include <fabricost/plan/network/topology_of.hpp>
#include <fabricost/plan/network/link_names.hpp>
#include <fabricost/plan/network/traffic.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

using namespace flow;

namespace {

struct Where {
  std::string machine;
  int nodes, per_node;  ///< the first of each node
};
const std::vector<Where> places{{"dgx-h100", 1, 8},      {"dgx-h100", 4, 8},       {"dgx-h100", 3, 8}, {"dgx-h100", 5, 6},
                                {"dgx-1-v100", 2, 8},    {"superpod-h100", 40, 1}, {"aws-p4d", 4, 4},  {"mi300x-8", 2, 8},
                                {"l40s-pcie", 1, 8},     {"gb200-nvl72", 16, 4},   {"frontier", 8, 8}, {"superpod-gb200", 20, 2},
                                {"meta-24k-roce", 8, 8}, {"tpu-v5p-cube", 16, 4}};

std::vector<int> gpus_of(const fabricost::plan::Topology& t, const Where& w) {
  std::vector<int> out;
  for (int node = 0; node < w.nodes; ++node)
    for (int i = 0; i < w.per_node; ++i) out.push_back(node * t.gpus_per_node + i);
  return out;
}

/// The sends of a program over these GPUs, added up on the links of their routes.
void loads_agree(const fabricost::plan::Topology& t, const std::vector<int>& gpus, Collective collective, Algorithm algorithm,
                 const Program& program) {
  std::map<int, double> wanted;
  for (const auto& [pair, bytes] : program.between())
    for (const fabricost::plan::LinkUse& use :
         fabricost::plan::route(t, gpus[static_cast<std::size_t>(pair.first)], gpus[static_cast<std::size_t>(pair.second)]))
      wanted[use.link] += use.share * bytes;
  const fabricost::plan::Traffic traffic = fabricost::plan::TrafficCounter{t}.count(collective, algorithm, gpus);
  INFO(name(algorithm) << " " << name(collective) << " on " << t.name << ", " << gpus.size() << " GPUs");
  CHECK(traffic.loads.size() == wanted.size());
  for (const fabricost::plan::LinkLoad& l : traffic.loads) {
    INFO(fabricost::plan::name_of(t, l.link));
    REQUIRE(l.bytes == Approx(wanted[l.link]));
  }
}

}  // namespace

TEST_CASE("one partner a step: links carry what the sends put on their routes", "[flow][routes]") {
  for (const Where& w : places) {
    const fabricost::plan::System system = fabricost::plan::load_system(w.machine);
    const fabricost::plan::Topology t = fabricost::plan::topology_of(system, w.nodes);
    const std::vector<int> gpus = gpus_of(t, w);
    const int n = static_cast<int>(gpus.size());
    int g = 0;
    for (const int gpu : gpus) g += t.domain_of(gpu) == t.domain_of(gpus.front());
    const Network net = flat_switch(n, B, near_hop);  // only who sends to whom is asked of it
    Program exchange(net, Op::all_to_all, from_to(n), 1.0 / n, to_of(n));
    bruck_exchange(exchange);
    loads_agree(t, gpus, Collective::all_to_all, Algorithm::bruck, exchange);
    Program gather(net, Op::all_gather, one_each(n), 1.0 / n);
    bruck_gather(gather);
    loads_agree(t, gpus, Collective::all_gather, Algorithm::bruck, gather);
    for (const Op op : {Op::all_gather, Op::reduce_scatter}) {
      Program trees(net, op, one_each(n), 1.0 / n);
      pat(trees, op);
      loads_agree(t, gpus, collective(op), Algorithm::pat, trees);
    }
    if (n % g != 0) continue;
    Program doubling(net, Op::all_reduce, {0}, 1);
    recursive_doubling(doubling, {g, n / g});
    loads_agree(t, gpus, Collective::all_reduce, Algorithm::recursive_doubling, doubling);
    Program levels(net, Op::all_to_all, from_to(n), 1.0 / n, to_of(n));
    two_level_exchange(levels, g);
    loads_agree(t, gpus, Collective::all_to_all, Algorithm::hierarchical, levels);
    if (!power_of_two(n)) continue;
    for (const bool near_first : {false, true}) {
      Program halves(net, Op::reduce_scatter, one_each(n), 1.0 / n);
      HalvingDoubling run(halves, {n}, near_first, Op::reduce_scatter);
      run();
      loads_agree(t, gpus, Collective::reduce_scatter, near_first ? Algorithm::rabenseifner : Algorithm::halving_doubling, halves);
    }
  }
}

TEST_CASE("a part that switches add goes up every tier once, whatever is below", "[flow][routes]") {
  // 4 scalable units of 32 nodes: leaves (one a rail) and spines; of 40 nodes 32 are below one leaf, 8 below the next
  const fabricost::plan::Topology t = fabricost::plan::topology_of(fabricost::plan::load_system("superpod-h100"), 40);
  std::vector<int> gpus(320);
  std::iota(gpus.begin(), gpus.end(), 0);
  for (const Algorithm a : {Algorithm::collnet_direct, Algorithm::collnet_chain})
    for (const Collective c : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
      if (a == Algorithm::collnet_chain && c != Collective::all_reduce) continue;
      INFO(name(a) << " " << name(c));
      double nic_out = 0, nic_in = 0, inside = 0;
      std::map<int, double> up, down;
      for (const fabricost::plan::LinkLoad& l : fabricost::plan::TrafficCounter{t}.count(c, a, gpus).loads) {
        const fabricost::plan::LinkBlock& b = t.block_of(l.link);
        if (b.kind == fabricost::plan::LinkKind::nic_out) nic_out += l.bytes;
        if (b.kind == fabricost::plan::LinkKind::nic_in) nic_in += l.bytes;
        if (b.kind == fabricost::plan::LinkKind::gpu_out) inside += l.bytes;
        if (b.kind == fabricost::plan::LinkKind::tier_up) up[l.link] = l.bytes;
        if (b.kind == fabricost::plan::LinkKind::tier_down) down[l.link] = l.bytes;
      }
      const double sent = c == Collective::all_gather ? 1.0 / 40 : 1, got = c == Collective::reduce_scatter ? 1.0 / 40 : 1;
      CHECK(nic_out == Approx(40 * sent));  // a domain all of S
      CHECK(nic_in == Approx(40 * got));
      CHECK(inside / 40 == Approx(schedule_of(a, c, Levels{8, 40}).bytes(0) * (a == Algorithm::collnet_chain ? 7 : 8)));
      REQUIRE(up.size() == 16);  // two leaves a rail
      REQUIRE(down.size() == 16);
      for (const auto& [link, bytes] : up) CHECK(bytes == Approx(sent / 8));
      for (const auto& [link, bytes] : down) CHECK(bytes == Approx(got / 8));
    }
  // below one leaf nothing goes up
  for (const fabricost::plan::LinkLoad& l :
       fabricost::plan::TrafficCounter{t}.count(Collective::all_reduce, Algorithm::collnet_direct, std::span{gpus}.first(256)).loads)
    CHECK(t.block_of(l.link).kind != fabricost::plan::LinkKind::tier_up);
}
