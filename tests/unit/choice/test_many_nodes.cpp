// NCCL's choices between nodes, measured on public clusters.
#include <fabricost/choice/nccl.hpp>
#include <fabricost/predict/fabric_of.hpp>

#include "changes.hpp"

#include "catch.hpp"
#include "support/systems.hpp"

using namespace fabricost::core;
using namespace fabricost::test;

namespace {

double ring_from(const System& s, int nodes) {
  return stays_from(s, {.nodes = nodes}, [](Candidate c) { return c.algorithm == Algorithm::ring && c.protocol == Protocol::simple; });
}
/// First power of two without LL.
double leaves_ll(const System& s, const Operation& op) {
  return stays_from(s, op, [](Candidate c) { return c.protocol != Protocol::ll; });
}

}  // namespace

TEST_CASE("four Grace Hoppers to a node change from trees to rings later the more nodes there are", "[choice]") {
  const System s = systems::grace_hopper_quad();
  CHECK(ring_from(s, 4) == 8);
  CHECK(ring_from(s, 8) == 16);
  CHECK(ring_from(s, 16) == 64);
  CHECK(ring_from(s, 32) == 256);
  CHECK(ring_from(s, 64) == 512);
}

TEST_CASE("without LL128 LL stays until Simple", "[choice]") {
  const System s = systems::grace_hopper_quad();
  CHECK(leaves_ll(s, {.nodes = 2}) == 2);
  CHECK(leaves_ll(s, {.nodes = 4}) == 1);
  CHECK(leaves_ll(s, {.nodes = 8}) == 1);
  CHECK(leaves_ll(s, {.nodes = 16}) == 0.5);
  for (const int nodes : {2, 4, 16, 64}) {
    const Curve curve = compile(s, {.nodes = nodes});
    for (double bytes = 8; bytes < 1e11; bytes *= 2) CHECK(curve.ran_at(bytes).protocol != Protocol::ll128);
  }
}

TEST_CASE("two nodes run trees at NVLink's bus unless a NIC for each A100 feeds a ring", "[choice]") {
  CHECK(compile(systems::grace_hopper_quad(), {.nodes = 2}).ran_at(1e9).algorithm == Algorithm::tree);
  CHECK(compile(systems::ampere_box(), {.nodes = 2}).ran_at(1e9).algorithm == Algorithm::ring);
  System slow = systems::ampere_box();  // four NICs of 100 Gbit/s
  slow.tiers[1] = systems::nics(4, 12.5, systems::efa_v1);
  CHECK(compile(slow, {.nodes = 2}).ran_at(1e9).algorithm == Algorithm::tree);
}

TEST_CASE("two nodes of eight H100 change from LL128 to in-switch trees at 8 MiB", "[choice]") {
  CHECK(stays_from(systems::hopper_box(), {.nodes = 2}, [](Candidate c) { return c.algorithm == Algorithm::nvls_tree; }) == 8);
  const Curve curve = compile(systems::hopper_box(), {.nodes = 2});
  CHECK(curve.ran_at(4 * MiB).protocol == Protocol::ll128);
}

TEST_CASE("two nodes of four H100 change from LL128 to Simple at 256 MiB", "[choice]") {
  System s = systems::grace_hopper_quad();  // four NICs of 200 Gbit/s, but InfiniBand behind PCIe switches
  s.tiers[1] = systems::nics(4, 25, systems::infiniband);
  s.cpu = Cpu::amd;
  CHECK(stays_from(s, {.nodes = 2}, [](Candidate c) { return c.protocol == Protocol::simple; }) == 256);
}

TEST_CASE("LL128 stays off the host bridge, Slingshot, EFA v1 and Pascal between nodes", "[choice]") {
  const auto uses_ll128 = [](const System& s) {
    for (const Collective c : {Collective::all_reduce, Collective::all_gather}) {
      const Curve curve = compile(s, {.collective = c, .nodes = 4});
      for (double bytes = 8; bytes < 1e11; bytes *= 1.5)
        if (curve.ran_at(bytes).protocol == Protocol::ll128) return true;
    }
    return false;
  };
  CHECK(uses_ll128(systems::hopper_box()));
  CHECK(uses_ll128(systems::ampere_box()));
  System s = systems::hopper_box();
  for (const NicPath path : {NicPath::phb, NicPath::node, NicPath::sys}) {
    s.tiers[1].path = path;
    CHECK_FALSE(uses_ll128(s));
  }
  s = systems::ampere_box();
  for (const Transport& t : {systems::slingshot, systems::efa_v1}) {
    s.tiers[1].transport = t;
    CHECK_FALSE(uses_ll128(s));
  }
  s = systems::cube_mesh_box();
  CHECK(uses_ll128(s));
  s.gpu.generation = Generation::pascal;
  CHECK_FALSE(uses_ll128(s));
}

