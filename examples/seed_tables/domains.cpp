/// \file domains.cpp
/// The number of GPUs that one fabric joins, their rate of exchange, and whether the switches have the ports for it; the rack
/// against the node (texts 000 to 004).

#include "specs.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace seed_tables {

using namespace fabricost::plan;

namespace {

double terabytes_per_second(Bandwidth bandwidth) { return GBps(bandwidth) / 1e3; }

/// Links that arrive at one switch chip of a tier when all endpoints spread theirs evenly.
double ports_needed(const Tier& t) { return static_cast<double>(t.endpoints) * t.links / t.switches; }

}  // namespace

Table domain_sizes() {
  const System &h = machine("dgx-h100"), &rack = machine("gb200-nvl72"), &rubin = machine("vera-rubin-nvl72"),
               &kyber = machine("kyber-nvl576");
  const auto row = [](std::string label, std::string said, const System& s, double low, double high, const std::string& shown) {
    return Row{.label = std::move(label),
               .said = std::move(said),
               .ours = {.value = static_cast<double>(s.domain)},
               .verdict = judge(low, high, s.domain),
               .shown = shown};
  };
  const auto spec = [](const System& s) {
    const Tier& t = tier(s, TierRole::scale_up);
    return fmt::format("{}: {} GPUs of {} links on {} switch chips", s.title, s.domain, t.links, t.switches);
  };
  Row ultra = row("Rubin Ultra", "500+ (000); 576 (003)", kyber, 500, 576,
                  fmt::format("{}: the name counts dies, 576 / {} packages = {} dies a package; announced", kyber.title, kyber.domain,
                              text(576.0 / kyber.domain)));
  ultra.verdict = Verdict::qualified;
  return {.title = "GPUs in one scale-up domain",
          .about = "Text 000's table. A package is what software sees as a GPU; newer product names count the dies inside it.",
          .ours = "packages",
          .rows = {row("Hopper", "8 (000)", h, 8, 8, spec(h)), row("Blackwell", "72 (000)", rack, 72, 72, spec(rack)),
                   row("Rubin", "500+ (000)", rubin, 500, 576,
                       fmt::format("{}: 144 dies / {} packages = {} dies a package; announced", rubin.title, rubin.domain,
                                   text(144.0 / rubin.domain))),
                   ultra},
          .remark =
              "576 GPUs is what NVLink 5 could address at most; the domain that ships has 72. Eight such racks, 576 GPUs, are joined by "
              "InfiniBand or Ethernet."};
}

