/// Findings name the faults that were planted, with their figures, and no others.

#include "catch.hpp"
#include "made_up.hpp"

#include <fabricost/probes/machine/this_machine.hpp>

using namespace fabricost::probes;

namespace {

std::vector<MachineFinding> found(const made_up::Machine& made) {
  const made_up::Files files(made);
  return calibrate_machine(files.points()).findings;
}

std::vector<std::string> causes(const std::vector<MachineFinding>& findings) {
  std::vector<std::string> out;
  for (const MachineFinding& one : findings) {
    CHECK_FALSE(one.evidence.empty());
    CHECK_FALSE(one.remedy.empty());
    out.push_back(one.cause);
  }
  return out;
}

using Causes = std::vector<std::string>;

}  // namespace

TEST_CASE("healthy machines have nothing said against them") {
  CHECK(causes(found(made_up::one_h200())) == Causes{});
  CHECK(causes(found(made_up::nvlink_node())) == Causes{});
  made_up::Machine box = made_up::pcie_box();
  for (made_up::Gpu& gpu : box.gpus) gpu.lanes = 16, gpu.to = 26e9, gpu.from = 26.5e9;
  CHECK(causes(found(box)) == Causes{});
}

TEST_CASE("a link at half its lanes is found with both widths and what copies reach") {
  const auto findings = found(made_up::pcie_box());
  REQUIRE(causes(findings) == Causes{"pcie_downgraded"});
  CHECK(findings[0].evidence.find("all 4 GPUs") != std::string::npos);
  CHECK(findings[0].evidence.find("4 x8") != std::string::npos);
  CHECK(findings[0].evidence.find("4 x16") != std::string::npos);
  CHECK(findings[0].evidence.find("13.") != std::string::npos);
}

TEST_CASE("one GPU of eight at half its lanes is named") {
  made_up::Machine node = made_up::nvlink_node();
  node.gpus[3].lanes = 8;
  node.gpus[3].to = 27e9;
  node.gpus[3].from = 27e9;
  const auto findings = found(node);
  REQUIRE(!findings.empty());
  CHECK(findings[0].cause == "pcie_downgraded");
  CHECK(findings[0].evidence.starts_with("GPU 3:"));
}

TEST_CASE("the clock of an idle GPU is no fault, nor is one that is idle when the measurement ends") {
  made_up::Machine one = made_up::one_h200();
  one.gpus[0].clock = 345e6;
  CHECK(causes(found(one)) == Causes{});
  one.gpus[0].throttled = "idle";
  CHECK(causes(found(one)) == Causes{});
}

TEST_CASE("missing peer access is a fault where the GPUs have NVLink, and usual where they meet over PCIe") {
  made_up::Machine node = made_up::nvlink_node();
  node.peer_access = false;
  node.peer = 380e9;
  CHECK(causes(found(node)) == Causes{"no_p2p_shm"});
  made_up::Machine box = made_up::pcie_box();
  for (made_up::Gpu& gpu : box.gpus) gpu.lanes = 16, gpu.to = 26e9, gpu.from = 26.5e9;
  box.peer_access = false;
  CHECK(causes(found(box)) == Causes{});
}

TEST_CASE("links that are down are counted, and copies that took PCIe are seen") {
  made_up::Machine node = made_up::nvlink_node();
  node.gpus[5].nvlinks = 12;
  auto findings = found(node);
  REQUIRE(causes(findings) == Causes{"nvlink_not_used"});
  CHECK(findings[0].evidence == "GPU 5: 12 of 18 NVLinks are active");
  node = made_up::nvlink_node();
  node.peer = 40e9;
  findings = found(node);
  REQUIRE(causes(findings) == Causes{"nvlink_not_used"});
  CHECK(findings[0].evidence.find("nvlink has 450 GB/s") != std::string::npos);
}

TEST_CASE("slow memory, host copies, clocks and one GPU behind the others each have their finding") {
  made_up::Machine one = made_up::one_h200();
  one.gpus[0].read = one.gpus[0].copy = 3.2e12;
  CHECK(causes(found(one)) == Causes{"memory_slow"});
  one = made_up::one_h200();
  one.gpus[0].to = one.gpus[0].from = 30e9;
  CHECK(causes(found(one)) == Causes{"host_copies_slow"});
  one = made_up::one_h200();
  one.gpus[0].from = 40e9;
  CHECK(causes(found(one)) == Causes{"host_copies_slow"});
  one = made_up::one_h200();
  one.gpus[0].clock = 1400e6;
  one.gpus[0].throttled = "power cap";
  const auto clocks = found(one);
  REQUIRE(causes(clocks) == Causes{"clocks_low"});
  CHECK(clocks[0].evidence.find("power cap") != std::string::npos);
  made_up::Machine node = made_up::nvlink_node();
  node.gpus[6].read = node.gpus[6].copy = 3.6e12;
  const auto behind = found(node);
  REQUIRE(causes(behind) == Causes{"stragglers"});
  CHECK(behind[0].evidence.find("GPU 6") != std::string::npos);
}

TEST_CASE("all-reduces as slow as a ring where the switches could add are found") {
  made_up::Machine node = made_up::nvlink_node();
  const System stock = load_system("dgx-h200");
  node.collective = [&](const Operation& op) {
    const bool adds = op.collective == Collective::all_reduce && predict(stock, op).ran.algorithm == Algorithm::nvls;
    return predict(stock, op, adds ? Choice{.algorithm = Algorithm::ring} : Choice{}).seconds;
  };
  const auto findings = found(node);
  REQUIRE(causes(findings) == Causes{"nvls_off"});
  CHECK(findings[0].evidence.find("bus bandwidth") != std::string::npos);
}

TEST_CASE("collectives that are slow for no reason a probe shows are named with their worst") {
  made_up::Machine node = made_up::nvlink_node();
  const System stock = load_system("dgx-h200");
  node.collective = [&](const Operation& op) { return 2.5 * predict(stock, op).seconds; };
  CHECK(causes(found(node)) == Causes{"collectives_slow"});
}

TEST_CASE("the likeliest finding comes first") {
  made_up::Machine node = made_up::nvlink_node();
  node.gpus[0].clock = 1500e6;
  node.gpus[0].throttled = "thermal";
  node.gpus[1].nvlinks = 9;
  const auto findings = found(node);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].cause == "nvlink_not_used");
  CHECK(findings[0].confidence > findings[1].confidence);
}
