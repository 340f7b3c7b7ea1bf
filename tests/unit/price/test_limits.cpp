// Limits of every price when the message is very small or very large.
#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/fabricost.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/price/lower_bound.hpp>

#include "catch.hpp"
#include "support/fitted.hpp"
#include "support/systems.hpp"

using namespace fabricost::core;

namespace {

double seconds(const System& system, const Operation& op, Candidate pair, double bytes) {
  return compile(system, op, {.algorithm = pair.algorithm, .protocol = pair.protocol}).seconds(bytes);
}
/// Seconds per byte of S where latency no longer matters.
double slope(const System& system, const Operation& op, Candidate pair) {
  const double large = 1e15;
  const Curve curve = compile(system, op, {.algorithm = pair.algorithm, .protocol = pair.protocol});
  return (curve.seconds(2 * large) - curve.seconds(large)) / large;
}
System fitted_hopper() {
  System s = systems::hopper_box();
  s.constants = fitted::constants_of(fitted::hopper);
  return s;
}

}  // namespace

TEST_CASE("an empty message costs the launch and a hop for each step", "[price]") {
  const System s = fitted_hopper();
  const auto& up = s.constants.scale_up;
  const auto& t = s.constants.transport;
  for (const int n : {2, 4, 8}) {
    const double m = n - 1;
    CHECK(seconds(s, {.collective = Collective::all_reduce, .ranks = n}, {Algorithm::ring, Protocol::ll}, 0) ==
          Approx(up.launch + 2 * m * up.ll.hop));
    CHECK(seconds(s, {.collective = Collective::all_gather, .ranks = n}, {Algorithm::ring, Protocol::ll}, 0) ==
          Approx(up.launch + m * up.ll.hop));
    CHECK(seconds(s, {.collective = Collective::broadcast, .ranks = n}, {Algorithm::ring, Protocol::ll}, 0) ==
          Approx(up.launch + m * up.ll.hop));
    CHECK(seconds(s, {.collective = Collective::all_reduce, .ranks = n}, {Algorithm::rabenseifner, Protocol::ll}, 0) ==
          Approx(up.launch + 2 * std::log2(n) * up.ll.hop));
    CHECK(seconds(s, {.collective = Collective::all_reduce, .ranks = n}, {Algorithm::one_shot, Protocol::ll}, 0) ==
          Approx(up.launch + up.ll.hop));
  }
  for (const int N : {2, 8}) {
    const Operation op{.collective = Collective::all_reduce, .ranks = 8 * N, .nodes = N};
    CHECK(seconds(s, op, {Algorithm::ring, Protocol::ll}, 0) ==
          Approx(up.launch + 2 * (8 * N - N) * up.ll.hop + 2 * (N - 1) * t.ring_ll_step));
    CHECK(seconds(s, op, {Algorithm::hierarchical, Protocol::ll}, 0) == Approx(up.launch + 14 * up.ll.hop + 2 * (N - 1) * t.tree_step));
  }
}

TEST_CASE("a large message costs its bytes over the achievable rate", "[price]") {
  const System s = fitted_hopper();
  const double B = 389e9;
  const double x = fitted::hopper.x;
  for (const int n : {2, 4, 8}) {
    INFO(n << " ranks");
    const double m = n - 1;
    CHECK(slope(s, {.collective = Collective::all_gather, .ranks = n}, {Algorithm::ring, Protocol::simple}) ==
          Approx((m + x) / n / B).epsilon(1e-5));
    CHECK(slope(s, {.collective = Collective::all_reduce, .ranks = n}, {Algorithm::ring, Protocol::simple}) ==
          Approx((2 * m + x) / n / (1.04 * B)).epsilon(1e-5));
    CHECK(slope(s, {.collective = Collective::all_to_all, .ranks = n}, {Algorithm::direct, Protocol::simple}) ==
          Approx((m + 0.25 / (n == 2 ? 2 : n == 4 ? 4 : 8)) / n / 343e9).epsilon(1e-5));  // all 32 channels copy the own part
    // priced from the schedule alone: bytes over the ring's rate
    CHECK(slope(s, {.collective = Collective::all_reduce, .ranks = n}, {Algorithm::two_shot, Protocol::simple}) ==
          Approx(2 * m / n / B).epsilon(1e-5));
    CHECK(slope(s, {.collective = Collective::all_reduce, .ranks = n}, {Algorithm::one_shot, Protocol::simple}) ==
          Approx(m / B).epsilon(1e-5));
    CHECK(slope(s, {.collective = Collective::all_reduce, .ranks = n}, {Algorithm::halving_doubling, Protocol::simple}) ==
          Approx(2 * m / n / B).epsilon(1e-5));
  }
  CHECK(slope(s, {.collective = Collective::all_reduce, .ranks = 8}, {Algorithm::nvls, Protocol::simple}) ==
        Approx(1.75 / 496e9 * std::hypot(1.0, 26 / 128.0)).epsilon(1e-5));  // in chunks of 128 KiB
  const double W = 0.95 * 400e9;  // eight NICs
  for (const int N : {2, 8}) {
    INFO(N << " nodes");
    const double n = 8 * N;
    const Operation op{.collective = Collective::all_reduce, .ranks = 8 * N, .nodes = N};
    CHECK(slope(s, op, {Algorithm::ring, Protocol::simple}) == Approx(2 * (n - 1) / n / std::min(W, B)).epsilon(1e-5));
    CHECK(slope(s, op, {Algorithm::hierarchical, Protocol::simple}) == Approx(2 * 7 / 8.0 / B + 2 * (N - 1.0) / N / W).epsilon(1e-5));
    CHECK(slope(s, {.collective = Collective::send_recv, .nodes = N, .path = Path::nic}, {Algorithm::direct, Protocol::simple}) ==
          Approx(1 / std::min(0.98 * 50e9, (N > 4 ? 2 : 4) * s.constants.transport.send_channel)).epsilon(1e-5));
  }
}

