// Rows of the tuner's table: NCCL's own estimate of an algorithm, written out again from the terms its sources name.
#include <fabricost/choice/choice.hpp>
#include <fabricost/choice/nccl.hpp>
#include <fabricost/choice/pick.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/predict.hpp>

#include "catch.hpp"
#include "support/fabrics.hpp"
#include "support/systems.hpp"

#include <iterator>

using namespace fabricost::core;

namespace {

Fabric cluster(Generation generation, int g, int nodes) {
  Fabric f = support::fabric(g, nodes);
  f.generation = generation;
  f.in_switch = true;
  f.planned_per_gpu = generation == Generation::blackwell ? 18 * 40.1e9 : 18 * 20.6e9;
  f.channels = search_channels(f.planned_per_gpu, generation);
  f.inner_rate = f.full_rate = f.planned_per_gpu;
  f.cpu = Cpu::intel;
  return f;
}
std::optional<TunerRow> row(const Fabric& f, Collective op, Algorithm algorithm, Protocol protocol = Protocol::simple,
                            bool byte_wide = false) {
  const TunerTable table = tuner_table(op, f, byte_wide);
  for (const TunerRow& r : table.rows)
    if (r.candidate.algorithm == algorithm && r.candidate.protocol == protocol) return r;
  return std::nullopt;
}
double rate(const TunerRow& r) { return 1 / r.per_byte; }

}  // namespace

TEST_CASE("in-switch reduction: 25 us and a head for each of eight channels at 0.85 of its speed, 0.74 on Blackwell", "[choice]") {
  const auto hopper = row(cluster(Generation::hopper, 8, 1), Collective::all_reduce, Algorithm::nvls);
  REQUIRE(hopper);
  CHECK(hopper->latency == Approx(25e-6));
  CHECK(rate(*hopper) == Approx(40e9 * 0.85 * 7 / 8 * 2 * 8 * (8.0 / 14)));
  const auto blackwell = row(cluster(Generation::blackwell, 8, 1), Collective::all_reduce, Algorithm::nvls);
  REQUIRE(blackwell);
  CHECK(rate(*blackwell) == Approx(80e9 * 0.74 * 7 / 8 * 2 * 8 * (8.0 / 14)));
  const auto few = row(cluster(Generation::hopper, 4, 1), Collective::all_reduce, Algorithm::nvls);  // a channel for each rank
  REQUIRE(few);
  CHECK(rate(*few) == Approx(60e9 * 0.85 * 3 / 4 * 2 * 4 * (4.0 / 6)));
  CHECK_FALSE(row(cluster(Generation::hopper, 4, 2), Collective::all_reduce, Algorithm::nvls_tree));
  CHECK_FALSE(row(cluster(Generation::hopper, 8, 1), Collective::all_reduce, Algorithm::nvls, Protocol::simple, true));
  CHECK_FALSE(row(cluster(Generation::hopper, 8, 1), Collective::all_gather, Algorithm::nvls));
}

TEST_CASE("in a rack an in-switch all_gather is believed to move as much as an all_reduce, less what a rank keeps", "[choice]") {
  const Fabric rack = cluster(Generation::hopper, 16, 1);
  const auto gather = row(rack, Collective::all_gather, Algorithm::nvls), reduce = row(rack, Collective::all_reduce, Algorithm::nvls);
  REQUIRE(gather);
  REQUIRE(reduce);
  CHECK(rate(*gather) / rate(*reduce) == Approx(15.0 / 16));
  CHECK(gather->latency == Approx(25e-6));
}

