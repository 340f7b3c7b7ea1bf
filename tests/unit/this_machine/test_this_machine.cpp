// The values of a made-up machine come out of its measurement: rates within 1 %, latencies within 5 %; a machine whose file is loaded
// again answers with its own numbers.
#include "made_up.hpp"
#include "readings/probe_table.hpp"

#include <fabricost/probes/machine/this_machine.hpp>

#include "catch.hpp"

#include <fmt/format.h>

using namespace fabricost::probes;

namespace {

/// The system file of a measurement, written beside it and loaded again.
struct Calibrated {
  made_up::Files files;
  ThisMachine machine;
  System system;
  explicit Calibrated(const made_up::Machine& made, const ThisMachineRequest& request = {})
      : files(made), machine(calibrate_machine(files.points(), request)), system(loaded()) {}

  [[nodiscard]] std::string path() const { return (files.folder() / "this-machine.yaml").string(); }
  [[nodiscard]] const MeasuredFigure& figure(std::string_view tier, std::string_view what) const {
    for (const MeasuredFigure& f : machine.figures)
      if (f.tier == tier && f.what == what) return f;
    FAIL("no figure " << tier << " " << what);
    throw std::logic_error("unreachable");
  }

 private:
  [[nodiscard]] System loaded() const {
    std::ofstream{path()} << this_machine_yaml(machine);
    return load_system(path());
  }
};

Approx rate(double value) { return Approx(value).epsilon(0.01); }
Approx latency(double value) { return Approx(value).epsilon(0.05); }

Prediction host_copy(const System& system, double bytes) {
  return predict(system, SendRecv{.bytes = Bytes::from_value(bytes), .path = Path::gpu_host});
}

}  // namespace

TEST_CASE("memory, L2 and host tiers of one GPU come out as they were put in") {
  const made_up::Machine made = made_up::one_h200();
  const made_up::Gpu& gpu = made.gpus.front();
  const Calibrated c(made);
  const System& s = c.system;
  CHECK(s.gpus_per_node == 1);
  CHECK(s.gpu.name == "h200-sxm");
  CHECK(s.tier("hbm")->bandwidth.value.value() == rate(gpu.read));
  CHECK(s.tier("hbm")->latency.value.value() == latency(gpu.hbm_load));
  CHECK(s.tier("l2")->bandwidth.value.value() == rate(gpu.l2_read));
  CHECK(s.tier("l2")->latency.value.value() == latency(gpu.l2_load));
  CHECK(s.tier("pcie")->bandwidth.value.value() == rate(2 / (1 / gpu.to + 1 / gpu.from)));
  CHECK(s.tier("pcie")->copies[0].value() == rate(gpu.to));
  CHECK(s.tier("pcie")->copies[1].value() == rate(gpu.from));
  CHECK(s.tier("pcie")->copy_starts[0].value() == latency(gpu.start));
  CHECK(s.tier("pcie")->copy_starts[1].value() == latency(gpu.start));
  CHECK(c.figure("pcie", "to the GPU").value == rate(gpu.to));
  CHECK(c.figure("pcie", "from the GPU").value == rate(gpu.from));
  CHECK(c.figure("hbm", "copy").value == rate(gpu.copy));
  CHECK(c.figure("hbm", "read").datasheet == 4800e9);
  CHECK(c.figure("gpu", "launch of an empty kernel").value == latency(2.1e-6));
  CHECK(s.constants.compute.memory == rate(gpu.copy / gpu.read));
  CHECK(s.constants.compute_basis != Basis::calibrated);  // what products reach was not measured
  CHECK(c.machine.findings.empty());
}

TEST_CASE("every probe of memory and of launches becomes a figure") {
  const made_up::Machine made = made_up::one_h200();
  const made_up::Files files(made);
  long memory = 0, launches = 0;
  for (const fabricost::core::ProbeType& probe : fabricost::core::probe_table) {
    const bool launch = probe.group == fabricost::core::ProbeGroup::launch;
    if (!launch && !(probe.group == fabricost::core::ProbeGroup::memory && probe.traffic > 0)) continue;
    ++(launch ? launches : memory);
    std::ofstream(files.points(), std::ios::app) << fmt::format("measure-{},{},1,1,{},,{},1000,,cuda,13.0,,,spread 0.003; gpu 0,,,\n",
                                                                made.host, made.system, probe.word, launch ? 0 : 4294967296);
  }
  const ThisMachine machine = calibrate_machine(files.points(), {});
  const auto figures = [&](std::string_view tier, bool latency) {
    return std::count_if(machine.figures.begin(), machine.figures.end(),
                         [&](const MeasuredFigure& f) { return f.tier == tier && f.latency == latency; });
  };
  CHECK(figures("hbm", false) == memory);
  CHECK(figures("gpu", true) == launches);
}

TEST_CASE("every measured value of the file says where it comes from") {
  const Calibrated c(made_up::one_h200());
  for (const char* tier : {"l2", "hbm", "pcie"}) {
    const Provenance& p = c.system.tier(tier)->bandwidth.provenance;
    CHECK(p.confidence == Confidence::measured);
    CHECK(p.source.starts_with("measured on node17, 2026-01-31, "));
    CHECK(p.source.find(" points: ") != std::string::npos);
  }
}

