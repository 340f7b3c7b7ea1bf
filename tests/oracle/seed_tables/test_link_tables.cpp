/// \file test_link_tables.cpp
/// Tables about links and machines: rates one way, their ratios, ports, domains, and rates of single copies.

#include "figures.hpp"

#include <map>
#include <string>

using namespace seed_tables;

TEST_CASE("pcie x16 after encoding, one way") {
  const Table t = pcie_generations();
  // reference: lanes x GT/s x 128/130 / 8; PCIe 6 is 236 of 256 bytes
  CHECK(ours(t, "PCIe 3") == within(15.75, 0.001));
  CHECK(ours(t, "PCIe 4") == within(31.5, 0.001));
  CHECK(ours(t, "PCIe 5") == within(63.0, 0.001));
  CHECK(ours(t, "PCIe 6") == within(118, 0.001));
  CHECK(ours(t, "PCIe 7") == within(236, 0.001));
  CHECK(beside(t, "PCIe 5", 0) == 64);                   // raw
  CHECK(beside(t, "PCIe 5", 1) == within(57.6, 0.001));  // 63.0 x 256/280
  CHECK(verdict(t, "PCIe 5") == Verdict::reproduced);    // 128 both ways, raw
  CHECK(verdict(t, "PCIe 5, elsewhere in 001") == Verdict::corrected);
  CHECK(verdict(t, "PCIe 5, in 002") == Verdict::corrected);
}

TEST_CASE("nvlink per gpu, one way") {
  const Table t = nvlink_generations();
  // reference: links x lanes x rate / 8, half of the texts' both-ways figures
  const std::map<std::string, double> expected{{"NVLink 1, P100", 80},  {"NVLink 2, V100", 150}, {"NVLink 3, A100", 300},
                                               {"NVLink 4, H100", 450}, {"NVLink 5, B200", 900}, {"NVLink 6, Rubin", 1800}};
  REQUIRE(t.rows.size() == expected.size());
  for (const Row& row : t.rows) {
    INFO(row.label);
    CHECK(row.ours.value == within(expected.at(row.label), 1e-9));
    CHECK(row.verdict == (row.said == "-" ? Verdict::added : Verdict::reproduced));
  }
}

TEST_CASE("nvlink lanes: three of the texts' line rates are half of what the links need") {
  const Table t = nvlink_lanes();
  const std::map<std::string, double> expected{// reference: NRZ 20, 25, 50; PAM4 100, 200 Gbit/s
                                               {"NVLink 1, P100", 20},
                                               {"NVLink 2, V100", 25},
                                               {"NVLink 3, A100", 50},
                                               {"NVLink 4, H100", 100},
                                               {"NVLink 5, B200", 200}};
  for (const Row& row : t.rows) {
    INFO(row.label);
    CHECK(row.ours.value == expected.at(row.label));
    CHECK(row.beside.at(1).value <= row.beside.at(2).value);
    CHECK((row.verdict == Verdict::reproduced) == (row.beside.at(1).value == row.beside.at(2).value));
  }
}

TEST_CASE("ratios between levels, one way") {
  const Table t = ratios();
  // reference: 450/50, 900/50, 900/63, 63/50, 3350/450, 8000/900
  CHECK(ours(t, "H100: NVLink to NIC") == within(9.0, 0.001));
  CHECK(ours(t, "B200: NVLink to NIC") == within(18.0, 0.001));
  CHECK(ours(t, "B200: NVLink to PCIe") == within(14.3, 0.002));
  CHECK(ours(t, "B200: PCIe to NIC") == within(1.26, 0.002));
  CHECK(ours(t, "H100: HBM to NVLink") == within(7.4, 0.01));
  CHECK(ours(t, "H100: NVLink to PCIe") == within(7.1, 0.01));
  CHECK(ours(t, "GB200: HBM to NVLink") == within(8.9, 0.002));
  CHECK(ours(t, "one NVLink 5 link to a 400G port") == 1);
  const Table pcie = nvlink_against_pcie();
  CHECK(ours(pcie, "V100 (DGX-1)") == within(9.5, 0.003));
  CHECK(ours(pcie, "A100 (DGX)") == within(9.5, 0.003));
  CHECK(ours(pcie, "H100 (DGX)") == within(7.1, 0.01));
  CHECK(verdict(pcie, "B200 (DGX)") == Verdict::corrected);
}