Table aggregates() {
  Table out{.title = "What a domain carries: injection and bisection",
            .about =
                "Two different sums go by one name. **Injection** adds up what all GPUs can send. **Bisection** is what crosses a cut into "
                "two halves: half the GPUs send. "
                "A quoted total may count both directions as well.",
            .beside = {"GPUs x one way", "injection, one way", "injection, both ways", "bisection, one way"},
            .ours = "the figure meant, one way",
            .rows = {}};
  struct Claim {
    const char *label, *system, *said;
    double figure;  ///< TB/s
    bool bisection;
    double ways;  ///< directions the figure counts, as far as the text says
  };
  for (const Claim& c : {Claim{"DGX H100, bisection", "dgx-h100", "3.6 TB/s (003, 004)", 3.6, true, 2},
                         {"DGX B200, sum", "dgx-b200", "8 x 1.8 TB/s (002)", 14.4, false, 2},
                         {"GB200 NVL72, sum", "gb200-nvl72", "130 TB/s (000, 002)", 130, false, 2},
                         {"GB200 NVL72, bisection", "gb200-nvl72", "130 TB/s (001, 003)", 130, true, 2}}) {
    const System& system = machine(c.system);
    const Tier& t = tier(system, TierRole::scale_up);
    const double injection = terabytes_per_second(t.aggregate()), bisection = terabytes_per_second(t.bisection());
    const double ours = c.bisection ? bisection : injection;
    out.rows.push_back({.label = c.label,
                        .said = c.said,
                        .beside = {{.note = fmt::format("{} x {} GB/s", t.endpoints, text(GBps(t.bandwidth.value)))},
                                   {.value = injection, .unit = "TB/s", .decimals = 1},
                                   {.value = 2 * injection, .unit = "TB/s", .decimals = 1},
                                   {.value = bisection, .unit = "TB/s", .decimals = 1}},
                        .ours = {.value = ours, .unit = "TB/s", .decimals = 1},
                        .verdict = judge(c.figure, c.figure, c.ways * ours),
                        .shown = c.bisection ? fmt::format("{} GPUs x {} GB/s = {} one way, {} both ways", t.endpoints / 2,
                                                           text(GBps(t.bandwidth.value)), text(bisection, 1), text(2 * bisection, 1))
                                             : fmt::format("{} GPUs x {} GB/s x 2 directions = {}", t.endpoints,
                                                           text(GBps(t.bandwidth.value)), text(2 * injection, 1))});
  }
  const double port = GBps(tier(machine("gb200-nvl72"), TierRole::scale_up).bandwidth.value);
  const double petabytes = 576 * port * 2 / 1e6;
  out.rows.push_back({.label = "576 GPUs on NVLink 5, sum",
                      .said = "1 PB/s (003)",
                      .beside = {{.note = fmt::format("576 x {} GB/s", text(port))},
                                 {.value = petabytes / 2 * 1e3, .unit = "TB/s", .decimals = 1},
                                 {.value = petabytes * 1e3, .unit = "TB/s", .decimals = 1},
                                 {.note = "not published"}},
                      .ours = {.value = petabytes / 2 * 1e3, .unit = "TB/s", .decimals = 1},
                      .verdict = judge(1, 1, petabytes, 0.05),
                      .shown = fmt::format("576 x {} GB/s x 2 directions = {} PB/s", text(port), text(petabytes))});
  const Tier& rack = tier(machine("gb200-nvl72"), TierRole::scale_up);
  out.remark = fmt::format(
      "The 130 TB/s in one line: {} GPUs x {} GB/s = {} TB/s injected one way; doubled for both directions it is {}; across a cut it is {} "
      "one way.",
      rack.endpoints, text(GBps(rack.bandwidth.value)), text(terabytes_per_second(rack.aggregate()), 1),
      text(2 * terabytes_per_second(rack.aggregate()), 1), text(terabytes_per_second(rack.bisection()), 1));
  return out;
}

