// The forms of the reference fit, written out in tests/support/fitted.hpp, against the prices of a system of that generation.
#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/fabricost.hpp>

#include "catch.hpp"
#include "support/fabrics.hpp"
#include "support/fitted.hpp"
#include "support/systems.hpp"

using namespace fabricost::core;

namespace {

struct Machine {
  System system;
  const fitted::Generation& generation;
};
std::vector<Machine> machines() {
  std::vector<Machine> out{
      {systems::ampere_box(), fitted::ampere}, {systems::hopper_box(), fitted::hopper}, {systems::blackwell_box(), fitted::blackwell}};
  for (Machine& m : out) m.system.constants = fitted::constants_of(m.generation);
  return out;
}

std::vector<double> sizes() {
  std::vector<double> out{0, 1, 7, 300};
  for (double s = 512; s <= 8589934592.0; s *= 2)
    for (const double factor : {1.0, 1.37, 1.9}) out.push_back(std::floor(s * factor));
  return out;
}

void compare(const System& system, Operation op, Candidate pair, double bytes, double microseconds) {
  op.bytes = Bytes::from_value(bytes);
  const Prediction p = predict(system, op, {.algorithm = pair.algorithm, .protocol = pair.protocol});
  if (!(std::fabs(p.seconds * 1e6 - microseconds) <= 1e-9 * microseconds))
    FAIL_CHECK(system.name << " " << name(op.collective) << " " << name(op.dtype) << " ranks " << op.ranks << " " << name(pair.algorithm)
                           << " " << name(pair.protocol) << " " << bytes << " B: " << p.seconds * 1e6 << " us, the form says "
                           << microseconds);
}

}  // namespace

TEST_CASE("rings inside a server follow the fitted forms", "[price]") {
  const std::vector<std::pair<Collective, fitted::Op>> ops{{Collective::all_reduce, fitted::Op::all_reduce},
                                                           {Collective::all_gather, fitted::Op::all_gather},
                                                           {Collective::reduce_scatter, fitted::Op::reduce_scatter}};
  for (const Machine& m : machines())
    for (const auto& [collective, op] : ops)
      for (const int n : {2, 3, 4, 8})
        for (const DataType dtype : {DataType::half, DataType::int8})
          for (const double S : sizes()) {
            const Operation question{.collective = collective, .ranks = n, .dtype = dtype};
            const bool wide = dtype == DataType::int8;
            compare(m.system, question, {Algorithm::ring, Protocol::ll}, S, fitted::ring_ll(op, S, n, m.generation, wide));
            compare(m.system, question, {Algorithm::ring, Protocol::ll128}, S, fitted::ring_ll128(op, S, n, m.generation, wide));
            compare(m.system, question, {Algorithm::ring, Protocol::simple}, S, fitted::ring_simple(op, S, n, m.generation, wide));
          }
}

TEST_CASE("in-switch all_reduce inside a server follows the fitted form", "[price]") {
  for (const Machine& m : machines()) {
    if (m.generation.BN <= 0) continue;
    for (const double S : sizes())
      compare(m.system, {.collective = Collective::all_reduce, .ranks = 8}, {Algorithm::nvls, Protocol::simple}, S,
              fitted::nvls(S, 8, m.generation));
  }
}

TEST_CASE("all_to_all inside a server follows the fitted forms", "[price]") {
  for (const Machine& m : machines())
    for (const int n : {2, 3, 4, 8})
      for (const double S : sizes()) {
        const Operation question{.collective = Collective::all_to_all, .ranks = n};
        if (S / n <= 16384) compare(m.system, question, {Algorithm::direct, Protocol::ll}, S, fitted::exchange_ll(S, n, m.generation));
        compare(m.system, question, {Algorithm::direct, Protocol::simple}, S, fitted::exchange_simple(S, n, m.generation));
      }
}

