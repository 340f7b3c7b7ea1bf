// NCCL's and RCCL's choices as they were measured: inside one node, between nodes, and on GPUs of AMD.
#include "changes.hpp"

#include <fabricost/choice/nccl.hpp>
#include <fabricost/fabricost.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/specs/load.hpp>

#include "support/message_of.hpp"
#include "support/systems.hpp"

#include "catch.hpp"

using namespace fabricost::core;
using namespace fabricost::test;

// Which protocol runs from which size on, inside one node: measured changes of NCCL 2.23 to 2.29.

namespace {

struct Change {
  double bytes;  ///< the first power of two
  Candidate to;
};

/// Every change of the pair that runs, on powers of two from 512 B to 8 GiB.
std::vector<Change> changes(const System& system, const Operation& op) {
  const Curve curve = compile(system, op);
  std::vector<Change> out;
  Candidate now = curve.ran_at(256);
  for (double s = 512; s <= 8192 * MiB; s *= 2) {
    if (curve.ran_at(s) == now) continue;
    now = curve.ran_at(s);
    out.push_back({s, now});
  }
  return out;
}
std::string text(const std::vector<Change>& list) {
  std::string out;
  for (const Change& c : list) {
    out.append(name(c.to.algorithm)).append(" ").append(name(c.to.protocol)).append(" from ");
    out.append(c.bytes < MiB ? std::to_string(static_cast<int>(c.bytes / KiB)) + " KiB; "
                             : std::to_string(static_cast<int>(c.bytes / MiB)) + " MiB; ");
  }
  return out;
}
void expect(const System& system, const Operation& op, const std::vector<Change>& wanted) {
  INFO(system.name << " " << name(op.collective) << " " << name(op.dtype) << " on " << op.ranks);
  CHECK(compile(system, op).ran_at(256) ==
        Candidate{op.collective == Collective::all_to_all ? Algorithm::direct : Algorithm::ring, Protocol::ll});
  CHECK(text(changes(system, op)) == text(wanted));
}

Change ring_ll128(double mib) { return {mib * MiB, {Algorithm::ring, Protocol::ll128}}; }
Change ring_simple(double mib) { return {mib * MiB, {Algorithm::ring, Protocol::simple}}; }
Change nvls(double mib) { return {mib * MiB, {Algorithm::nvls, Protocol::simple}}; }

}  // namespace

TEST_CASE("all_gather and reduce_scatter change protocol where NCCL was measured to", "[choice]") {
  for (const Collective c : {Collective::all_gather, Collective::reduce_scatter}) {
    for (const int n : {2, 4}) {
      expect(systems::ampere_box(), {.collective = c, .ranks = n}, {ring_simple(2)});
      expect(systems::hopper_box(), {.collective = c, .ranks = n}, {ring_simple(4)});
      expect(systems::blackwell_box(), {.collective = c, .ranks = n}, {ring_simple(8)});
    }
    expect(systems::ampere_box(), {.collective = c, .ranks = 8}, {ring_ll128(4), ring_simple(16)});
    expect(systems::hopper_box(), {.collective = c, .ranks = 8}, {ring_ll128(8), ring_simple(32)});
    expect(systems::blackwell_box(), {.collective = c, .ranks = 8}, {ring_simple(16)});
  }
}

TEST_CASE("all_reduce changes protocol where NCCL was measured to", "[choice]") {
  expect(systems::ampere_box(), {.ranks = 2}, {ring_simple(1)});
  expect(systems::hopper_box(), {.ranks = 2}, {ring_simple(2)});
  expect(systems::blackwell_box(), {.ranks = 2}, {ring_simple(4)});
  expect(systems::ampere_box(), {.ranks = 4}, {ring_ll128(2), ring_simple(8)});
  expect(systems::hopper_box(), {.ranks = 4}, {ring_ll128(4), ring_simple(16)});
  expect(systems::blackwell_box(), {.ranks = 4}, {ring_simple(8)});
  for (const DataType t : {DataType::half, DataType::bfloat16, DataType::single}) {
    expect(systems::ampere_box(), {.ranks = 8, .dtype = t}, {ring_ll128(4), ring_simple(32)});
    expect(systems::hopper_box(), {.ranks = 8, .dtype = t}, {nvls(2)});
    expect(systems::blackwell_box(), {.ranks = 8, .dtype = t}, {nvls(4)});
  }
}