TEST_CASE("the host's maker moves the end of LL between nodes", "[choice]") {
  System s = systems::hopper_box();
  s.tiers[1].path = NicPath::phb;  // no LL128 in between
  const auto end = [&](Cpu cpu) {
    s.cpu = cpu;
    const Curve curve = compile(s, {.collective = Collective::all_gather, .nodes = 2});
    double last = 0;
    for (double bytes = 1024; bytes < 1e10; bytes *= 1.01)
      if (curve.ran_at(bytes).protocol == Protocol::ll) last = bytes;
    return last;
  };
  CHECK(end(Cpu::intel) == end(Cpu::arm));
  CHECK(end(Cpu::amd) < end(Cpu::intel));
}

TEST_CASE("switches of the network reduce when the network offers it", "[choice]") {
  System s = systems::hopper_box();
  s.tiers[1].sharp = true;
  bool seen = false;
  const Curve curve = compile(s, {.nodes = 16});
  for (double bytes = 8; bytes < 1e11; bytes *= 2) {
    const Algorithm a = curve.ran_at(bytes).algorithm;
    seen = seen || a == Algorithm::collnet_direct || a == Algorithm::collnet_chain;
  }
  CHECK(seen);
}

TEST_CASE("one GPU to a node gathers by parallel aggregated trees or rings", "[choice]") {
  for (const Collective c : {Collective::all_gather, Collective::reduce_scatter})
    for (const int nodes : {2, 8, 64}) {
      const Curve curve = compile(systems::lone_gpus(), {.collective = c, .nodes = nodes});
      for (double bytes = 8; bytes < 1e11; bytes *= 2) {
        const Algorithm a = curve.ran_at(bytes).algorithm;
        CHECK((a == Algorithm::pat || a == Algorithm::ring));
      }
    }
}

TEST_CASE("the tuner takes PAT for 0.75 of the bus, unconverted", "[choice]") {
  const Fabric f = fabric_of(systems::lone_gpus(), {.collective = Collective::all_gather, .nodes = 2});
  const TunerTable table = tuner_table(Collective::all_gather, f, false);
  for (const TunerRow& row : table.rows)
    if (row.candidate.algorithm == Algorithm::pat) CHECK(1 / row.per_byte <= 0.75 * 50e9 * 1.0001);
}

TEST_CASE("the tuner's ring over the network adds up from its published latencies", "[choice]") {
  // 2 nodes of 8 A100: all_reduce LL = 6.6 + (30 - 2) max(0.6, 1) + 2 x 2.7; Simple = 8.4 + 28 max(3.4, 3) + 2 x 14
  const Fabric f = fabric_of(systems::ampere_box(), {.nodes = 2});
  const TunerTable table = tuner_table(Collective::all_reduce, f, false);
  CHECK(table.rows[0].candidate == Candidate{Algorithm::ring, Protocol::ll});
  CHECK(table.rows[0].latency == Approx((6.6 + 28 * 1.0 + 2 * 2.7) * 1e-6));
  CHECK(table.rows[1].candidate == Candidate{Algorithm::ring, Protocol::ll128});
  CHECK(table.rows[1].latency == Approx((14.0 + 28 * 1.9 + 2 * 4.0) * 1e-6));
  CHECK(table.rows[2].candidate == Candidate{Algorithm::ring, Protocol::simple});
  CHECK(table.rows[2].latency == Approx((8.4 + 28 * 3.4 + 2 * 14.0) * 1e-6));
  const double bus = 30.0 / 16 / table.rows[2].per_byte;  // eight NICs of 25 GB/s, which the search counts as 24
  CHECK(bus <= 200e9 * (1 + 1e-12));
  CHECK(bus >= 192e9 * (1 - 1e-12));
}
