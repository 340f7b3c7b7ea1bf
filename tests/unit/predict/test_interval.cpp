// The width of an interval: by what was measured, where it was measured, and the share of the time beyond the measured sizes.
#include "catch.hpp"
#include "support/systems.hpp"

#include <fabricost/fabricost.hpp>
#include <fabricost/price/terms.hpp>

#include <utility>

using namespace fabricost::core;

namespace {

double width(const System& s, const Operation& op) {
  const Prediction p = predict(s, op);
  return std::log(p.high / p.seconds);
}

System measured_box() {
  System s = systems::hopper_box();
  s.constants.basis = s.constants.transport_basis = Basis::calibrated;
  s.constants.transport_known = true;
  s.constants.most_nodes = 64;
  return s;
}

unsigned bits(std::initializer_list<Collective> ops) {
  unsigned out = 0;
  for (const Collective op : ops) out |= 1U << static_cast<unsigned>(op);
  return out;
}

}  // namespace

TEST_CASE("beyond the measured sizes a flat curve is as sure as where it was measured", "[predict]") {
  const System s = measured_box();
  const auto at = [&](Bytes bytes) { return width(s, AllReduce{.bytes = bytes, .ranks = 8}); };
  const double inside = at(units::MiB(256));
  CHECK(at(units::GiB(4)) < 1.25 * inside);
  CHECK(at(units::GiB(16)) < 1.4 * inside);
  CHECK(at(units::GiB(16)) > at(units::MiB(512)));  // what was latency at 512 MiB is extrapolated
  CHECK(predict(s, AllReduce{.bytes = units::GiB(16), .ranks = 8}).extrapolated.sizes);
}

TEST_CASE("the interval in quantities is that in seconds", "[predict]") {
  const Prediction p = predict(measured_box(), AllReduce{.bytes = units::MiB(256), .ranks = 8});
  CHECK(p.interval() == std::pair{units::s(p.low), units::s(p.high)});
}

TEST_CASE("what was latency or copies at the largest measured size is what beyond it widens the interval", "[predict]") {
  System s = measured_box();
  const Operation op = AllReduce{.bytes = units::GiB(16), .ranks = 8};
  const Curve curve = compile(s, op);
  for (const double largest : {1e6, 64e6, 512e6, 4e9}) {
    s.constants.largest = largest;
    const double share = 1 - wire_share(curve.line(op.bytes.value()), largest);
    const double octaves = std::log2(op.bytes.value() / largest);
    CHECK(width(s, op) == Approx(s.constants.interval.nvls + s.constants.interval.beyond_sizes * octaves * share));
  }
  // most of 1 MB is latency, little of 4 GB
  CHECK(wire_share(curve.line(16e9), 1e6) < 0.3);
  CHECK(wire_share(curve.line(16e9), 4e9) > 0.98);
}

TEST_CASE("on a machine that was not measured itself a flat curve drifts a little beyond the sizes its relatives showed", "[predict]") {
  System s = measured_box();
  const Operation op = AllReduce{.bytes = units::GiB(16), .ranks = 8};
  const double own = width(s, op);
  s.constants.basis = Basis::sibling;
  const IntervalWidths& w = s.constants.interval;
  CHECK(width(s, op) == Approx(std::hypot(w.nvls, w.sibling) + w.beyond_sizes * w.unseen_wire * 5));
  CHECK(width(s, op) > own + 0.05);
}

TEST_CASE("the wire's share of a time is that of its parts", "[predict][property]") {
  for (const System& s : {systems::hopper_box(), systems::ampere_box(), systems::pcie_box(), systems::rack()})
    for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::all_to_all, Collective::broadcast})
      for (double bytes = 1024; bytes < 1e11; bytes *= 7) {
        const Curve curve = compile(s, Operation{.collective = op, .ranks = 4});
        const Line& line = curve.line(bytes);
        double transfer = 0, all = 0;
        for (const Contribution& part : take_apart(line, bytes)) {
          all += part.seconds;
          if (is_transfer(name(part.kind))) transfer += part.seconds;
        }
        bool by_ramp = false;  // of LL's exchange the transfer is a ramp, told as growth
        for (const Ramp& ramp : line.ramps) by_ramp = by_ramp || ramp.shape == Ramp::Shape::unbounded;
        INFO(s.name << " " << name(op) << " " << bytes);
        if (!by_ramp) CHECK(wire_share(line, bytes) == Approx(transfer / all).margin(1e-9));
      }
}

