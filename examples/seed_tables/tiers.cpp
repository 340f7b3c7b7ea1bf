/// \file tiers.cpp
/// The hierarchy of tiers in a machine, one way: those of texts 001 and 003, their ratios, and latencies.

#include "specs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

namespace seed_tables {

using namespace fabricost::observe;

namespace {

/// "16 lanes x 32 Gbit/s x 128/130 / 8"
std::string lanes_text(const Link& link) {
  const std::string encoding = link.encoding == 1 ? "" : fmt::format(" x {}", text(link.encoding, 4));
  return fmt::format("{} lanes x {} Gbit/s{} / 8", link.lanes, text(Gbps(link.lane_rate.value)), encoding);
}

Row memory_row(std::string label, std::string said, const Sourced<Bandwidth>& memory, Verdict verdict, const std::string& why) {
  const bool measured = memory.provenance.confidence == Confidence::measured;
  return {.label = std::move(label),
          .said = std::move(said),
          .ours = {.value = GBps(memory.value), .unit = "GB/s"},
          .verdict = verdict,
          .shown = why + (measured ? "; measured: " + memory.provenance.source : "")};
}

Row nvlink_row(const System& system, std::string label, std::string said, Verdict verdict) {
  const Tier& nvlink = tier(system, TierRole::scale_up);
  const double ours = GBps(nvlink.bandwidth.value);
  return {.label = std::move(label),
          .said = std::move(said),
          .ours = {.value = ours, .unit = "GB/s"},
          .verdict = verdict,
          .shown = fmt::format("{} links x {} GB/s = {} one way, {} both ways", nvlink.links, text(GBps(nvlink.link_bandwidth)), text(ours),
                               text(2 * ours))};
}

Row port_row(const Link& port, std::string label, std::string said, Verdict verdict, const std::string& why = {}) {
  const double ours = GBps(port.bandwidth.value);
  return {.label = std::move(label),
          .said = std::move(said),
          .ours = {.value = ours, .unit = "GB/s"},
          .verdict = verdict,
          .shown = fmt::format("{} = {} one way, {} both ways{}", lanes_text(port), text(ours), text(2 * ours), why)};
}

/// Agrees only when both directions are counted, and the text does not say so.
Verdict both_ways(double said, double ours) {
  return judge(said, said, 2 * ours) == Verdict::reproduced ? Verdict::qualified : Verdict::corrected;
}
/// Agrees one way, in a column that claims both.
Verdict one_way_only(double said, double ours) {
  return judge(said, said, ours) == Verdict::reproduced ? Verdict::qualified : Verdict::corrected;
}

/// In ns below 1 us, else in us.
Figure short_time(Time time) {
  const double us = microseconds(time);
  return us < 1 ? Figure{.value = 1e3 * us, .unit = "ns"} : Figure{.value = us, .unit = "us"};
}

Row ratio_row(std::string label, std::string said, double above, double below, std::initializer_list<double> said_range) {
  const double ours = above / below;
  return {.label = std::move(label),
          .said = std::move(said),
          .ours = {.value = ours, .unit = "x", .decimals = ours < 2 ? 2 : 1},
          .verdict = judge(*said_range.begin(), *(said_range.end() - 1), ours),
          .shown = fmt::format("{} / {}", text(above), text(below))};
}

}  // namespace

Table dgx_h100_hierarchy() {
  const System& h100 = machine("dgx-h100");
  const double nvlink = gigabytes_per_second(h100, TierRole::scale_up), nic = gigabytes_per_second(h100, TierRole::nic);
  const Link& pcie = link(tier(h100, TierRole::host).link);
  return {.title = "A DGX H100 from the die outward",
          .about =
              "Text 001 lists six levels in one column headed \"bidirectional\". Three of them are one-way figures and two are memories, "
              "which have no "
              "direction at all.",
          .ours = "here, one way",
          .rows = {memory_row("L2", "about 12 TB/s", h100.gpu.l2_bandwidth, judge(12000, 12000, GBps(h100.gpu.l2_bandwidth.value)),
                              "a cache, reads; no vendor publishes it"),
                   memory_row("HBM3", "3,350 GB/s both ways", h100.gpu.hbm_bandwidth, Verdict::qualified,
                              "reads and writes share it: there is no other half, and it must never be halved like a link"),
                   nvlink_row(h100, "NVLink 4", "900 GB/s both ways", judge(900, 900, 2 * nvlink)),
                   port_row(pcie, "PCIe 5 x16", "64 GB/s both ways", judge(64, 64, 2 * GBps(pcie.bandwidth.value)),
                            "; 64 is one way before encoding, put into a both-ways column"),
                   port_row(link("infiniband-ndr"), "InfiniBand NDR", "50 GB/s both ways", one_way_only(50, nic), "; 50 is one way"),
                   port_row(link("ethernet-400"), "400G Ethernet", "50 GB/s both ways",
                            one_way_only(50, GBps(link("ethernet-400").bandwidth.value)), "; 50 is one way")},
          .remark = "The levels are not ten times apart each, as the text has it: the ratios follow below."};
}

Table b200_hierarchy() {
  const System& b200 = machine("dgx-b200");
  const Link& pcie = link(tier(b200, TierRole::host).link);
  const Gpu& rack = gpu("gb200");
  Row hbm = memory_row("HBM3e", "8,000 GB/s", b200.gpu.hbm_bandwidth, Verdict::qualified, "");
  hbm.shown =
      fmt::format("{} in a DGX B200; the {} belong to the GB200 of a rack", text(hbm.ours.value), text(GBps(rack.hbm_bandwidth.value)));
  return {
      .title = "A DGX B200 from the die outward",
      .about = "Text 003's hierarchy, in which two levels count both directions and one does not.",
      .ours = "here, one way",
      .rows = {hbm, nvlink_row(b200, "NVLink 5", "1,800 GB/s", both_ways(1800, gigabytes_per_second(b200, TierRole::scale_up))),
               port_row(pcie, "PCIe 5 x16", "128 GB/s", both_ways(128, GBps(pcie.bandwidth.value))),
               port_row(link("infiniband-ndr"), "InfiniBand NDR", "50 GB/s", judge(50, 50, gigabytes_per_second(b200, TierRole::nic)))}};
}

Table ratios() {
  const System &h = machine("dgx-h100"), &b = machine("dgx-b200");
  const auto rate = [](const System& s, TierRole role) { return gigabytes_per_second(s, role); };
  const auto hbm = [](const Gpu& g) { return GBps(g.hbm_bandwidth.value); };
  const double nvlink4 = GBps(link("nvlink-4").bandwidth.value), nvlink5 = GBps(link("nvlink-5").bandwidth.value);
  const double ndr = GBps(link("infiniband-ndr").bandwidth.value);
  return {.title = "How much slower each level is",
          .about =
              "Ratios of one-way rates per GPU. Text 001 says each level is ten times slower, and later 7 to 20 times; text 003 says 10 to "
              "20. Where they "
              "divide, it is now and then both ways over one way, and once a level is skipped.",
          .rows = {ratio_row("H100: HBM to NVLink", "10x (001)", hbm(h.gpu), rate(h, TierRole::scale_up), {10, 10}),
                   ratio_row("H100: NVLink to PCIe", "10x (001)", rate(h, TierRole::scale_up), rate(h, TierRole::host), {10, 10}),
                   ratio_row("H100: PCIe to NIC", "10x (001)", rate(h, TierRole::host), rate(h, TierRole::nic), {10, 10}),
                   ratio_row("H100: NVLink to NIC", "18x (001)", rate(h, TierRole::scale_up), rate(h, TierRole::nic), {18, 18}),
                   ratio_row("GB200: HBM to NVLink", "4.4x (003)", hbm(gpu("gb200")), rate(machine("gb200-nvl72"), TierRole::scale_up),
                             {4.4, 4.4}),
                   ratio_row("B200: HBM to NVLink", "4.4x (003)", hbm(b.gpu), rate(b, TierRole::scale_up), {4.4, 4.4}),
                   ratio_row("B200: NVLink to PCIe", "14x (003)", rate(b, TierRole::scale_up), rate(b, TierRole::host), {14, 14}),
                   ratio_row("B200: PCIe to NIC", "2.6x (003)", rate(b, TierRole::host), rate(b, TierRole::nic), {2.6, 2.6}),
                   ratio_row("B200: NVLink to NIC", "160x (003)", rate(b, TierRole::scale_up), rate(b, TierRole::nic), {160, 160}),
                   ratio_row("one NVLink 4 link to a 400G port", "8x per link (000)", nvlink4, ndr, {8, 8}),
                   ratio_row("one NVLink 5 link to a 400G port", "8x per link (000)", nvlink5, ndr, {8, 8})},
          .remark = fmt::format("The 160x is HBM over InfiniBand, {} / {}: a level was skipped. Link for link the network is as fast as "
                                "NVLink 5; what sets them apart is that a GPU "
                                "has {} NVLinks and one NIC.",
                                text(hbm(gpu("gb200"))), text(ndr), b.gpu.scale_up_links)};
}

Table nvlink_against_pcie() {
  Table out{.title = "NVLink against PCIe in the same machine",
            .about = "Text 001 says 7 to 28 times. Its 28 is 1,800 both ways over 64 one way.",
            .beside = {"NVLink, one way", "PCIe, one way"},
            .rows = {}};
  struct Pair {
    const char *label, *system, *said;
    double low, high;
  };
  for (const Pair& pair : {Pair{"V100 (DGX-1)", "dgx-1-v100", "7-28x (001)", 7, 28},
                           {"A100 (DGX)", "dgx-a100", "7-28x (001)", 7, 28},
                           {"H100 (DGX)", "dgx-h100", "7-28x (001); 7x (004)", 7, 7},
                           {"B200 (DGX)", "dgx-b200", "28x (001)", 28, 28}}) {
    const System& system = machine(pair.system);
    const double above = gigabytes_per_second(system, TierRole::scale_up), below = gigabytes_per_second(system, TierRole::host);
    Row row = ratio_row(pair.label, pair.said, above, below, {pair.low, pair.high});
    row.beside = {{.value = above, .unit = "GB/s"}, {.value = below, .unit = "GB/s"}};
    out.rows.push_back(std::move(row));
  }
  return out;
}

Table latencies() {
  const System& h = machine("dgx-h100");
  const auto hop = [](const Sourced<Time>& latency, std::string label, std::string said, Verdict verdict, const std::string& shown) {
    const std::string origin = fmt::format("{} ({})", latency.provenance.source, fabricost::core::name(latency.provenance.confidence));
    return Row{.label = std::move(label),
               .said = std::move(said),
               .ours = short_time(latency.value),
               .verdict = verdict,
               .shown = shown.empty() ? origin : shown + "; " + origin};
  };
  const Prediction small = predict(h, AllReduce{.bytes = units::KiB(1), .ranks = 8});
  const Tier& nvlink = tier(h, TierRole::scale_up);
  const Tier& nic = tier(h, TierRole::nic);
  return {
      .title = "Latencies, and why a collective is not one of them",
      .about = "Hop latencies are on no datasheet; ours carry where they come from. A collective pays the launch and 2(n-1) such steps.",
      .rows = {hop(h.gpu.l2_latency, "L2", "about 200 cycles (001)", Verdict::unverifiable, "no vendor figure, and microbenchmarks differ"),
               hop(h.gpu.hbm_latency, "HBM", "400-600 cycles (001)", Verdict::qualified, "within a small buffer; more over a large one"),
               {.label = "one hop over NVLink and its switch",
                .said = "200 ns in a node, 300 ns in a rack (002)",
                .ours = short_time(nvlink.latency.value),
                .verdict = Verdict::unverifiable,
                .shown = fmt::format("assumed in the specs: {} + {} ns for link and switch; no vendor figure",
                                     text(microseconds(link(nvlink.link).latency.value) * 1e3),
                                     text(microseconds(load_switch(nvlink.switch_name).latency.value) * 1e3))},
               {.label = "NVLink, as a collective feels it",
                .said = "1-2 us (001)",
                .ours = time_figure(small, 1e-6, "us"),
                .verdict = Verdict::corrected,
                .shown = fmt::format("all-reduce of 1 KiB over 8 H100s: {}; {}", sum_text(small, 1e-6, "us"), ran_text(small))},
               hop(link("pcie-5").latency, "PCIe", "2-5 us (001)", Verdict::unverifiable,
                   "a copy started by software adds several us to this"),
               hop(nic.latency, "InfiniBand", "1-5 us (001); 1-1.6 us (003)", Verdict::qualified, "1-1.6 is a best case between two hosts"),
               hop(link("ethernet-400").latency, "RoCE", "2-10 us (001); 5-6 us (003)", Verdict::qualified,
                   "with the same NICs under one leaf, against InfiniBand's figure above")},
      .remark = fmt::format("Text 003 sets 5-6 us for RoCE against 1-1.6 us for InfiniBand, a gap of four; the two rows above were "
                            "measured alike and differ by {} / {} = {}.",
                            text(microseconds(link("ethernet-400").latency.value)), text(microseconds(nic.latency.value)),
                            text(link("ethernet-400").latency.value / nic.latency.value, 2))};
}

}  // namespace seed_tables