TEST_CASE("8-bit reductions stay on rings, which switches cannot add", "[choice]") {
  expect(systems::ampere_box(), {.ranks = 8, .dtype = DataType::int8}, {ring_ll128(4), ring_simple(32)});
  expect(systems::hopper_box(), {.ranks = 8, .dtype = DataType::int8}, {ring_ll128(4), ring_simple(64)});
  expect(systems::blackwell_box(), {.ranks = 8, .dtype = DataType::int8}, {ring_ll128(8), ring_simple(32)});
}

TEST_CASE("all_to_all sends LL up to 16 KiB for each peer", "[choice]") {
  for (const System& s : {systems::ampere_box(), systems::hopper_box(), systems::blackwell_box()})
    for (const int n : {2, 3, 4, 8}) {
      INFO(s.name << " " << n);
      const Curve curve = compile(s, {.collective = Collective::all_to_all, .ranks = n});
      CHECK(curve.ran_at(16384.0 * n) == Candidate{Algorithm::direct, Protocol::ll});
      CHECK(curve.ran_at(16384.0 * n + 1) == Candidate{Algorithm::direct, Protocol::simple});
    }
}

TEST_CASE("over PCIe there is no LL128 and Simple starts early", "[choice]") {
  const System s = systems::pcie_box();
  const auto simple_from = [](double kib) { return Change{kib * KiB, {Algorithm::ring, Protocol::simple}}; };
  for (const Collective c : {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce})
    for (const int n : {2, 4}) expect(s, {.collective = c, .ranks = n}, {simple_from(512)});
  for (const Collective c : {Collective::all_gather, Collective::reduce_scatter})
    expect(s, {.collective = c, .ranks = 8}, {simple_from(1024)});
  const auto exchange_limit = [&](int n) {
    const Curve curve = compile(s, {.collective = Collective::all_to_all, .ranks = n});
    double last = 0;
    for (double v = 1024; v <= MiB; v *= 2)
      if (curve.ran_at(v * n).protocol == Protocol::ll) last = v;
    return last;
  };
  CHECK(exchange_limit(2) == 64 * KiB);
  CHECK(exchange_limit(4) == 32 * KiB);
  CHECK(exchange_limit(8) == 32 * KiB);
}

TEST_CASE("trees never win inside one node", "[choice]") {
  for (const System& s :
       {systems::ampere_box(), systems::hopper_box(), systems::blackwell_box(), systems::cube_mesh_box(), systems::full_mesh_box()})
    for (const int n : {2, 4, 8}) {
      const Curve curve = compile(s, {.ranks = n});
      for (double bytes = 8; bytes < 1e11; bytes *= 1.7)
        if (curve.ran_at(bytes).algorithm == Algorithm::tree)
          FAIL_CHECK(s.name << " all_reduce ranks " << n << " size " << bytes << " runs a tree");
    }
}

TEST_CASE("a rack reduces in its switches when the message is large", "[choice]") {
  CHECK(compile(systems::rack(), {}).ran_at(1e9) == Candidate{Algorithm::nvls, Protocol::simple});
}

TEST_CASE("restricting algorithm or protocol restricts what runs", "[choice]") {
  const System s = systems::hopper_box();
  const Operation op{.collective = Collective::all_reduce, .ranks = 8};
  for (double bytes = 8; bytes < 1e11; bytes *= 3) {
    CHECK(compile(s, op, {.algorithm = Algorithm::ring}).ran_at(bytes).algorithm == Algorithm::ring);
    CHECK(compile(s, op, {.protocol = Protocol::ll128}).ran_at(bytes).protocol == Protocol::ll128);
  }
  // among what is left the tuner still chooses by size
  const Curve rings = compile(s, op, {.algorithm = Algorithm::ring});
  CHECK(rings.ran_at(1e3).protocol == Protocol::ll);
  CHECK(rings.ran_at(1e9).protocol == Protocol::simple);
}

