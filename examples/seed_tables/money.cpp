/// \file money.cpp
/// The cost of communication overhead (text 003), in the library's own units: GPUs x rent x time.

#include <fabricost/plan/economics/reliability.hpp>
#include <fabricost/plan/specs/prices.hpp>
#include "specs.hpp"


#include <fmt/format.h>

namespace seed_tables {

using namespace fabricost::plan;

namespace {
double dollars(Dollars money) { return in(money, units::USD).value(); }
}  // namespace

Table cost() {
  const double cluster = 16384;
  const DollarRate rent = units::USD_per_h(3);
  const double one = 0.01 * cluster, five = 0.05 * cluster;
  const Dollars day = cost_of_share(0.01, cluster, units::h(24), rent), month = cost_of_share(0.05, cluster, units::h(30 * 24), rent);
  const double said_gpus = units::USD(47000) / (rent * units::h(24));
  const double months = payback(units::USD(10e6), five * rent) / units::h(30 * 24);
  const Prices prices = load_prices();
  const System& h100 = machine("dgx-h100");
  const NetworkSize net = network_size(h100, cluster, prices.power.switch_radix);
  const double network = dollars(network_price_of(h100, cluster, prices)), servers = dollars(server_price_of(h100, prices).value) * cluster;
  Prices ethernet = prices;  // the same fabric with Ethernet ports
  ethernet.switch_port.value = prices.switch_port.value * prices.ethernet_port.value;
  const double cheaper = dollars(network_price_of(h100, cluster, ethernet));
  const Money hour = money_of(h100, cluster, units::h(1), prices);
  const double owned = dollars(hour.owned()) / cluster;
  const Rent listed = rent_of(machine("dgx-h100"), prices);
  return {
      .title = "Money",
      .about = "Text 003: 16,384 GPUs at 3 USD an hour.",
      .rows = {{.label = "1 % of the GPUs",
                .said = "163",
                .ours = {.value = one, .unit = "GPUs", .decimals = 2},
                .verdict = judge(163, 163, one),
                .shown = "0.01 x 16,384"},
               {.label = "1 % overhead, a day",
                .said = "$47K",
                .ours = {.value = dollars(day), .unit = "USD", .decimals = 0},
                .verdict = judge(47000, 47000, dollars(day)),
                .shown = fmt::format("{} x 3 USD/h x 24 h; 47,000 USD is {} GPUs", text(one, 2), text(said_gpus, 0))},
               {.label = "5 % overhead, 30 days",
                .said = "$850K",
                .ours = {.value = dollars(month), .unit = "USD", .decimals = 0},
                .verdict = judge(850e3, 850e3, dollars(month)),
                .shown = fmt::format("{} x 3 USD/h x 720 h; the text's own daily figure would give {} USD", text(five, 1),
                                     text(47000.0 * 5 * 30, 0))},
               {.label = "a 10M USD upgrade that saves 5 % is paid back in",
                .said = "\"many times over\"",
                .ours = {.value = months, .unit = "months", .decimals = 2},
                .verdict = Verdict::qualified,
                .shown = fmt::format("10,000,000 / {}; with the text's 850,000 a month {} months", text(dollars(month), 0),
                                     text(10e6 / 850e3, 1))},
               {.label = "5 % overhead, 30 days, at the price in our spec",
                .said = "-",
                .ours = {.value = dollars(five * listed.value * units::h(30 * 24)), .unit = "USD", .decimals = 0},
                .verdict = Verdict::added,
                .shown = fmt::format("{} USD/h for an H100, {}; sellers differ threefold", text(in(listed.value, units::USD_per_h).value()),
                                     fabricost::core::name(listed.provenance.confidence))},
               {.label = "an InfiniBand port over an Ethernet one",
                .said = "1.5-2.5x",
                .ours = {.value = 1 / prices.ethernet_port.value, .unit = "x", .decimals = 1},
                .verdict = Verdict::unverifiable,
                .shown = "no port prices are published; data/prices takes the middle of the text's range, and says so"},
               {.label = "InfiniBand for 16,384 H100s, share of what is bought",
                .said = "-",
                .ours = {.value = 100 * network / (network + servers), .unit = "%", .decimals = 1},
                .verdict = Verdict::added,
                .shown = fmt::format(
                    "{} ports x {} + {} cables x {} USD = {} M; servers {} M; with Ethernet ports at half the price {} M less, {} % of all",
                    text(net.ports), text(dollars(prices.switch_port.value), 1), text(net.cables), text(dollars(prices.cable.value)),
                    text(network / 1e6, 1), text(servers / 1e6, 1), text((network - cheaper) / 1e6, 1),
                    text(100 * (network - cheaper) / (network + servers), 1))},
               {.label = "a GPU-hour of one's own",
                .said = "-",
                .ours = {.value = owned, .unit = "USD", .decimals = 2},
                .verdict = Verdict::added,
                .shown = fmt::format("servers {}, network {}, electricity {}, site {}: written off over {} years, every hour used",
                                     text(dollars(hour.servers) / cluster, 2), text(dollars(hour.network) / cluster, 2),
                                     text(dollars(hour.electricity) / cluster, 2), text(dollars(hour.site) / cluster, 2),
                                     text(in(prices.lifetime.value, units::h).value() / hours_of_a_year))}}};
}

Table energy() {
  const Prices prices = load_prices();
  const System &h = machine("dgx-h100"), &rack = machine("gb200-nvl72");
  const auto kilowatts = [](Watts w) { return in(w, units::kW).value(); };
  const auto row = [](std::string label, std::string said, Figure ours, Verdict verdict, std::string shown) {
    return Row{.label = std::move(label), .said = std::move(said), .ours = std::move(ours), .verdict = verdict, .shown = std::move(shown)};
  };
  const Power node = power_of(h, 8, prices.power), nvl = power_of(rack, 72, prices.power), cluster = power_of(h, 16384, prices.power);
  const double pounds = 3000 * 0.45359237, fp4 = rack.gpu.fp4.value / h.gpu.fp8.value,
               memory = rack.gpu.hbm_bandwidth.value / h.gpu.hbm_bandwidth.value;
  return {.title = "Power",
          .about = "Text 002's figures of a rack, and what follows from rated power. Nodes and racks stand under \"Rack against node\".",
          .rows = {row("NVL72, rated", "about 120 kW", {.value = kilowatts(nvl.rated), .unit = "kW"}, judge(120, 132, kilowatts(nvl.rated)),
                       fmt::format("{} kW a GPU all in; {} for its successor", text(kilowatts(nvl.rated) / 72, 2),
                                   text(kilowatts(machine("gb300-nvl72").power.value)))),
                   row("weight of a rack", "3,000 lb", {.value = pounds, .unit = "kg", .decimals = 0}, Verdict::reproduced,
                       "3,000 x 0.4536; no quantity of the model"),
                   row("a rack over as many H100s with InfiniBand", "30x", {.value = fp4, .unit = "x", .decimals = 1}, Verdict::qualified,
                       fmt::format(
                           "of a GPU, FP4 over FP8, both dense; memory {} times faster. 30 compares FP4 with FP8, a latency target and a "
                           "larger domain at once",
                           text(memory, 1))),
                   row("8 H100s, drawn under load", "-", {.value = kilowatts(node.racks), .unit = "kW", .decimals = 2}, Verdict::added,
                       fmt::format("{} x {}; 8.4 was measured at most", text(kilowatts(node.rated), 1), text(prices.power.load.value, 2))),
                   row("16,384 H100s with switches and cooling", "-", {.value = kilowatts(cluster.site) / 1e3, .unit = "MW", .decimals = 1},
                       Verdict::added,
                       fmt::format("(racks {} + switches {} MW) x PUE {}", text(kilowatts(cluster.racks) / 1e3, 1),
                                   text(kilowatts(cluster.switches) / 1e3, 1), text(prices.power.pue.value, 1)))}};
}

Table scaling_efficiency() {
  const auto percent = [](double part, double whole) { return 100 * part / whole; };
  const auto row = [](std::string label, std::string said, Figure ours, Verdict verdict, std::string shown) {
    return Row{.label = std::move(label), .said = std::move(said), .ours = std::move(ours), .verdict = verdict, .shown = std::move(shown)};
  };
  const auto range = [&](double low, double high) {
    return Figure{
        .low = percent(low, 8), .high = percent(high, 8), .note = fmt::format("{} to {} %", text(percent(low, 8)), text(percent(high, 8)))};
  };
  const double network = percent(35, 419);
  return {.title = "Scaling efficiency",
          .about = "Text 003's percentages from its own numbers.",
          .rows = {row("8 GPUs 6-7 times as fast", "80-90 %", range(6, 7),
                       judge(80, 90, percent(6, 8)) == Verdict::reproduced ? Verdict::reproduced : Verdict::qualified, "6 / 8 to 7 / 8"),
                   row("8 GPUs 3-4 times as fast", "40-50 %", range(3, 4),
                       judge(40, 50, percent(3, 8)) == Verdict::reproduced ? Verdict::reproduced : Verdict::qualified, "3 / 8 to 4 / 8"),
                   row("compute 85, communication 12, overhead 3", "87 %", {.value = percent(85, 97), .unit = "%", .decimals = 1},
                       judge(87, 87, percent(85, 97)), "85 / (85 + 12): overhead left out"),
                   row("compute 45, communication 50, overhead 5", "45 %", {.value = percent(45, 95), .unit = "%", .decimals = 1},
                       judge(45, 45, percent(45, 95)), "45 / (45 + 50) by the rule of the row above; 45 / 100 is another rule"),
                   row("all-reduce from 10 % to 25 % of a step", "InfiniBand to Ethernet",
                       {.value = 0.25 / 0.75 / (0.1 / 0.9), .unit = "x", .decimals = 1}, Verdict::unverifiable,
                       "takes a transfer 3 times as long; text 004 reports two equal clusters, one of each"),
                   row("network share of Llama 3's failures", "10.7 %", {.value = network, .unit = "%", .decimals = 1},
                       judge(10.7, 10.7, network), "35 of 419 interruptions were switches and cables")}};
}

}  // namespace seed_tables
