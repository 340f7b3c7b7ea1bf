// Money, power and energy: by hand, against a published bill of materials, and the contents of price files.
#include <fabricost/plan/economics/cost.hpp>
#include <fabricost/plan/specs/failures.hpp>
#include <fabricost/plan/specs/prices.hpp>
#include <fabricost/specs/load.hpp>

#include "support/message_of.hpp"
#include "support/systems.hpp"

#include "catch.hpp"

using namespace fabricost::plan;

namespace {

double usd(Dollars d) { return in(d, units::USD).value(); }
double kilowatts(Watts w) { return in(w, units::kW).value(); }

}  // namespace

TEST_CASE("a rent is GPUs times time times price, whoever names the price") {
  const System h100 = load_system("dgx-h100");
  Prices prices = load_prices();
  CHECK(usd(money_of(h100, 1024, units::h(10), prices).rented) == within(1024 * 10 * 3.92, 1e-12));
  std::find_if(prices.gpus.begin(), prices.gpus.end(), [](const GpuPrice& p) { return p.gpu == "gb200"; })->rent.value =
      units::USD_per_h(3);
  CHECK(usd(money_of(load_system("gb200-nvl72"), 72, units::h(1), prices).rented) == within(216, 1e-12));
  prices.gpu_hour.value = units::USD_per_h(2);
  CHECK(usd(money_of(h100, 1024, units::h(10), prices).rented) == within(20480, 1e-12));
  CHECK(usd((money_of(h100, 1024, units::h(10), prices) * 0.5).rented) == within(10240, 1e-12));
}

TEST_CASE("the network is that of a published bill: 768 switches and 69.6 M dollars for 16,384 H100s") {
  // H100 cluster sheet, August 2024: GPUs, switches, dollars of switches, dollars of cables
  struct Line {
    double gpus, switches, ports, cables;
  };
  const System h100 = load_system("dgx-h100");
  const Prices prices = load_prices();
  for (const Line& l : {Line{512, 8, 288e3, 675840}, Line{16384, 768, 27.648e6, 41.94304e6}, Line{32768, 2560, 92.16e6, 124.5184e6}}) {
    const NetworkSize net = network_size(h100, l.gpus);
    CHECK(net.ports / 64 == within(l.switches, 1e-12));
    CHECK(usd(network_price_of(h100, l.gpus, prices)) == within(l.ports + l.cables, 0.025));
  }
  CHECK(network_size(h100, 8).tiers == 0);  // one domain needs none
  CHECK(usd(network_price_of(load_system("gb200-nvl72"), 72, prices)) == 0);
  CHECK(network_size(load_system("gb200-nvl72"), 576).nics == 576);
}

TEST_CASE("Ethernet ports are cheaper and cables are not") {
  Prices prices = load_prices();
  const std::vector<std::string> even{"spine.oversubscription=1"};
  const System ib = load_system("meta-24k-ib"), ethernet = load_system("meta-24k-roce", even);
  const double ports = 24576 * 5 * 562.5, cables = 24576 * 3 * 1280.0;
  CHECK(usd(network_price_of(ib, 24576, prices)) == within(ports + cables, 1e-9));
  const double half = usd(network_price_of(ethernet, 24576, prices));
  prices.ethernet_port.value = 1;
  const double whole = usd(network_price_of(ethernet, 24576, prices));
  CHECK(2 * (whole - half) == within(ports, 1e-9));
}

TEST_CASE("power is the rating's share, the switches and the cooling") {
  const System h100 = load_system("dgx-h100");
  const Prices prices = load_prices();
  const PowerUse of_nobody;  // the header's defaults are those of the file
  CHECK(of_nobody.load.value == prices.power.load.value);
  CHECK(of_nobody.pue.value == prices.power.pue.value);
  CHECK(of_nobody.node_over_gpus.value == prices.power.node_over_gpus.value);
  CHECK(of_nobody.switch_radix == prices.power.switch_radix);
  const Power node = power_of(h100, 8, prices.power);
  CHECK(kilowatts(node.rated) == within(10.2, 1e-12));
  CHECK(kilowatts(node.racks) == within(8.4, 0.005));  // measured at most
  CHECK(node.switches == Watts{});
  CHECK(kilowatts(node.site) == within(10.2 * 0.82 * 1.2, 1e-12));
  CHECK(kilowatts(power_of(load_system("gb200-nvl72"), 72, prices.power).rated) == within(120, 1e-12));
  CHECK(kilowatts(power_of(load_system("gb200-nvl72"), 36, prices.power).rated) == within(60, 1e-12));
  CHECK(kilowatts(power_of(h100, 16384, prices.power).switches) == within(49152 * 27 / 1e3, 1e-9));
  // only the GPU's power is known
  const Power card = power_of(load_system("hgx-a100-4"), 4, prices.power);
  CHECK(kilowatts(card.rated) == within(4 * 0.4 * 1.8, 1e-9));
  CHECK(card.basis.confidence == Confidence::assumed);
}