TEST_CASE("what cannot run is refused with the reason", "[choice]") {
  const auto refused = [](const System& s, const Operation& op, const Choice& choice, std::string_view reason) {
    const std::string message = support::message_of([&] { return predict(s, op, choice); });
    INFO(message);
    CHECK(support::contains(message, reason));
  };
  const System hopper = systems::hopper_box();
  refused(systems::ampere_box(), {}, {.algorithm = Algorithm::nvls}, "do not reduce");
  refused(hopper, {.dtype = DataType::int8}, {.algorithm = Algorithm::nvls}, "16- and 32-bit");
  refused(hopper, {}, {.algorithm = Algorithm::torus_bucket}, "torus");
  refused(hopper, {}, {.algorithm = Algorithm::nvls, .protocol = Protocol::ll}, "Simple only");
  refused(hopper, {.collective = Collective::all_to_all}, {.algorithm = Algorithm::ring}, "point to point");
  refused(systems::pcie_box(), {}, {.protocol = Protocol::ll128}, "LL128");
  refused(hopper, {.nodes = 4}, {.algorithm = Algorithm::collnet_chain}, "sharp");
  refused(hopper, {.nodes = 4}, {.algorithm = Algorithm::one_shot}, "memory");
  System sharp = hopper;
  sharp.tiers[1].sharp = true;
  for (const Collective c : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter})
    refused(sharp, {.collective = c, .nodes = 4}, {.algorithm = Algorithm::nvls}, "NVLS over SHARP");
  for (const Collective c : {Collective::all_to_all, Collective::send_recv}) {
    INFO(name(c));
    refused(hopper, {.collective = c, .ranks = c == Collective::send_recv ? 2 : 8}, {.protocol = Protocol::ll128}, "LL128");
  }
}

// NCCL's choices between nodes, measured on public clusters.

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

// Inside a node RCCL changes algorithm and protocol at sizes of its own, as public runs on 8 MI300X do.

namespace {

Candidate chosen(const System& system, Operation op, double bytes, const Choice& choice = {}) {
  op.bytes = Bytes::from_value(bytes);
  const Prediction p = predict(system, op, choice);
  CHECK(compile(system, op, choice).ran_at(bytes) == p.ran);  // the same rows, walked
  return p.ran;
}
constexpr Candidate plain_ll{Algorithm::ring, Protocol::ll}, plain_simple{Algorithm::ring, Protocol::simple};

}  // namespace

TEST_CASE("RCCL's all_reduce of eight GPUs in a mesh takes two steps in between", "[choice]") {
  const System s = load_system("mi300x-8");
  const ScaleUpForm& form = s.constants.scale_up.form;
  const Operation op = AllReduce{.ranks = 8};
  CHECK(chosen(s, op, form.rccl_ring_until) == plain_ll);
  CHECK(chosen(s, op, 2 * form.rccl_ring_until) == Candidate{Algorithm::two_shot, Protocol::ll});
  CHECK(chosen(s, op, form.rccl_ll_until) == Candidate{Algorithm::two_shot, Protocol::ll});
  CHECK(chosen(s, op, 2 * form.rccl_ll_until) == Candidate{Algorithm::ring, Protocol::ll128});
  CHECK(chosen(s, op, form.rccl_ll128_until) == Candidate{Algorithm::ring, Protocol::ll128});
  CHECK(chosen(s, op, 2 * form.rccl_ll128_until) == plain_simple);
  for (const double bytes : {8.0, 1e5, 1e9}) CHECK(chosen(s, op, bytes, {.algorithm = Algorithm::ring}).algorithm == Algorithm::ring);
}