TEST_CASE("in-switch trees: the slowest of a head's channel, its NIC and the limit of a channel", "[choice]") {
  for (const int nodes : {2, 4}) {
    Fabric f = cluster(Generation::hopper, 8, nodes);
    f.outer_rate = 8 * 5e9;  // NICs so slow that they bind
    const auto slow = row(f, Collective::all_reduce, Algorithm::nvls_tree);
    REQUIRE(slow);
    INFO(nodes << " nodes");
    const double doublings = nodes == 2 ? 1 : 2, n = 8.0 * nodes;
    CHECK(slow->latency == Approx(25e-6 + 2 * doublings * 20.9e-6));
    CHECK(rate(*slow) == Approx(0.96 * 5e9 * (nodes == 2 ? 2 : 1) * 8 * n / (2 * (n - 1))));
  }
  CHECK(row(cluster(Generation::hopper, 8, 2), Collective::all_reduce, Algorithm::nvls_tree)->correction == nullptr);
  Fabric blackwell = cluster(Generation::blackwell, 8, 2);
  CHECK(row(blackwell, Collective::all_reduce, Algorithm::nvls_tree)->correction == tables_of(newest_tuner).tree_correction[2]);
  blackwell.cpu = Cpu::amd;
  CHECK(row(blackwell, Collective::all_reduce, Algorithm::nvls_tree)->correction == tables_of(newest_tuner).tree_correction[2]);
  blackwell.cpu = Cpu::arm;
  CHECK(row(blackwell, Collective::all_reduce, Algorithm::nvls_tree)->correction == nullptr);
}

TEST_CASE("rings: their serial steps at the latency of what they cross, as many as ranks for one root", "[choice]") {
  const auto latency = [](Collective op, int g, int nodes, Protocol p = Protocol::ll) {
    return row(cluster(Generation::hopper, g, nodes), op, Algorithm::ring, p)->latency;
  };
  // on one node a step more costs the same for every operation: differences are steps
  const double step = (latency(Collective::all_gather, 8, 1) - latency(Collective::all_gather, 4, 1)) / 4;
  CHECK(latency(Collective::all_reduce, 8, 1) - latency(Collective::all_gather, 8, 1) == Approx(7 * step));
  CHECK(latency(Collective::broadcast, 8, 1) - latency(Collective::all_gather, 8, 1) == Approx(step));
  CHECK(latency(Collective::reduce, 8, 1) - latency(Collective::all_gather, 8, 1) == Approx(step));
  // between nodes N - 1 of them cross, twice as many for all_reduce
  const double two = latency(Collective::all_gather, 8, 2), four = latency(Collective::all_gather, 8, 4);
  const double sum_two = latency(Collective::all_reduce, 8, 2), sum_four = latency(Collective::all_reduce, 8, 4);
  CHECK(sum_four - sum_two == Approx(2 * (four - two)));
  // a host of AMD posts slower: three times its step for Simple
  Fabric amd = cluster(Generation::hopper, 8, 2);
  amd.cpu = Cpu::amd;
  const double inner_steps = 15 - 1;
  const double simple_intel = latency(Collective::all_gather, 8, 2, Protocol::simple);
  const double simple_amd = row(amd, Collective::all_gather, Algorithm::ring, Protocol::simple)->latency;
  CHECK(simple_amd - simple_intel == Approx(inner_steps * (6e-6 - std::max(3e-6, tables_of(newest_tuner).ring_nvlink[2]))));
}

TEST_CASE("between nodes a broadcast is believed to cross the network n times where its rings leave by several devices, else once", "[choice]") {
  const TunerTables& k = tables_of(newest_tuner);
  for (const Protocol p : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    const auto at = static_cast<std::size_t>(p);
    for (const int nodes : {2, 8}) {
      Fabric f = cluster(Generation::hopper, 4, nodes);
      const double each = p == Protocol::simple ? k.tree_network[at] : k.ring_network[at];
      CHECK(row(f, Collective::broadcast, Algorithm::ring, p)->latency == Approx(k.ring_base[at] + 4 * nodes * each));
      CHECK(row(f, Collective::reduce, Algorithm::ring, p)->latency == Approx(k.ring_base[at] + 4 * nodes * each));
      f.nics = 1;
      CHECK(row(f, Collective::broadcast, Algorithm::ring, p)->latency == Approx(k.ring_base[at] + k.ring_network[at]));
    }
  }
}