TEST_CASE("owning is writing off, electricity and a site") {
  const System h100 = load_system("dgx-h100");
  const Prices prices = load_prices();
  const Money year = money_of(h100, 8, units::h(8766), prices);
  CHECK(usd(year.servers) == within(310000.0 / 5, 1e-9));
  CHECK(usd(year.network) == 0);
  CHECK(usd(year.electricity) == within(10.2 * 0.82 * 1.2 * 8766 * 0.08, 1e-9));
  CHECK(usd(year.site) == within(10.2 * 150 * 12, 1e-9));
  CHECK(usd(year.owned()) == within(usd(year.servers) + usd(year.electricity) + usd(year.site), 1e-12));
  CHECK(year.paid() == year.rented);
  const Power two = power_of(h100, 16, prices.power);  // with switches
  REQUIRE(two.switches > Watts{});
  CHECK(usd(money_of(h100, 16, units::h(8766), prices).site) == within(kilowatts(two.rated + two.switches) * 150 * 12, 1e-9));
  // the rack's own list price
  CHECK(usd(money_of(load_system("gb200-nvl72"), 72, units::h(8766 * 5.0), prices).servers) == within(3e6, 1e-9));
}

TEST_CASE("Llama 3 405B's 30.84 M GPU-hours come out of its MFU, its failures and 15.6 T tokens") {
  // 41 % MFU at 8,192 tokens on 16,384 GPUs (Llama 3, table 4), counted as 6 N and causal attention there: 2.55e12 FLOPs a token
  const FailureFacts facts = load_failure_facts();
  const FailureAnswer f =
      failures_of({.nodes = 2048,
                   .rate = facts.fleet("llama3").rate,
                   .checkpointing = {.stall = facts.background_stall, .drain = facts.background_drain, .recovery = facts.recovery}});
  const double per_token = 6 * 405e9 + 6.0 * 126 * 16384 * 8192;
  const double seconds = run_seconds(15.6e12, 16384 * 0.41 * 989e12 / per_token, f.share.kept);
  CHECK(16384 * seconds / 3600 / 1e6 == within(30.84, 0.07));
}

TEST_CASE("every shipped price has a source") {
  const Prices p = load_prices();
  CHECK(!p.date.empty());
  for (const auto& source : {p.electricity.provenance.source, p.site.provenance.source, p.lifetime.provenance.source,
                             p.switch_port.provenance.source, p.cable.provenance.source, p.ethernet_port.provenance.source,
                             p.power.load.provenance.source, p.power.pue.provenance.source, p.power.switch_port.provenance.source})
    CHECK(source.size() > 20);
  for (const GpuPrice& g : p.gpus) {
    CAPTURE(g.gpu);
    if (g.server.value > Dollars{}) CHECK(g.server.provenance.source.size() > 15);
    for (const Sourced<DollarRate>* rent : {&g.on_demand, &g.reserved})
      if (rent->value > DollarRate{}) CHECK(rent->provenance.source.size() > 12);
    CHECK_FALSE(g.rent.value > DollarRate{});  // of no kind: a user's own
  }
}

TEST_CASE("a rent has a kind, and a kind that was asked for is never replaced by another") {
  const System h100 = load_system("dgx-h100"), mi350x = load_system("mi350x-8");
  Prices prices = load_prices();
  CHECK(rent_of(h100, prices).kind == PriceKind::on_demand);
  CHECK(rent_of(mi350x, prices).kind == PriceKind::reserved);  // nothing else is known of it
  prices.kind = PriceKind::on_demand;
  CHECK_FALSE(money_of(mi350x, 8, units::h(1), prices).rent_known);
  prices.kind = PriceKind::reserved;
  CHECK(rent_of(h100, prices).kind == PriceKind::reserved);
  CHECK(rent_of(h100, prices).value < rent_of(h100, load_prices()).value);
  prices.kind = PriceKind::owned;
  CHECK(money_of(h100, 8, units::h(1), prices).rent_known);
  CHECK(money_of(h100, 8, units::h(1), prices).paid() == money_of(h100, 8, units::h(1), prices).owned());
  prices.gpu_hour.value = units::USD_per_h(2);
  CHECK(rent_of(h100, prices).kind == PriceKind::stated);
  System own = h100;
  own.gpu.price.value = units::USD_per_h(1.5);  // a description that says it
  CHECK(rent_of(own, load_prices()).kind == PriceKind::stated);
}

// Networks between machines by switches, ports, cables and transceivers: closed forms of each kind, and bills that others published.

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
    // one more port of each bottom switch joins ends that stand by, k of them, and no more
    const auto beside = [&](double spares) {
      return network_size(nodes_of(8), k * k / 2 + spares, {.kind = ScaleOut::fat_tree, .radix = k, .spare_gpus = spares}).tiers;
    };
    CHECK(beside(k) == 2);
    CHECK(beside(k + 8) == 3);
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

TEST_CASE("tiers that a machine's file describes are billed where fewer would join its nodes, and their taper with them") {
  const auto with = [](const char* taper) {
    return load_system("superpod-h100", std::vector<std::string>{"tiers.leaf.endpoints=16", "tiers.spine.endpoints=8", std::string{"tiers.leaf.oversubscription="} + taper});
  };
  const NetworkSize flat = network_size(load_system("dgx-h100"), 512), even = network_size(with("1"), 512), taper = network_size(with("2"), 512);
  CHECK(flat.tiers == 1);
  CHECK(even.tiers == 2);
  CHECK(even.ports == 512 * 3);
  CHECK(taper.tiers == 2);
  CHECK(taper.ports == 512 + 2 * 256);
  CHECK(taper.taper == 2);
  CHECK(network_size(with("1"), 128).tiers == 1);  // one leaf joins them
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
