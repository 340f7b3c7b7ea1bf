// Which protocol runs from which size on, inside one node: measured changes of NCCL 2.23 to 2.29.
#include "changes.hpp"

#include "catch.hpp"
#include "support/message_of.hpp"
#include "support/systems.hpp"

using namespace fabricost::core;
using namespace fabricost::test;

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

TEST_CASE("in-switch reduction needs all eight ranks of a server", "[choice]") {
  for (const System& s : {systems::hopper_box(), systems::blackwell_box()})
    for (const int n : {2, 4}) {
      const Curve curve = compile(s, {.ranks = n});
      for (double bytes = 8; bytes < 1e11; bytes *= 2) CHECK(curve.ran_at(bytes).algorithm == Algorithm::ring);
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
  for (const Collective c : {Collective::all_to_all, Collective::send_recv}) {
    INFO(name(c));
    refused(hopper, {.collective = c, .ranks = c == Collective::send_recv ? 2 : 8}, {.protocol = Protocol::ll128}, "LL128");
  }
}