Table switch_ports() {
  const Tier &rack = tier(machine("gb200-nvl72"), TierRole::scale_up), &h = tier(machine("dgx-h100"), TierRole::scale_up),
             &a = tier(machine("dgx-a100"), TierRole::scale_up), &board = tier(machine("hgx-a100-4"), TierRole::scale_up);
  const Tier& nics = tier(machine("dgx-h100"), TierRole::nic);
  const double pcie = gigabytes_per_second(machine("dgx-h100"), TierRole::host);
  const SwitchSpec rack_switch = load_switch(rack.switch_name), h_switch = load_switch(h.switch_name);
  const Link& five = link(rack.link);
  const double pairs = 2.0 * five.lanes * rack.endpoints * rack.links;
  const double per_peer = static_cast<double>(a.links) / (a.endpoints - 1);
  const int n = rack.endpoints;
  return {
      .title = "Do the ports add up?",
      .about = "Links are whole numbers, so wiring can be checked by counting (texts 001 to 004).",
      .rows = {
          {.label = "NVL72: ports of a switch chip",
           .said = "64 (001)",
           .ours = {.value = ports_needed(rack), .unit = "ports"},
           .verdict = judge(64, 64, rack_switch.ports),
           .shown = fmt::format("{} GPUs x {} links / {} chips = {}; the chip has {}", rack.endpoints, rack.links, rack.switches,
                                text(ports_needed(rack)), rack_switch.ports)},
          {.label = "DGX H100: ports of a switch chip",
           .said = "64, 32 per direction (001)",
           .ours = {.value = static_cast<double>(h_switch.ports), .unit = "ports"},
           .verdict = Verdict::qualified,
           .shown = fmt::format("{} ports, each both ways at once; {} GPUs x {} links = {} of {} x {} = {} are used", h_switch.ports,
                                h.endpoints, h.links, h.endpoints * h.links, h.switches, h_switch.ports, h.switches * h_switch.ports)},
          {.label = "DGX A100: direct links to each peer",
           .said = "1-2, no switch needed (001)",
           .ours = {.value = 0, .unit = "links"},
           .verdict = Verdict::corrected,
           .shown = fmt::format(
               "{} links / {} peers = {} is no whole number; they go to {} switches, {} each. Only the board of {} is direct: {} / {} = {}",
               a.links, a.endpoints - 1, text(per_peer), a.switches, a.links / a.switches, board.endpoints, board.links,
               board.endpoints - 1, board.links / (board.endpoints - 1))},
          {.label = "DGX H100: links from switch to switch",
           .said = "wired to each other (004)",
           .ours = {.value = 0, .unit = "links"},
           .verdict = Verdict::corrected,
           .shown = fmt::format("every GPU reaches all {} chips: {} links as 5 + 5 + 4 + 4; one hop", h.switches, h.links)},
          {.label = "DGX H100: NICs on the NVSwitches",
           .said = "all (001)",
           .ours = {.value = 0, .unit = "NICs"},
           .verdict = Verdict::corrected,
           .shown = fmt::format("GPU and NIC meet at PCIe switches ({}): min({}, {}) = {} GB/s", fabricost::core::name(nics.path),
                                text(pcie), text(GBps(nics.bandwidth.value)), text(std::min(pcie, GBps(nics.bandwidth.value))))},
          {.label = "72 GPUs without a switch: links per GPU",
           .said = "hundreds (001)",
           .ours = {.value = n - 1.0, .unit = "links"},
           .verdict = judge(200, 999, n - 1),
           .shown = fmt::format("{} - 1 per GPU, {} x {} / 2 = {} in all", n, n, n - 1, text(n * (n - 1) / 2.0))},
          {.label = "8 GPUs without a switch: links in all",
           .said = "28 (003)",
           .ours = {.value = 8 * 7 / 2.0, .unit = "links"},
           .verdict = judge(28, 28, 8 * 7 / 2.0),
           .shown = fmt::format("8 x 7 / 2; not impossible: {} has {} links a GPU", machine("mi300x-8").title,
                                tier(machine("mi300x-8"), TierRole::scale_up).links)},
          {.label = "NVL72: copper pairs in the backplane",
           .said = "5,184 (002)",
           .ours = {.value = pairs, .unit = "pairs"},
           .verdict = judge(5184, 5184, pairs, 0),
           .shown = fmt::format("{} x {} links x {} lanes x 2 directions; x {} Gbit/s / 8 = {} TB/s, both ways", rack.endpoints, rack.links,
                                five.lanes, text(Gbps(five.lane_rate.value)), text(pairs * Gbps(five.lane_rate.value) / 8e3, 1))},
          {.label = "DGX H100: GPUs per NIC",
           .said = "8:1 (003)",
           .ours = {.value = static_cast<double>(h.endpoints) / nics.endpoints, .unit = "GPU"},
           .verdict = judge(8, 8, static_cast<double>(h.endpoints) / nics.endpoints),
           .shown = fmt::format("{} GPUs, {} NICs of {} GB/s = {} Tbit/s, as the same text says", h.endpoints, nics.endpoints,
                                text(GBps(nics.bandwidth.value)), text(8e-3 * GBps(nics.aggregate()), 1))}}};
}