TEST_CASE("CollNet chains pass every rank, PAT every doubling, and both know what they reduce", "[choice]") {
  Fabric f = cluster(Generation::hopper, 8, 4);
  f.sharp = true;
  const auto chain = row(f, Collective::all_reduce, Algorithm::collnet_chain);
  REQUIRE(chain);
  CHECK(chain->latency == Approx((2 * 7 * 2.8 + 30) * 1e-6));
  CHECK(rate(*chain) == Approx(f.channels.total() / 2));
  const auto direct = row(f, Collective::all_reduce, Algorithm::collnet_direct);
  REQUIRE(direct);
  const double fan = 8.0 / 16;  // two channels a NIC
  CHECK(direct->latency == Approx((2 * (3.7 + 0.4 * 7) + 31) * 1e-6));
  CHECK(rate(*direct) == Approx(f.channels.total() / (fan - (fan - 1) / 2) * 0.85 / 2));
  CHECK_FALSE(row(f, Collective::all_gather, Algorithm::collnet_chain));
  Fabric alone = cluster(Generation::hopper, 1, 4);
  alone.sharp = true;
  CHECK(row(alone, Collective::all_reduce, Algorithm::collnet_direct)->latency == Approx(31e-6));
  const Fabric single = cluster(Generation::hopper, 1, 4);
  const auto pat = row(single, Collective::all_gather, Algorithm::pat);
  REQUIRE(pat);
  CHECK(pat->latency == Approx((8 + 2 * 14 / 3.5 + 2.8 * 4) * 1e-6));
  CHECK(rate(*pat) == Approx(0.75 * 0.96 * 50e9));
  CHECK(row(single, Collective::reduce_scatter, Algorithm::pat));
  CHECK_FALSE(row(single, Collective::broadcast, Algorithm::pat));
  CHECK_FALSE(row(f, Collective::all_gather, Algorithm::pat));
}

TEST_CASE("a row without a rate is not picked, and of equal ones the first is", "[choice]") {
  fabricost::core::detail::TunerPick pick{.bytes = 1e6};
  pick.add({Algorithm::ring, Protocol::simple}, 1, 0);
  CHECK_FALSE(pick.any);
  pick.add({Algorithm::ring, Protocol::simple}, 1, -1e9);
  CHECK_FALSE(pick.any);
  pick.add({Algorithm::tree, Protocol::simple}, 10, 1e9);
  pick.add({Algorithm::ring, Protocol::simple}, 10, 1e9);
  CHECK(pick.best.algorithm == Algorithm::tree);
  pick.add({Algorithm::ring, Protocol::simple}, 20, 1e9);
  CHECK(pick.best.algorithm == Algorithm::tree);
  pick.add({Algorithm::nvls, Protocol::simple}, 9, 1e9);
  CHECK(pick.best.algorithm == Algorithm::nvls);
}

TEST_CASE("an exchange is picked by its size, forced or not, though the table has no row for it", "[choice]") {
  const Fabric f = cluster(Generation::hopper, 8, 1);
  const ChoiceInput in{.op = Collective::all_to_all};
  const auto small = picked_at(1000, {}, in, f), large = picked_at(1e9, {}, in, f);
  REQUIRE((small && large));
  CHECK(small->protocol == Protocol::ll);
  CHECK(large->protocol == Protocol::simple);
  CHECK(picked_at(1e9, {.algorithm = Algorithm::direct}, in, f)->algorithm == Algorithm::direct);
  CHECK_FALSE(picked_at(1e9, {.algorithm = Algorithm::pairwise}, in, f));
}

TEST_CASE("every version's tables are complete, and the newest has its name", "[choice]") {
  CHECK(name(newest_tuner) == "nccl-2.30");
  for (const TunerTables& tables : tuner_tables) {
    CHECK(tables.max_channels >= 1);
    for (const auto& speeds : tables.speeds) {  // fast to slow, ended by a 0
      CHECK(speeds[0] > 0);
      CHECK(std::end(speeds)[-1] == 0);
      CHECK(std::is_sorted(std::begin(speeds), std::end(speeds), std::greater<>{}));
    }
  }
}