TEST_CASE("copies with the host are calibrated where they were measured and extrapolated beyond") {
  const made_up::Machine made = made_up::one_h200();
  const made_up::Gpu& gpu = made.gpus.front();
  const Calibrated c(made);
  const System stock = load_system("dgx-h200");
  for (double bytes = 4096; bytes <= 1024 * mebibyte; bytes *= 16) {
    const Prediction p = host_copy(c.system, bytes);
    CHECK(p.basis == Basis::calibrated);
    CHECK(p.nodes == 1);
    CHECK_FALSE(p.extrapolated.sizes);
    CHECK(p.seconds == latency(gpu.start + bytes / (0.5 * (gpu.to + gpu.from))));
    CHECK(p.high / p.low < host_copy(stock, bytes).high / host_copy(stock, bytes).low);
  }
  CHECK(host_copy(c.system, 16).extrapolated.sizes);
  const Prediction beyond = host_copy(c.system, 16 * 1024 * mebibyte);
  CHECK(beyond.extrapolated.sizes);
  const Prediction largest = host_copy(c.system, 1024 * mebibyte);  // all wire: what lies beyond is hardly less sure
  CHECK(beyond.high / beyond.low >= 0.99 * largest.high / largest.low);
  CHECK(host_copy(stock, mebibyte).basis == Basis::sibling);  // other H200s' copies were measured
}

TEST_CASE("one GPU leaves collectives between nodes where they were and says that it has no peer") {
  const Calibrated c(made_up::one_h200());
  CHECK_FALSE(c.machine.calibration);
  CHECK(c.system.constants.basis != Basis::calibrated);
  const auto& kept = c.machine.not_calibrated;
  CHECK(std::any_of(kept.begin(), kept.end(), [](const std::string& one) { return one.find("one GPU has no peer") != std::string::npos; }));
  CHECK(std::any_of(kept.begin(), kept.end(), [](const std::string& one) { return one.find("collectives") != std::string::npos; }));
}

TEST_CASE("a node's collectives are fitted and its links keep the rate NCCL plans with") {
  made_up::Machine made = made_up::nvlink_node();
  const System stock = load_system("dgx-h200");
  made.collective = [&](const Operation& op) { return 1.03 * predict(stock, op).seconds; };  // within the stock system's interval
  const Calibrated c(made);
  const Tier& nvlink = *c.system.tier("nvlink");
  CHECK(nvlink.bandwidth.value.value() == stock.tier("nvlink")->bandwidth.value.value());
  CHECK(nvlink.efficiency == rate(made.peer / 450e9));
  CHECK(nvlink.latency.value.value() == latency(made.peer_load / 2));
  CHECK(nvlink.nominal_latency.value() == nvlink.latency.value.value());  // no step of a fitted collective gets dearer for it
  REQUIRE(c.machine.calibration);
  CHECK(c.machine.calibration->median_after < 0.5 * c.machine.calibration->median_before);
  for (const double bytes : {64 * kibibyte, 4 * mebibyte, 256 * mebibyte}) {
    const Operation op = AllReduce{.bytes = Bytes::from_value(bytes), .ranks = 8};
    const Prediction p = predict(c.system, op);
    CHECK(p.basis == Basis::calibrated);
    CHECK(p.seconds == Approx(made.collective(op)).epsilon(0.06));
  }
  CHECK(predict(c.system, AllReduce{.bytes = units::GiB(16), .ranks = 8}).extrapolated.sizes);
  CHECK(c.machine.findings.empty());
}

TEST_CASE("without collectives a measured peer latency leaves their predictions alone") {
  const Calibrated c(made_up::nvlink_node());
  const System stock = load_system("dgx-h200");
  const Operation op = AllReduce{.bytes = units::KiB(64), .ranks = 8};
  CHECK(predict(c.system, op).seconds == Approx(predict(stock, op).seconds));
}

TEST_CASE("a PCIe box keeps its link as it runs, and copies reach what was measured") {
  const made_up::Machine made = made_up::pcie_box();
  const Calibrated c(made);
  const Tier& pcie = *c.system.tier("pcie");
  CHECK(c.system.gpus_per_node == 4);
  CHECK(pcie.endpoints == 4);
  CHECK(pcie.bandwidth.value.value() == rate(8 * 16e9 * 128 / 130 / 8));
  CHECK((pcie.bandwidth.value * pcie.efficiency).value() == rate(13.15e9));
  CHECK(host_copy(c.system, 256 * mebibyte).seconds == rate(256 * mebibyte / 13.15e9));
  CHECK(host_copy(c.system, 256 * mebibyte).basis == Basis::calibrated);
}

TEST_CASE("a PCIe box may have more GPUs than the stock one, NVLink joins as many as its switches were described for") {
  made_up::Machine box = made_up::pcie_box();
  box.gpus.assign(10, box.gpus.front());
  const Calibrated ten(box);
  CHECK(ten.system.gpus_per_node == 10);
  CHECK(ten.system.tier("pcie")->endpoints == 10);
  made_up::Machine node = made_up::nvlink_node();
  node.gpus.assign(4, node.gpus.front());
  const Calibrated four(node);
  CHECK(four.system.gpus_per_node == 4);
  CHECK(four.system.tier("nvlink")->endpoints == 4);
  CHECK(four.system.tier(TierRole::nic)->endpoints == 4);
  node.gpus.assign(10, node.gpus.front());
  CHECK(Calibrated(node).system.gpus_per_node == 8);
}

// Findings name the faults that were planted, with their figures, and no others.

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

TEST_CASE("GPUs of two kinds are counted by their names") {
  made_up::Machine node;
  node.gpus.assign(3, made_up::Gpu{});
  node.gpus.back().name = "NVIDIA H100";
  const Calibrated made(node);
  CHECK(made.machine.facts.front() == std::pair<std::string, std::string>{"GPUs", "2 NVIDIA H200, 1 NVIDIA H100"});
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
