/// \file test_cost.cpp
/// Money, power and energy: by hand, against a published bill of materials, and the contents of price files.

#include "catch.hpp"
#include "support/message_of.hpp"
#include "support/systems.hpp"

#include <fabricost/plan/specs/failures.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/prices.hpp>

using namespace fabricost::plan;

namespace {

double usd(Dollars d) { return in(d, units::USD).value(); }
double kilowatts(Watts w) { return in(w, units::kW).value(); }

class File {
 public:
  explicit File(const std::string& text) : path_(std::filesystem::temp_directory_path() / "fabricost_prices.yaml") {
    std::ofstream(path_) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

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
  CHECK_FALSE(money_of(h100, 8, units::h(1), prices).rent_known);
  CHECK(money_of(h100, 8, units::h(1), prices).paid() == money_of(h100, 8, units::h(1), prices).owned());
  prices.gpu_hour.value = units::USD_per_h(2);
  CHECK(rent_of(h100, prices).kind == PriceKind::stated);
  System own = h100;
  own.gpu.price.value = units::USD_per_h(1.5);  // a description that says it
  CHECK(rent_of(own, load_prices()).kind == PriceKind::stated);
}