Table rack_against_node() {
  const System &h = machine("dgx-h100"), &b = machine("dgx-b200"), &rack = machine("gb200-nvl72"), &next = machine("gb300-nvl72");
  const auto power = [](const System& s) { return in(s.power.value, units::kW).value(); };
  const Tier& nic = tier(h, TierRole::nic);
  const double nodes = static_cast<double>(rack.domain) / h.domain;
  const double rack_bisection = terabytes_per_second(tier(rack, TierRole::scale_up).bisection());
  const double nic_bisection = terabytes_per_second(nic.aggregate()) * nodes / 2;
  const double flops = in(rack.gpu.fp4.value, units::Pflop_per_s).value() * rack.domain / 1e3;
  const auto memory = [](const System& s) { return gigabytes(s.memory()) * s.domain / 1e3; };
  return {
      .title = "Rack against node",
      .about = "The checkable rows of text 002's comparison.",
      .rows = {
          {.label = "power of a node, H100",
           .said = "6-12 kW",
           .ours = {.value = power(h), .unit = "kW", .decimals = 1},
           .verdict = judge(6, 12, power(h)),
           .shown = h.title},
          {.label = "power of a node, B200",
           .said = "6-12 kW",
           .ours = {.value = power(b), .unit = "kW", .decimals = 1},
           .verdict = judge(6, 12, power(b)),
           .shown = b.title},
          {.label = "power of a rack",
           .said = "90-140 kW",
           .ours = {.value = power(rack), .unit = "kW"},
           .verdict = judge(90, 140, power(rack)),
           .shown = fmt::format("{}; {} for the {}", rack.title, text(power(next)), next.title)},
          {.label = "memory of a rack",
           .said = "8-16 TB",
           .ours = {.value = memory(rack), .unit = "TB", .decimals = 1},
           .verdict = judge(8, 16, memory(rack)),
           .shown =
               fmt::format("{} x {} GB; {} TB for the {}", rack.domain, text(gigabytes(rack.memory())), text(memory(next), 1), next.title)},
          {.label = "rack bisection over a B200 node's",
           .said = "\"vastly superior\"",
           .ours = {.value = rack_bisection / terabytes_per_second(tier(b, TierRole::scale_up).bisection()), .unit = "x", .decimals = 1},
           .verdict = Verdict::reproduced,
           .shown = fmt::format("{} / {} TB/s one way", text(rack_bisection, 1),
                                text(terabytes_per_second(tier(b, TierRole::scale_up).bisection()), 1))},
          {.label = "rack bisection over that of 72 H100s on NICs",
           .said = "\"vastly superior\"",
           .ours = {.value = rack_bisection / nic_bisection, .unit = "x", .decimals = 1},
           .verdict = Verdict::reproduced,
           .shown = fmt::format("{} / {} TB/s; {} nodes x {} NICs x {} GB/s / 2", text(rack_bisection, 1), text(nic_bisection, 1),
                                text(nodes), nic.endpoints, text(GBps(nic.bandwidth.value)))},
          {.label = "FP4 of a rack, dense",
           .said = "1.4 EFLOP/s",
           .ours = {.value = flops, .unit = "EFLOP/s", .decimals = 2},
           .verdict = judge(1.4, 1.4, flops) == Verdict::reproduced       ? Verdict::reproduced
                      : judge(1.4, 1.4, 2 * flops) == Verdict::reproduced ? Verdict::qualified
                                                                          : Verdict::corrected,
           .shown = fmt::format("{} x {} PFLOP/s; {} counts zeros of 2:4 sparsity as work", rack.domain,
                                text(in(rack.gpu.fp4.value, units::Pflop_per_s).value()), text(2 * flops))},
          {.label = "latency in a node; in a rack",
           .said = "200 ns; 300 ns",
           .ours = {.note = "-"},
           .verdict = Verdict::unverifiable,
           .shown = "no public figure of a load across NVLink; section 1 has what collectives feel"}}};
}

}  // namespace seed_tables
