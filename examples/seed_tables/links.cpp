/// \file links.cpp
/// One link and one port of each kind, from lanes and line rates (texts 001, 002 and 003).

#include "specs.hpp"

#include <fmt/format.h>

namespace seed_tables {

using namespace fabricost::observe;

namespace {

struct Generation {
  const char *label, *gpu, *said;
  double both_ways;  ///< GB/s per GPU, as the texts count; 0: not in them
  const char* said_lane;
  double lane;  ///< Gbit/s
};
constexpr Generation nvlinks[] = {{"NVLink 1, P100", "p100-sxm", "4 x 40 = 160 GB/s (001)", 160, "NRZ 20", 20},
                                  {"NVLink 2, V100", "v100-sxm", "6 x 50 = 300 GB/s (001, 003)", 300, "NRZ 25", 25},
                                  {"NVLink 3, A100", "a100-sxm-80", "12 x 50 = 600 GB/s (001, 003)", 600, "NRZ 25", 25},
                                  {"NVLink 4, H100", "h100-sxm", "18 x 50 = 900 GB/s (001, 003)", 900, "PAM4 50", 50},
                                  {"NVLink 5, B200", "b200-sxm", "18 x 100 = 1,800 GB/s (001, 003)", 1800, "PAM4 100", 100},
                                  {"NVLink 6, Rubin", "rubin", "-", 0, "-", 0}};

}  // namespace

Table nvlink_generations() {
  Table out{.title = "NVLink per link and per GPU",
            .about = "Texts 001 and 003 count both directions, and say so. A transfer has one.",
            .beside = {"one link, one way"},
            .ours = "one GPU, one way",
            .rows = {}};
  for (const Generation& g : nvlinks) {
    const Gpu& card = gpu(g.gpu);
    const Link& one = link(card.scale_up_link);
    const double rate = GBps(one.bandwidth.value), ours = rate * card.scale_up_links;
    const bool announced = one.lane_rate.provenance.confidence == Confidence::announced;
    out.rows.push_back({.label = g.label,
                        .said = g.said,
                        .beside = {{.value = rate, .unit = "GB/s"}},
                        .ours = {.value = ours, .unit = "GB/s"},
                        .verdict = g.both_ways > 0 ? judge(g.both_ways, g.both_ways, 2 * ours) : Verdict::added,
                        .shown = fmt::format("{} links x {} lanes x {} Gbit/s / 8 = {}; both ways {}{}", card.scale_up_links, one.lanes,
                                             text(Gbps(one.lane_rate.value)), text(ours), text(2 * ours), announced ? "; announced" : "")});
  }
  const double more = static_cast<double>(gpu("v100-sxm").scale_up_links) / gpu("p100-sxm").scale_up_links;
  out.remark = fmt::format(
      "Text 001 says NVLink 2 doubled the links and NVLink 4 sped them up: the count went from {} to {}, {} times, and a link of NVLink 2, "
      "3 and 4 carries {} GB/s alike.",
      gpu("p100-sxm").scale_up_links, gpu("v100-sxm").scale_up_links, text(more), text(GBps(link("nvlink-4").bandwidth.value)));
  return out;
}

Table nvlink_lanes() {
  Table out{.title = "NVLink signalling",
            .about = "Text 001's line rates of one lane. Lanes x rate / 8 must give what one link carries.",
            .beside = {"lanes", "one link by the text's rate", "one link, one way"},
            .ours = "one lane",
            .rows = {}};
  for (const Generation& g : nvlinks) {
    if (g.lane == 0) continue;
    const Link& one = link(gpu(g.gpu).scale_up_link);
    const double lane = Gbps(one.lane_rate.value);
    out.rows.push_back({.label = g.label,
                        .said = g.said_lane,
                        .beside = {{.value = static_cast<double>(one.lanes)},
                                   {.value = g.lane * one.lanes / 8, .unit = "GB/s"},
                                   {.value = GBps(one.bandwidth.value), .unit = "GB/s"}},
                        .ours = {.value = lane, .unit = "Gbit/s"},
                        .verdict = judge(g.lane, g.lane, lane),
                        .shown = fmt::format("{} x {} / 8 = {} GB/s", one.lanes, text(lane), text(raw_rate(one)))});
  }
  out.remark = "Where the text halves the lane rate, the link comes out at half of what the same text's other column needs.";
  return out;
}

Table pcie_generations() {
  Table out{
      .title = "PCIe x16",
      .about =
          "Texts 001 and 003 give raw rates. Encoding (128 of 130 bits; in PCIe 6 and 7 236 of 256 bytes) and packet headers come off.",
      .beside = {"raw, one way", "payload in 256-byte packets"},
      .ours = "after encoding, one way",
      .rows = {}};
  struct Pcie {
    const char *label, *link, *said;
    double both_ways;
  };
  for (const Pcie& p : {Pcie{"PCIe 3", "pcie-3", "32 GB/s both ways (001)", 32},
                        {"PCIe 4", "pcie-4", "64 GB/s both ways (001, 003)", 64},
                        {"PCIe 5", "pcie-5", "128 GB/s both ways (001, 003, 004)", 128},
                        {"PCIe 6", "pcie-6", "256 GB/s both ways (001, 003)", 256},
                        {"PCIe 7", "pcie-7", "-", 0}}) {
    const Link& one = link(p.link);
    const double raw = raw_rate(one), net = GBps(one.bandwidth.value);
    out.rows.push_back({.label = p.label,
                        .said = p.said,
                        .beside = {{.value = raw, .unit = "GB/s"}, {.value = net * one.efficiency(), .unit = "GB/s", .decimals = 1}},
                        .ours = {.value = net, .unit = "GB/s", .decimals = net < 50 ? 2 : 1},
                        .verdict = p.both_ways > 0 ? judge(p.both_ways, p.both_ways, 2 * raw) : Verdict::added,
                        .shown = fmt::format("16 x {} Gbit/s / 8 = {}; x {} = {}; x {}/{} = {}", text(Gbps(one.lane_rate.value)), text(raw),
                                             text(one.encoding, 4), text(net, net < 50 ? 2 : 1), text(one.packet_payload.value()),
                                             text((one.packet_payload + one.packet_header).value()), text(net * one.efficiency(), 1))});
  }
  const Link &four = link("pcie-4"), &five = link("pcie-5");
  const double net = GBps(five.bandwidth.value);
  out.rows.push_back(
      {.label = "PCIe 5, elsewhere in 001",
       .said = "64 GB/s both ways",
       .beside = {{.value = raw_rate(five), .unit = "GB/s"}, {.value = net * five.efficiency(), .unit = "GB/s", .decimals = 1}},
       .ours = {.value = net, .unit = "GB/s", .decimals = 1},
       .verdict = judge(64, 64, 2 * net),
       .shown = fmt::format("64 is one way; both ways {}", text(2 * net, 1))});
  out.rows.push_back(
      {.label = "PCIe 5, in 002",
       .said = "32 GB/s",
       .beside = {{.value = raw_rate(five), .unit = "GB/s"}, {.value = net * five.efficiency(), .unit = "GB/s", .decimals = 1}},
       .ours = {.value = net, .unit = "GB/s", .decimals = 1},
       .verdict = judge(32, 32, net),
       .shown = fmt::format("32 GT/s is the rate of one lane; {} GB/s is PCIe 4 x16", text(GBps(four.bandwidth.value)))});
  return out;
}

Table infiniband_ports() {
  Table out{.title = "InfiniBand: one port, and what a GPU gets of it",
            .about = "Text 001's table. A port is 4 lanes; a machine may give several GPUs one NIC.",
            .beside = {"one port, one way", "NICs : GPUs"},
            .ours = "one GPU, one way",
            .rows = {}};
  struct Port {
    const char *label, *system, *said;
    double port, low, high;
    const char* why = "";
  };
  for (const Port& p : {Port{"EDR, DGX-1 (V100)", "dgx-1-v100", "port 25, GPU 25 GB/s", 25, 25, 25},
                        {"HDR, DGX A100", "dgx-a100", "port 25, GPU 25-50 GB/s", 25, 25, 50, "; one a GPU, never two"},
                        {"NDR, DGX H100", "dgx-h100", "port 50, GPU 50 GB/s", 50, 50, 50},
                        {"DGX B200", "dgx-b200", "\"NDR 800G\": port 100, GPU 100 GB/s", 100, 100, 100},
                        {"XDR, DGX B300", "dgx-b300", "-", 0, 0, 0}}) {
    const System& system = machine(p.system);
    const Tier& nic = tier(system, TierRole::nic);
    const Link& port = link(nic.link);
    const double rate = GBps(nic.bandwidth.value), ours = rate * nic.endpoints / system.gpus_per_node;
    Verdict verdict = judge(p.low, p.high, ours);
    if (p.low < p.high && verdict == Verdict::reproduced) verdict = Verdict::qualified;  // only one end of the range exists
    out.rows.push_back({.label = p.label,
                        .said = p.said,
                        .beside = {{.value = rate, .unit = "GB/s"}, {.note = fmt::format("{} : {}", nic.endpoints, system.gpus_per_node)}},
                        .ours = {.value = ours, .unit = "GB/s"},
                        .verdict = p.port > 0 ? verdict : Verdict::added,
                        .shown = fmt::format("{} lanes x {} Gbit/s / 8 = {} a port ({}); x {} / {} GPUs = {}{}", port.lanes,
                                             text(Gbps(port.lane_rate.value)), text(rate), port.title, nic.endpoints, system.gpus_per_node,
                                             text(ours), p.why)});
  }
  out.remark = "NDR means 400 Gbit/s; 800 Gbit/s is XDR, which came with the DGX B300. A DGX B200 has eight ports of 400.";
  return out;
}

Table ualink() {
  const System& pod = machine("ualink-pod");
  const Link& port = link("ualink-200");
  const double lane = Gbps(port.lane_rate.value) / 8, rate = GBps(port.bandwidth.value);
  return {.title = "UALink 200G",
          .about = "Text 002. Announced figures: no silicon has been shown.",
          .ours = "here, one way",
          .rows = {{.label = "one lane",
                    .said = "200 Gbit/s",
                    .ours = {.value = lane, .unit = "GB/s"},
                    .verdict = judge(200, 200, lane * 8),
                    .shown = fmt::format("{} / 8", text(Gbps(port.lane_rate.value)))},
                   {.label = "one port of 4 lanes",
                    .said = "800 Gbit/s, both ways together",
                    .ours = {.value = rate, .unit = "GB/s"},
                    .verdict = judge(800, 800, 2 * 8 * rate) == Verdict::reproduced ? Verdict::reproduced : Verdict::qualified,
                    .shown = fmt::format("{} lanes x {} Gbit/s / 8: 800 Gbit/s in each direction", port.lanes,
                                         text(Gbps(port.lane_rate.value)))},
                   {.label = "payload of a port",
                    .said = "-",
                    .ours = {.value = rate * port.efficiency(), .unit = "GB/s"},
                    .verdict = Verdict::added,
                    .shown = fmt::format("{} of {} bytes in a flit", text(port.packet_payload.value()),
                                         text((port.packet_payload + port.packet_header).value()))},
                   {.label = "accelerators in a pod",
                    .said = "1,024",
                    .ours = {.value = static_cast<double>(pod.domain)},
                    .verdict = judge(1024, 1024, pod.domain),
                    .shown = "the specification's limit"},
                   {.label = "round trip of 64 bytes",
                    .said = "under 1 us",
                    .ours = {.note = "-"},
                    .verdict = Verdict::unverifiable,
                    .shown = fmt::format("a goal; fabricost takes half of it, {} ns, as one way",
                                         text(1e3 * microseconds(tier(pod, TierRole::scale_up).latency.value)))}}};
}

}  // namespace seed_tables