TEST_CASE("between servers the fitted forms hold", "[price]") {
  // the multi-node fit's forms with the transport's default constants; a ring's drain step, x V, is left out between nodes
  System system = systems::hopper_box();
  system.constants = fitted::constants_of(fitted::hopper);
  const TransportConstants t = fabricost::core::transport_prior;
  const fitted::Generation& gen = fitted::hopper;
  const double us = 1e6;
  for (const int N : {2, 4, 16})
    for (const int g : {1, 4, 8}) {
      const int n = N * g;
      const double W = 50e3 * g;  // bytes per microsecond, one NIC a GPU
      const double E = t.efficiency * W;
      const double inner = g > 1 ? gen.B * 1e3 : 1e24;
      const double kN = N - 1, kI = n - 1 - kN, j = 2.0 * (g - 1), d = 2 * std::log2(N), w = N == 2 ? 1 : 0.5;
      const double inside = g > 1 ? inner * g / (g - 1) : inner, Br = std::min(inside, E);  // one hop of g leaves the domain
      const double of_128 = std::min(inside, 120.0 / 128 * E);                              // LL128 carries 120 of 128 bytes
      for (const double S : sizes()) {
        const double V = S / n, u = V / g / 1e3, U = S / g / 1e3;
        for (const int halves : {1, 2}) {
          const Operation question{.collective = halves == 2 ? Collective::all_reduce : Collective::all_gather, .ranks = n, .nodes = N};
          const double k = halves * (n - 1.0), a = halves * kI, b = halves * kN;
          const double borders = g > 1 ? halves * N : b;  // Simple waits for the longest path
          compare(
              system, question, {Algorithm::ring, Protocol::ll}, S,
              gen.c0 + gen.h * a + b * us * (t.ring_ll_step + 0.52 * t.tree_growth * u * u / (u * u + 1.7)) + k * V / (t.ll_share * Br));
          compare(system, question, {Algorithm::ring, Protocol::ll128}, S,
                  gen.c0 + 3.17 * gen.h * a + fitted::norm(1.1, b * us * t.ll128_step, k * V / of_128));
          compare(system, question, {Algorithm::ring, Protocol::simple}, S,
                  gen.c0 + fitted::norm(t.ring_overlap,
                                        gen.f + gen.hs * (k - borders) + borders * us * t.ring_simple_step * (0.25 + 0.75 * u / (u + 52)),
                                        k * V / Br));
        }
        const Operation question{.collective = Collective::all_reduce, .ranks = n, .nodes = N};
        const double slow = inner / (g > 1 ? 2 : 1), wide = E * w;
        const double At = std::pow(std::pow(slow, -6) + std::pow(wide, -6), -1.0 / 6);
        const double ht = us * system.constants.scale_up.tree_hop, far = N == 16 ? 1.04 : 1;  // a doubling beyond 8 nodes
        compare(system, question, {Algorithm::tree, Protocol::ll}, S,
                gen.c0 + (g > 1 ? ht * j * std::pow(j / 6, 1.1) : 0) +
                    far * d * us * (t.tree_step + t.tree_growth * U * U / (U * U + 1.7)) + S / (t.ll_share * At));
        compare(system, question, {Algorithm::tree, Protocol::ll128}, S,
                gen.c0 + 3.17 * gen.h * j + far * d * us * t.ll128_step * (0.5 + U / (U + 400)) + S / (0.77 * At));
        compare(system, question, {Algorithm::tree, Protocol::simple}, S,
                gen.c0 + gen.f + 0.18 * gen.hs * j + far * d * us * t.tree_simple_step * (0.26 + U / (U + 2000)) +
                    S / std::min(At, std::max(2, g) * (N == 2 ? 41.4e3 : 36e3) * n / (2.0 * (n - 1))));  // a channel a NIC
        if (g == 8)
          compare(system, question, {Algorithm::nvls_tree, Protocol::simple}, S,
                  us * t.nvls_floor + d * us * t.nvls_step * (0.07 + 0.93 * U / (U + 2000)) +
                      S / std::min({gen.BN / std::hypot(1.0, gen.lN / 128) * 1e3 * g / (2.0 * (g - 1)), E * w,
                                    8 * 57.7e3 * n / (2.0 * (n - 1))}));  // 8 heads of 57.7 GB/s
        const double across = S * g * (1 - 1.0 / N) / (t.exchange_share * W);
        const double in_node = S * g / n / inner;
        compare(system, {.collective = Collective::all_to_all, .ranks = n, .nodes = N}, {Algorithm::direct, Protocol::simple}, S,
                gen.c0 + us * t.exchange_base + (n - g) * us * (t.exchange_peer + (V > 16384 ? t.exchange_peer_simple : 0)) +
                    std::sqrt(across * across + in_node * in_node));
      }
    }
}

TEST_CASE("several NICs of one GPU are one device: splitting them changes no time, a GPU without its own does", "[price]") {
  const System whole = systems::hopper_box();
  System rails = whole, few = whole;
  for (auto [system, factor] : {std::pair{&rails, 4}, std::pair{&few, 0}})
    for (Tier& tier : system->tiers)
      if (tier.role == TierRole::nic) {
        const double rate = tier.bandwidth.value.value() * tier.endpoints;
        tier.endpoints = factor > 0 ? factor * tier.endpoints : tier.endpoints / 2;
        tier.bandwidth.value = Bandwidth::from_value(rate / tier.endpoints);
      }
  for (const Protocol protocol : {Protocol::ll, Protocol::simple}) {
    Operation question{.collective = Collective::all_reduce, .ranks = 16, .nodes = 2};
    question.bytes = units::KiB(64);
    const Choice tree{.algorithm = Algorithm::tree, .protocol = protocol};
    const double seconds = predict(whole, question, tree).seconds;
    CHECK(predict(rails, question, tree).seconds == Approx(seconds).epsilon(1e-9));
    CHECK(predict(few, question, tree).seconds > seconds);  // more of the message through each
  }
}

TEST_CASE("between two ranks a broadcast copies nothing; more keep an eighth of it, and a rack's steps are shorter", "[price]") {
  const ScaleUpConstants c = fabricost::core::scale_up_prior;
  const auto line_of = [&](Collective op, int n, Protocol protocol) {
    const Fabric f = support::fabric(n);
    return price_ring(schedule_of(Algorithm::ring, op, f), f, c, protocol, 16, false);
  };
  for (const auto& [protocol, drain] : {std::pair{Protocol::ll128, c.ll128.drain}, {Protocol::simple, c.simple.drain}})
    for (const int n : {2, 4, 8}) {
      const Line line = line_of(Collective::broadcast, n, protocol);
      INFO(n << " ranks, " << name(protocol));
      CHECK(line.rate / line.rate_parts[0].value() == Approx(n == 2 ? 1 : 1 + drain / 8));
      CHECK((line.early_rate > 0) == (n > 2 && protocol == Protocol::simple));
    }
  const auto steps = [&](int n) { return line_of(Collective::all_gather, n, Protocol::simple).latency - c.simple.floor; };
  CHECK(steps(8) == Approx(7 * c.simple.hop));
  CHECK(steps(72) == Approx(71 * c.simple.hop * std::pow(9, -c.form.rack_hop_power)));
}
