// Machines that published rows mean, those that will come among them.
#include "evaluation/published_machine.hpp"

#include <fabricost/specs/load.hpp>

#include <catch.hpp>

using namespace fabricost::plan;

namespace {

System loaded(const PublishedMachine& m) { return load_system(m.system, m.overrides); }

}  // namespace

TEST_CASE("a GPU is known by its name wherever it stands in the cell", "[machines]") {
  for (const auto& [gpu, system] :
       {std::pair{"A100", "dgx-a100"}, std::pair{"A100-80G", "dgx-a100"}, std::pair{"H100", "dgx-h100"}, std::pair{"H200", "dgx-h200"},
        std::pair{"H100 (96GB HBM2e 2.4TB/s, 500W)", "dgx-h100"}, std::pair{"H800", "deepseek-v3-h800"}, std::pair{"B200", "dgx-b200"},
        std::pair{"DGX-B200", "dgx-b200"}, std::pair{"B300", "dgx-b300"}, std::pair{"GB200", "gb200-nvl72"},
        std::pair{"DGX-GB200", "gb200-nvl72"}, std::pair{"GB200 NVL72", "gb200-nvl72"}, std::pair{"GB300", "gb300-nvl72"},
        std::pair{"DGX-GB300", "gb300-nvl72"}, std::pair{"H20", "hgx-h20"}}) {
    INFO(gpu);
    CHECK(published_machine(gpu, "", 0).system == system);
  }
  for (const char* none : {"GH200", "B2000", "", "A10"}) {
    INFO(none);
    CHECK(published_machine(none, "", 0).system.empty());
  }
}

TEST_CASE("an NVL72 is one domain of 72 with a port of its own for each GPU", "[machines]") {
  for (const char* wires :
       {"", "NVLink5 1800GB/s NVL72 + 4x400G NDR IB per tray", "72 x 1800 GB/s NVLink, 4 x 400Gb/s", "NVL72 (72x1800GB/s)"}) {
    const System gb200 = loaded(published_machine("GB200", wires, 4));
    INFO(wires);
    CHECK(gb200.domain == 72);
    CHECK(gb200.gpus_per_node == 4);
    const Tier* nic = gb200.tier(TierRole::nic);
    REQUIRE(nic != nullptr);
    CHECK(nic->endpoints == 4);
    CHECK(nic->bandwidth.value.value() == Approx(50e9));
  }
  CHECK(loaded(published_machine("GB200", "NVL72", 72)).domain == 72);
  const System gb300 = loaded(published_machine("GB300", "NVLink5 1800GB/s NVL72 + 4x800G XDR IB per tray", 4));
  CHECK(gb300.domain == 72);
  CHECK(gb300.tier(TierRole::nic)->bandwidth.value.value() == Approx(100e9));
}

TEST_CASE("ports of other fabrics have their own rates", "[machines]") {
  const System p6 = loaded(published_machine("B300", "B300 p6-b300: NVLink5 8/node + 16x400G EFA per node", 8));
  CHECK(p6.tier(TierRole::nic)->endpoints == 16);
  CHECK(p6.tier(TierRole::nic)->bandwidth.value.value() == Approx(50e9));
  CHECK(p6.tier(TierRole::nic)->transport.name == "efa-v4");
  const System p5 = loaded(published_machine("H100", "p5 H100: NVLink4 8/node + 32x100G EFA per node", 8));
  CHECK(p5.tier(TierRole::nic)->endpoints == 32);
  CHECK(p5.tier(TierRole::nic)->bandwidth.value.value() == Approx(12.5e9));
  const System selene = loaded(published_machine("A100-80G", "NVLink3 600GB/s + 8x200G HDR IB (Selene)", 8));
  CHECK(selene.tier(TierRole::nic)->bandwidth.value.value() == Approx(25e9));
  CHECK(loaded(published_machine("H100", "NVLink4 + 8x400G RoCE", 8)).tier(TierRole::nic)->transport.name == "roce");
}

TEST_CASE("nodes of fewer GPUs are smaller domains", "[machines]") {
  const System four = loaded(published_machine("H200", "4 H200 per node NVLink; InfiniBand NDR between nodes", 4));
  CHECK(four.domain == 4);
  CHECK(four.tier(TierRole::nic)->endpoints == 4);
}

TEST_CASE("what a part is held to is read from its name", "[machines]") {
  const PublishedMachine m = published_machine("H100 (96GB HBM2e 2.4TB/s, 500W)", "", 8);
  CHECK(m.memory_rate == Approx(2.4e12));
  CHECK(loaded(m).gpu.power.value.value() == Approx(500));
  CHECK(loaded(m).gpu.memory.value.value() == Approx(97871.0 * 1048576));
  CHECK(loaded(published_machine("A100-40G", "", 8)).gpu.memory.value.value() == Approx(40960.0 * 1048576));
}

TEST_CASE("peaks are those of the GPU and precision, and processors know fp8 and fp4", "[machines]") {
  CHECK(published_peak("dgx-a100", 16) == 312e12);
  CHECK(published_peak("dgx-h100", 8) == 1979e12);
  CHECK(published_peak("dgx-b200", 16) == 2250e12);
  CHECK(published_peak("gb200-nvl72", 8) == 5000e12);
  CHECK(published_peak("gb200-nvl72", 4) == 10000e12);
  for (const auto& [gpu, fp8, fp4] :
       {std::tuple{"GB200", 5e15, 10e15}, std::tuple{"B200", 4.5e15, 9e15}, std::tuple{"GB300", 5e15, 15e15}}) {
    const Processor p = Processor::of(loaded(published_machine(gpu, "", 0)));
    CHECK(p.peak8 == Approx(fp8));
    CHECK(p.peak4 == Approx(fp4));
  }
}