TEST_CASE("an operation is calibrated only where it was measured itself", "[predict]") {
  System s = measured_box();
  s.constants.operations = {.here = bits({Collective::all_reduce}),
                            .alike = bits({Collective::all_reduce, Collective::all_gather}),
                            .anywhere = bits({Collective::all_reduce, Collective::all_gather})};
  const IntervalWidths& w = s.constants.interval;
  const auto asked = [&](Collective op) { return Operation{.collective = op, .bytes = units::MiB(256), .ranks = 8}; };
  CHECK(predict(s, asked(Collective::all_reduce)).basis == Basis::calibrated);
  CHECK(width(s, asked(Collective::all_reduce)) == Approx(w.nvls));
  CHECK(predict(s, asked(Collective::all_gather)).basis == Basis::sibling);
  CHECK(width(s, asked(Collective::all_gather)) == Approx(std::hypot(w.ring_simple, w.sibling)));
  CHECK(predict(s, asked(Collective::broadcast)).basis == Basis::sibling);
  CHECK(width(s, asked(Collective::broadcast)) == Approx(std::hypot(w.ring_simple, w.sibling, w.unmeasured_operation)));
  s.constants.basis = Basis::sibling;
  CHECK(width(s, asked(Collective::all_gather)) == Approx(std::hypot(w.ring_simple, w.sibling)));
  CHECK(width(s, asked(Collective::broadcast)) == Approx(std::hypot(w.ring_simple, w.sibling, w.unmeasured_operation)));
}

TEST_CASE("between nodes it is the transport's measurements that count", "[predict]") {
  System s = measured_box();
  s.constants.operations = {.here = 0, .alike = 0, .anywhere = 0};
  s.constants.transport_operations = {.here = bits({Collective::all_gather}), .alike = ~0U, .anywhere = bits({Collective::all_gather})};
  const auto asked = [&](Collective op) { return Operation{.collective = op, .bytes = units::MiB(256), .nodes = 4}; };
  CHECK(predict(s, asked(Collective::all_gather)).basis == Basis::calibrated);
  CHECK(predict(s, asked(Collective::broadcast)).basis == Basis::sibling);
  CHECK(width(s, asked(Collective::broadcast)) > width(s, asked(Collective::all_gather)));
}

TEST_CASE("beyond the measured nodes the interval grows with the root of the doublings", "[predict]") {
  System s = measured_box();
  const auto wider = [&](int measured) {
    s.constants.most_nodes = measured;
    return width(s, {.collective = Collective::all_reduce, .bytes = units::MiB(256), .nodes = 64});
  };
  CHECK(wider(32) - wider(64) == Approx(s.constants.interval.beyond_ranks));
  CHECK(wider(4) - wider(64) == Approx(2 * s.constants.interval.beyond_ranks));
}

TEST_CASE("an engine's kernel is calibrated only where it was measured, and less sure on another kind of domain", "[predict]") {
  System s = measured_box();
  s.constants.custom_basis = Basis::calibrated;
  s.constants.interval.custom_one_shot = s.constants.interval.host_launch = 0.1;
  const auto only = [](CollectiveKernel k) { return 1U << static_cast<unsigned>(k); };
  const Choice vllm{.inference = {.library = InferenceLibrary::vllm}},
      python{.inference = {.library = InferenceLibrary::vllm, .from_host = true}};
  const Operation op = AllReduce{.bytes = units::KiB(64), .ranks = 8};
  const auto wide = [&](const Choice& choice) {
    const Prediction p = predict(s, op, choice);
    return std::log(p.high / p.seconds);
  };
  CHECK(predict(s, op, vllm).ran.kernel == CollectiveKernel::pull_one_shot);
  CHECK(predict(s, op, vllm).basis == Basis::calibrated);
  const double known = wide(vllm), called = wide(python);
  s.constants.custom_kernels = {.here = 0, .alike = only(CollectiveKernel::pull_one_shot), .anywhere = only(CollectiveKernel::pull_one_shot)};
  CHECK(predict(s, op, vllm).basis == Basis::sibling);
  CHECK(wide(vllm) == Approx(std::hypot(known, s.constants.interval.sibling)));
  CHECK(predict(s, op, python).basis == Basis::datasheet);  // a call from Python was measured nowhere
  s.constants.custom_kernels.alike = 0;
  CHECK(wide(vllm) == Approx(std::hypot(known, s.constants.interval.other_domain)));
  s.constants.custom_kernels.anywhere |= 1;
  CHECK(predict(s, op, python).basis == Basis::sibling);
  CHECK(wide(python) > called + 0.5);
  s.constants.custom_kernels.anywhere = 0;
  CHECK(predict(s, op, vllm).basis == Basis::datasheet);
}

TEST_CASE("switches of the network that reduce were measured from 2 GiB on, and intervals say so", "[predict]") {
  System s = systems::hopper_box();
  s.tiers[1].sharp = true;
  const auto at = [&](Bytes size) { return predict(s, AllReduce{.bytes = size, .nodes = 4}, {.algorithm = Algorithm::collnet_direct}); };
  const Prediction small = at(units::MiB(1)), large = at(units::GiB(8));
  CHECK(small.extrapolated.sizes);
  CHECK_FALSE(large.extrapolated.sizes);
  CHECK(std::log(small.high / small.low) > 1.2 * std::log(large.high / large.low));
}