TEST_CASE("fewer GPUs and other operations run rings under LL, then Simple", "[choice]") {
  for (const char* name : {"mi300x-8", "mi350x-8", "mi250x-16gcd"}) {
    const System s = load_system(name);
    const double until = s.constants.scale_up.form.rccl_ll_until;
    for (const Operation& op : std::vector<Operation>{AllReduce{.ranks = 4}, AllReduce{.ranks = 2}, AllGather{.ranks = 8},
                                                      ReduceScatter{.ranks = 2}, Broadcast{.ranks = 8}}) {
      CHECK(chosen(s, op, 8) == plain_ll);
      CHECK(chosen(s, op, until) == plain_ll);
      CHECK(chosen(s, op, 2 * until) == plain_simple);
    }
  }
  // between nodes as before
  CHECK(chosen(load_system("mi300x-8"), AllReduce{.ranks = 16, .nodes = 2}, 64 * 1024).algorithm != Algorithm::two_shot);
}

TEST_CASE("two steps cost two hops and the links' bytes", "[choice][price]") {
  const System s = load_system("mi300x-8");
  const ScaleUpConstants& c = s.constants.scale_up;
  const Prediction p = predict(s, Operation{.collective = Collective::all_reduce, .bytes = Bytes::from_value(65536), .ranks = 8});
  const double rate = 448e9 * std::min(c.simple.rate_share / 2, c.ll.channel_share);
  CHECK(p.seconds == Approx(c.launch + 2 * c.ll.hop + 14.0 / 8 * 65536 / rate));
  CHECK(p.basis == Basis::calibrated);
}

TEST_CASE("machines of AMD that no measurement tells apart start the same calls in the same time", "[choice][price]") {
  const auto times = [](const char* name) {
    const System s = load_system(name);
    std::vector<double> out;
    for (int mode = 0; mode < static_cast<int>(launch_mode_names.size()); ++mode)
      for (const Operation& op : std::vector<Operation>{AllReduce{.ranks = 8}, AllReduce{.ranks = 2}, AllGather{.ranks = 4},
                                                        ReduceScatter{.ranks = 8}, AllToAll{.ranks = 8}})
        for (const double bytes : {8.0, 65536.0, 1e6}) {
          Operation question = op;
          question.bytes = Bytes::from_value(bytes);
          out.push_back(predict(s, question, {.launch = {.mode = static_cast<LaunchMode>(mode)}}).seconds);
        }
    return out;
  };
  CHECK(times("mi350x-8") == times("mi355x-8"));
  CHECK(times("mi300x-8") == times("mi325x-8"));
  // a kernel's start is RCCL's, not the GPU's: nothing but calls with their launch was measured on CDNA 4
  const ScaleUpConstants three = load_system("mi300x-8").constants.scale_up, four = load_system("mi355x-8").constants.scale_up;
  CHECK(four.launch == three.launch);
  CHECK(four.all_to_all.base == three.all_to_all.base);
  CHECK(four.form.rccl_call == three.form.rccl_call);
  CHECK(four.form.rccl_host_gpu == three.form.rccl_host_gpu);
}

TEST_CASE("two nodes take no less than one of them for the same message", "[choice][price]") {
  const auto compare = [](const char* name, Collective op) {
    const System s = load_system(name);
    for (double bytes = 8; bytes <= 64 * mebibyte; bytes *= 2) {
      CAPTURE(name, fabricost::core::name(op), bytes);
      const auto seconds = [&](int nodes) {
        return predict(s, Operation{.collective = op, .bytes = Bytes::from_value(bytes), .nodes = nodes}).seconds;
      };
      CHECK(seconds(2) >= seconds(1));
    }
  };
  for (const char* name : {"mi300x-8", "mi355x-8", "aac14-mi355x-pollara", "mi300x-ainic", "amd-ccs-mi308x", "oci-mi300x", "frontier"})
    compare(name, Collective::all_reduce);
  for (const Collective op : {Collective::all_gather, Collective::reduce_scatter, Collective::broadcast, Collective::all_to_all})
    for (const char* name : {"mi300x-8", "mi355x-8", "aac14-mi355x-pollara"}) compare(name, op);
}