TEST_CASE("low-latency rings stay flat while channels fill and then grow with whole chunks", "[price]") {
  const System s = fitted_hopper();
  const auto& ll = s.constants.scale_up.ll;
  const double channel_rate = ll.channel_share * 450e9 / 24;
  for (const int n : {2, 4, 8}) {
    INFO(n << " ranks");
    const Curve curve =
        compile(s, {.collective = Collective::all_gather, .ranks = n}, {.algorithm = Algorithm::ring, .protocol = Protocol::ll});
    const double one = 4096.0 * n, full = one * 24;
    CHECK(curve.seconds(full) - curve.seconds(one) == Approx(ll.channels_cost * (1 - 1.0 / 24)));
    CHECK(curve.seconds(full * 1.0001) - curve.seconds(full) > 0.68 * n * 4096 / channel_rate);  // the next chunk's round begins
    CHECK(curve.seconds(2 * full) - curve.seconds(full) == Approx(n * 4096 / channel_rate));
  }
}

TEST_CASE("a copy to the host runs at the host link's rate after packet overhead", "[price]") {
  System s = systems::hopper_box();
  Tier pcie;
  pcie.name = "pcie";
  pcie.role = TierRole::host;
  pcie.kind = TierKind::host;
  pcie.endpoints = 8;
  pcie.bandwidth.value = systems::gigabytes(63);
  pcie.efficiency = 0.9;
  s.tiers.insert(s.tiers.begin() + 1, pcie);
  const Prediction p = predict(s, SendRecv{.bytes = units::GB(1), .path = Path::gpu_host});
  const PcieForm& form = s.constants.pcie.form;
  CHECK(p.seconds == Approx(1e9 / (form.copy_share * 63e9) + 0.5 * (form.copy_start_to + form.copy_start_from)));
  CHECK(p.bottleneck().tier.view() == "pcie");
}

TEST_CASE("a machine of one GPU copies to its host too", "[price]") {
  System s = systems::lone_gpus();
  Tier pcie;
  pcie.name = "pcie";
  pcie.role = TierRole::host;
  pcie.kind = TierKind::host;
  pcie.bandwidth.value = systems::gigabytes(63);
  s.tiers.insert(s.tiers.begin(), pcie);
  const PcieForm& form = s.constants.pcie.form;
  CHECK(predict(s, SendRecv{.bytes = units::GB(1), .path = Path::to_gpu}).seconds == Approx(1 / (form.copy_share * 63) + form.copy_start_to));
  s.tiers.front().copies = {systems::gigabytes(60), systems::gigabytes(50), {}};  // its own figures come first
  CHECK(predict(s, SendRecv{.bytes = units::GB(1), .path = Path::from_gpu}).seconds == Approx(1 / 50.0 + form.copy_start_from));
  CHECK(predict(s, SendRecv{.bytes = units::GB(1), .path = Path::both_ways}).seconds ==
        Approx(form.copy_share / form.copy_share_both / 50 + form.copy_start_both));
  s.tiers.front().bandwidth.value = systems::gigabytes(40);  // no copy is faster than its link
  CHECK(predict(s, SendRecv{.bytes = units::GB(1), .path = Path::to_gpu}).seconds == Approx(1 / 40.0 + form.copy_start_to));
}

TEST_CASE("a message to another node is promised no more than the NICs of its own GPU carry", "[price]") {
  for (const int nics : {1, 4, 8}) {
    System s = systems::hopper_box();
    s.tiers[1].endpoints = nics;
    const Fabric f = fabric_of(s, Operation{.collective = Collective::send_recv, .ranks = 16, .nodes = 2});
    CHECK(min_per_byte(schedule_of(Algorithm::direct, Collective::send_recv, f), f) == Approx(1 / 50e9));
  }
}