TEST_CASE("hierarchies of a dgx h100 and a dgx b200") {
  const Table h = dgx_h100_hierarchy(), b = b200_hierarchy();
  // reference: 3350 shared; 450; 63.0; 50; 50
  CHECK(ours(h, "HBM3") == 3350);
  CHECK(ours(h, "NVLink 4") == 450);
  CHECK(ours(h, "PCIe 5 x16") == within(63.0, 0.001));
  CHECK(ours(h, "InfiniBand NDR") == 50);
  CHECK(ours(h, "400G Ethernet") == 50);
  CHECK(verdict(h, "NVLink 4") == Verdict::reproduced);
  CHECK(verdict(h, "PCIe 5 x16") == Verdict::corrected);
  CHECK(verdict(h, "InfiniBand NDR") == Verdict::qualified);
  CHECK(ours(b, "NVLink 5") == 900);
  CHECK(ours(b, "HBM3e") == 7700);  // DGX B200's; 8000 is the GB200's
}

TEST_CASE("bisection is not injection, and one way is not both") {
  const Table t = aggregates();
  // reference: 72 x 1.8 = 129.6 both, 64.8 one way; 36 x 0.9 = 32.4 across a cut; DGX H100 4 x 450 = 1.8
  CHECK(ours(t, "GB200 NVL72, sum") == within(64.8, 1e-9));
  CHECK(beside(t, "GB200 NVL72, sum", 2) == within(129.6, 1e-9));
  CHECK(ours(t, "GB200 NVL72, bisection") == within(32.4, 1e-9));
  CHECK(ours(t, "DGX H100, bisection") == within(1.8, 1e-9));
  CHECK(ours(t, "DGX B200, sum") == within(7.2, 1e-9));
  CHECK(verdict(t, "GB200 NVL72, sum") == Verdict::reproduced);
  CHECK(verdict(t, "GB200 NVL72, bisection") == Verdict::corrected);
  CHECK(verdict(t, "DGX H100, bisection") == Verdict::reproduced);
}

TEST_CASE("domains count packages, not dies") {
  const Table t = domain_sizes();
  CHECK(ours(t, "Hopper") == 8);
  CHECK(ours(t, "Blackwell") == 72);
  CHECK(ours(t, "Rubin") == 72);
  CHECK(ours(t, "Rubin Ultra") == 144);  // reference: 576 dies / 4
}

TEST_CASE("ports add up") {
  const Table t = switch_ports();
  CHECK(ours(t, "NVL72: ports of a switch chip") == 72);  // reference: 72 x 18 = 1296 = 18 x 72
  CHECK(ours(t, "NVL72: copper pairs in the backplane") == 5184);
  CHECK(ours(t, "72 GPUs without a switch: links per GPU") == 71);
  CHECK(ours(t, "8 GPUs without a switch: links in all") == 28);
  CHECK(ours(t, "DGX H100: GPUs per NIC") == 1);
}

TEST_CASE("infiniband ports and ualink") {
  const Table t = infiniband_ports();
  // reference: EDR 12.5 a port and 6.25 a GPU, HDR 25, NDR 50, XDR 100; DGX B200 has 400G
  CHECK(beside(t, "EDR, DGX-1 (V100)", 0) == 12.5);
  CHECK(ours(t, "EDR, DGX-1 (V100)") == 6.25);
  CHECK(ours(t, "HDR, DGX A100") == 25);
  CHECK(ours(t, "NDR, DGX H100") == 50);
  CHECK(ours(t, "DGX B200") == 50);
  CHECK(ours(t, "XDR, DGX B300") == 100);
  CHECK(ours(ualink(), "one lane") == 25);
  CHECK(ours(ualink(), "one port of 4 lanes") == 100);
}

TEST_CASE("copies between gpus stay below the ceiling") {
  const Table t = pair_rates();
  // reference: ceilings 300, 450, 31.5, 63.0; both ways double
  CHECK(beside(t, "A100, NVLink 3", 0) == 300);
  CHECK(beside(t, "H100, NVLink 4", 0) == 450);
  CHECK(beside(t, "PCIe 4", 0) == within(31.5, 0.001));
  CHECK(beside(t, "PCIe 5", 0) == within(63.0, 0.001));
  CHECK(beside(t, "PCIe 5, both ways at once", 0) == within(126, 0.001));
  for (const char* label : {"A100, NVLink 3", "H100, NVLink 4", "PCIe 4", "PCIe 5"}) {
    INFO(label);
    CHECK(ours(t, label) > 0.5 * beside(t, label, 0));
    CHECK(ours(t, label) < beside(t, label, 0));
    CHECK(beside(t, label, 1) > 5);  // a small message is launch and latency
  }
  CHECK(verdict(t, "A100, NVLink 3") == Verdict::reproduced);
  CHECK(verdict(t, "H100, NVLink 4") == Verdict::qualified);
}

TEST_CASE("one gigabyte of cache goes to the host one way") {
  const Table t = kv_offload();
  CHECK(beside(t, "DGX H100", 0) == within(15.9, 0.003));  // reference: 1 / 63.0
  CHECK(ours(t, "DGX H100") >= 15.9);                      // reference: 15.9 to 20 ms
  CHECK(ours(t, "DGX H100") <= 20);
}
