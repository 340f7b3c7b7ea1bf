// Networks between machines by switches, ports, cables and transceivers: closed forms of each kind, and bills that others published.
#include "catch.hpp"

#include <fabricost/plan/economics/cost.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/prices.hpp>

using namespace fabricost::plan;

namespace {

/// Nodes of `per_node` GPUs with a NIC of 400 Gbit/s each.
System nodes_of(int per_node) {
  System out = load_system("dgx-h100");
  out.gpus_per_node = out.domain = per_node;
  for (Tier& tier : out.tiers) {
    if (tier.role == TierRole::nic) tier.endpoints = per_node;
    if (tier.role == TierRole::scale_up) tier.endpoints = per_node;
  }
  return out;
}

NetworkSize joined(double gpus, ScaleOut kind, int radix, int per_node = 8) {
  return network_size(nodes_of(per_node), gpus, {.kind = kind, .radix = radix});
}

}  // namespace

TEST_CASE("a full k-ary fat tree has k^3/4 ends, 5 k^2/4 switches and 3 k^3/4 cables") {
  for (const int k : {16, 32, 64}) {
    const double ends = k * k * k / 4;
    const NetworkSize net = joined(ends, ScaleOut::fat_tree, k);
    CAPTURE(k);
    CHECK(net.nics == ends);
    CHECK(net.tiers == 3);
    CHECK(net.switches == 5 * k * k / 4);
    CHECK(net.cables == 3 * ends);
    CHECK(net.copper() == ends);
    CHECK(net.transceivers() == 4 * ends);
    CHECK(joined(ends + 8, ScaleOut::fat_tree, k).tiers == 4);
    CHECK(joined(k * k / 2, ScaleOut::fat_tree, k).tiers == 2);
  }
}

TEST_CASE("NVIDIA's SuperPODs of B300: leaf and spine switches and cables of its reference architectures") {
  // docs.nvidia.com/dgx-superpod, scalable-infrastructure-b300 (64 ports), -b300-xdr (144 ports): GPUs, leaves + spines, cables of a tier
  struct Line {
    int radix;
    double gpus, switches, cables;
  };
  for (const Line& l : {Line{64, 512, 24, 512}, Line{64, 1024, 48, 1024}, Line{64, 2048, 96, 2048}, Line{144, 576, 12, 576},
                        Line{144, 1152, 24, 1152}, Line{144, 4608, 100, 4608}}) {
    const NetworkSize net = joined(l.gpus, ScaleOut::fat_tree, l.radix);
    CAPTURE(l.gpus);
    CHECK(net.tiers == 2);
    CHECK(net.cables == 2 * l.cables);
    CHECK(net.switches == Approx(l.switches).epsilon(0.045));  // whole switches, and some left free
  }
}

TEST_CASE("rails are trees that only the nodes join: a tier as long as the nodes fit one switch") {
  CHECK(joined(64 * 8, ScaleOut::rail, 64).tiers == 1);
  CHECK(joined(64 * 8, ScaleOut::rail, 64).switches == 8);
  CHECK(joined(65 * 8, ScaleOut::rail, 64).tiers == 2);
  CHECK(joined(64 * 8, ScaleOut::rail, 64).copper() == 0);
  CHECK(joined(4096, ScaleOut::rail, 64).ports <= joined(4096, ScaleOut::fat_tree, 64).ports);
}

TEST_CASE("a full balanced dragonfly: 4 h^4 + 2 h^2 ends, a cable between any two groups") {
  for (const int h : {4, 8, 16}) {
    const int radix = 4 * h - 1;
    const double groups = 2.0 * h * h + 1, ends = 2.0 * h * h * groups;
    REQUIRE(ends == 4.0 * h * h * h * h + 2.0 * h * h);
    const NetworkSize net = joined(ends, ScaleOut::dragonfly, radix, h);
    CAPTURE(h);
    CHECK(net.switches == Approx(2 * h * groups));
    CHECK(net.optical == Approx(groups * (groups - 1) / 2));
    CHECK(net.copper() == Approx(ends + groups * (2.0 * h) * (2.0 * h - 1) / 2));
    CHECK(net.ports == Approx(ends + 2 * (net.cables - ends)));  // each cable between switches has two ends
    CHECK_THROWS_WITH(joined(ends + h, ScaleOut::dragonfly, radix, h), Catch::Contains("joins at most"));
  }
}

TEST_CASE("a torus needs no switches; of a TPU v4 cube in a rack a quarter of the cables is optical") {
  System cube = nodes_of(8);
  for (Tier& tier : cube.tiers)
    if (tier.role == TierRole::nic) tier.endpoints = 6;
  const NetworkSize net = network_size(cube, 8 * 4096, {.kind = ScaleOut::torus, .machines_of_a_rack = 64});
  CHECK(net.ports == 0);
  CHECK(net.tiers == 0);
  CHECK(net.cables == 3 * 4096);
  CHECK(net.optical == Approx(net.cables / 4));
  CHECK(network_size(cube, 8 * 4096, {.kind = ScaleOut::torus}).copper() == Approx(0));
  System lone = nodes_of(8);
  for (Tier& tier : lone.tiers)
    if (tier.role == TierRole::nic) tier.endpoints = 1;
  CHECK_THROWS_WITH(network_size(lone, 64, {.kind = ScaleOut::torus}), Catch::Contains("at least 2 NICs"));
}

TEST_CASE("interest: equal payments over the lifetime, nothing at zero, close to the price x rate x years / 2 for small rates") {
  CHECK(paid_over_price(0, 5) == 1);
  CHECK(paid_over_price(0.08, 5) == Approx(5 * 0.08 / (1 - std::pow(1.08, -5))));
  double left = 1;  // a loan paid back in equal parts at each year's end is paid back
  for (int year = 0; year < 5; ++year) left = left * 1.08 - paid_over_price(0.08, 5) / 5;
  CHECK(std::fabs(left) < 1e-12);
  const System h100 = load_system("dgx-h100");
  Prices prices = load_prices();
  const Money none = money_of(h100, 1024, units::h(100), prices);
  prices.interest.value = 0.08;
  prices.storage.value = 0.1;
  const Money with = money_of(h100, 1024, units::h(100), prices);
  CHECK(none.interest == Dollars{});
  CHECK(with.storage.value() == Approx(0.1 * with.servers.value()));
  CHECK(with.interest.value() == Approx((with.servers + with.network + with.storage).value() * (paid_over_price(0.08, 5) - 1)));
  CHECK(with.owned().value() == Approx(none.owned().value() + with.storage.value() + with.interest.value()));
  CHECK((with * 2).owned().value() == Approx(2 * with.owned().value()));
}

TEST_CASE("racks: four nodes of B300 as in NVIDIA's SuperPODs, one rack for an NVL72, not known of a pod larger than a rack") {
  const PowerUse use = load_prices().power;
  CHECK(racks_of(load_system("dgx-b300"), 576, use) == 18);  // 72 systems in 18 racks, scalable-infrastructure-b300-xdr
  CHECK(racks_of(load_system("dgx-h100"), 256 * 4, use) == 32);
  CHECK(racks_of(load_system("gb200-nvl72"), 73, use) == 2);
  CHECK(racks_of(load_system("cloudmatrix384"), 384, use) == 0);
  CHECK(racks_of(load_system("dgx-h100"), 8, PowerUse{}) == 0);
}