TEST_CASE("a release has the newest tables that are not later", "[choice]") {
  for (const int minor : {0, 4, 8, 12, 18}) CHECK(name(tuner_of_version(2, minor)) == "nccl-2.12");
  for (const int minor : {19, 22, 25}) CHECK(name(tuner_of_version(2, minor)) == "nccl-2.25");
  for (const int minor : {26, 27, 28}) CHECK(name(tuner_of_version(2, minor)) == "nccl-2.28");
  for (const int minor : {29, 30, 99}) CHECK(tuner_of_version(2, minor) == newest_tuner);
  CHECK(tuner_of_version(3, 0) == newest_tuner);
  CHECK(name(tuner_of_version(1, 3)) == "nccl-2.12");
  CHECK(tuner_tables.front().first_version[0] <= 2);
}

TEST_CASE("a release lacks the algorithms that later ones brought, and a release that is not said lacks none", "[choice]") {
  const auto runs = [](System s, int release, Algorithm a, const Operation& op) {
    s.nccl_release = release;
    bool chosen = false;
    for (double bytes = 64; bytes < 1e10; bytes *= 2) {
      Operation one = op;
      one.bytes = Bytes::from_value(bytes);
      chosen = chosen || predict(s, one).ran.algorithm == a;
    }
    const Fabric f = fabric_of(s, op);
    CHECK((why_not({a, Protocol::simple}, op.collective, f, false) == nullptr) == (release == 0 || release >= nccl_from(a)));
    return chosen;
  };
  struct Brought {
    Algorithm algorithm;
    int from;
    System system;
    Operation op;
  };
  const Brought all[]{{Algorithm::nvls, 17, systems::hopper_box(), AllReduce{.ranks = 8}},
                      {Algorithm::nvls_tree, 18, systems::hopper_box(), AllReduce{.ranks = 32}},
                      {Algorithm::pat, 23, systems::lone_gpus(), AllGather{.ranks = 16, .nodes = 16}}};
  for (const Brought& b : all) {
    INFO(name(b.algorithm));
    CHECK(nccl_from(b.algorithm) == b.from);
    CHECK(runs(b.system, 0, b.algorithm, b.op));
    CHECK(runs(b.system, b.from, b.algorithm, b.op));
    CHECK_FALSE(runs(b.system, b.from - 1, b.algorithm, b.op));
  }
}

TEST_CASE("before 2.19 LL ends earlier for reductions, and one step of a broadcast counts", "[choice]") {
  System s = systems::ampere_box();
  s.tuner = tuner_of_version(2, 12);
  const auto runs = [&](Collective op, double bytes) {
    return predict(s, {.collective = op, .bytes = Bytes::from_value(bytes), .ranks = 8}).ran.protocol;
  };
  // 14 steps: LL 10.2 us + S / 34 GB/s, LL128 36.6 us + S / 123 GB/s, Simple 56 us + S / 137 GB/s
  CHECK(runs(Collective::all_reduce, 1.0e6) == Protocol::ll);
  CHECK(runs(Collective::all_reduce, 1.5e6) == Protocol::ll128);
  CHECK(runs(Collective::all_reduce, 6e7) == Protocol::simple);
  CHECK(runs(Collective::broadcast, 4e5) == Protocol::ll);
  CHECK(runs(Collective::broadcast, 2e6) != Protocol::ll);
}

TEST_CASE("a ring between racks is believed to send over the devices that channels ride, however many there are", "[choice]") {
  const auto between = [](int nics) {
    Fabric f = cluster(Generation::blackwell, 72, 4);
    f.nics = nics;
    f.outer_rate = nics * 10e9;  // the network limits, not the inside
    return *row(f, Collective::all_gather, Algorithm::ring);
  };
  const double ridden = devices_with_channels(Generation::blackwell, tables_of(Fabric{}.tuner));
  REQUIRE(ridden == 16);
  CHECK(rate(between(16)) == Approx(2 * rate(between(8))));
  CHECK(rate(between(72)) == Approx(rate(between(16))));
}
