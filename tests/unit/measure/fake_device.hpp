#pragma once
// A simulated machine defined by a few numbers, so that measurements can be compared with known values. Time
// is virtual: a run takes the time it reports on the clock that the test reads.
#include "measure/device.hpp"
#include "measure/sample.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace fake {

using namespace fabricost::probes;
using namespace fabricost::probes::measure;

inline constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

struct Traits {
  int gpus = 1;
  std::string name = "NVIDIA H200", runtime = "CUDA", library = "nccl";
  double hbm = 4.4e12, l2_rate = 9e12, pcie = 55e9, nvlink = 370e9;  // bytes/s
  double launch = 2.2e-6, hop = 4e-6, chase_l1 = 30e-9, chase_l2 = 160e-9, chase_hbm = 480e-9;
  std::uint64_t l2 = 60 * MiB, memory = 141'000'000'000;
  double noise = 0.002;     // relative, normal
  int outlier_every = 0;    // batches; 0: never
  double outlier = 3;       // times the normal duration
  std::uint64_t cliff = 0;  // from here on a collective takes twice as long
  bool peers = true, mig = false;
  double prepare = 0.01;                          // seconds
  double device_clock = 1, host_clock = 1;        // what each shows per second
  double host_wait = 10e-6;                       // of every batch
  double cold_clocks = 0;                         // the first batch of a job takes this much longer, relative; halves with each batch
  std::uint64_t allocatable = ~std::uint64_t{0};  // bytes of a case
  int lost_after = -1, wrong_after = -1;          // prepared cases
  int lost_in_run = -1;                           // of the case prepared then
  int throttled_after = -1;                       // a quarter slower from then on
  int faults = 0;                                 // number of failing cases in a row
  std::optional<ProbeKind> unsupported{}, wrong{};
  int processes = 1;
};

class FakeDevice : public Device {
 public:
  explicit FakeDevice(Traits t) : traits(t) {}

  Traits traits;
  double time = 0;  // virtual seconds
  int prepared = 0;
  std::vector<Case> cases;

  [[nodiscard]] Clock clock() {
    return [this] { return time; };
  }

  /// Seconds of one repetition on a machine without noise.
  [[nodiscard]] double truth(const Case& what) const {
    const auto bytes = static_cast<double>(what.bytes);
    const int ranks = std::max(2, static_cast<int>(what.gpus.size())) * traits.processes;
    const ProbeType& probe = type_of(what.kind);
    switch (probe.group) {
      case ProbeGroup::memory:
        if (probe.traffic > 0) return traits.launch + probe.traffic * bytes / memory_rate(what);
        return what.bytes <= 128 * KiB ? traits.chase_l1 : what.bytes <= traits.l2 ? traits.chase_l2 : traits.chase_hbm;
      case ProbeGroup::launch: return traits.launch;
      case ProbeGroup::host:
        if (what.kind == ProbeKind::host_both_ways) return traits.hop + bytes / (0.9 * traits.pcie);
        return traits.hop + bytes / traits.pcie * (what.pinned ? 1 : 4);
      case ProbeGroup::peer: return probe.traffic > 0 ? traits.hop + bytes / traits.nvlink : traits.launch;
      case ProbeGroup::collectives: {
        const bool beyond = traits.cliff > 0 && what.bytes >= traits.cliff;
        return (beyond ? 2 : 1) * (traits.hop * ranks + bytes * bus_factor(what.operation, ranks) / traits.nvlink);
      }
      case ProbeGroup::overlap: break;
    }
    return 50e-6 + bytes / traits.nvlink;
  }

  Machine describe() override {
    Machine out;
    out.runtime = traits.runtime;
    out.runtime_version = "13.0";
    out.driver = "580.95.05";
    out.library = traits.library;
    out.library_version = traits.library.empty() ? "" : "2.27.3";
    out.host = "node17";
    out.processor = "a \"processor\"";
    out.sockets = 2;
    for (int i = 0; i < traits.gpus; ++i) {
      Unit unit;
      unit.name = traits.name;
      unit.uuid = "GPU-" + std::to_string(i);
      unit.compute = 90;
      unit.multiprocessors = 132;
      unit.memory = traits.memory;
      unit.free_memory = traits.memory;
      unit.l2 = traits.l2;
      unit.pcie_generation = 5;
      unit.pcie_lanes = 8;
      unit.pcie_generation_max = 5;
      unit.pcie_lanes_max = 16;
      unit.nvlinks = traits.peers && traits.gpus > 1 ? 18 : 0;
      unit.clock_max = 1.98e9;
      unit.ecc = true;
      unit.mig = traits.mig;
      unit.mig_instance = traits.mig;
      unit.host = "host" + std::to_string(i / 2);
      out.units.push_back(unit);
    }
    const auto n = static_cast<std::size_t>(traits.gpus);
    out.peer_access.assign(n, std::vector<bool>(n, traits.peers));
    for (std::size_t i = 0; i < n; ++i) out.peer_access[i][i] = false;
    if (traits.library.empty()) out.remarks.emplace_back("no NCCL was found: libnccl.so.2 cannot be opened");
    return out;
  }

  State state(int) override {
    State out;
    out.clock = throttled() ? 1.4e9 : 1.98e9;
    out.temperature = 40;
    out.throttled = throttled() ? "power cap" : "";
    return out;
  }

  std::unique_ptr<Job> prepare(const Case& what) override;

  [[nodiscard]] int processes() const override { return traits.processes; }
  [[nodiscard]] bool throttled() const { return traits.throttled_after >= 0 && prepared > traits.throttled_after; }

  std::mt19937_64 random{20260131};
  int batches = 0;

 private:
  [[nodiscard]] double memory_rate(const Case& what) const { return what.bytes <= traits.l2 && !what.cold ? traits.l2_rate : traits.hbm; }
};

class FakeJob : public Job {
 public:
  FakeJob(FakeDevice& device, Case what) : device_(device), what_(std::move(what)), warming_(device.traits.cold_clocks) {}

  Timing run(int repetitions) override {
    const Traits& t = device_.traits;
    if (t.lost_in_run >= 0 && device_.prepared > t.lost_in_run) throw DeviceLost("GPU 0 has fallen off the bus");
    double each = device_.truth(what_) * (1 + warming_);
    if (t.noise > 0) each *= std::normal_distribution<double>(1, t.noise)(device_.random);
    warming_ /= 2;
    if (device_.throttled()) each *= 1.25;
    if (t.outlier_every > 0 && ++device_.batches % t.outlier_every == 0) each *= t.outlier;
    const double waited = each * repetitions + t.host_wait;
    device_.time += waited;
    return {each * t.device_clock, waited / repetitions * t.host_clock};
  }

 private:
  FakeDevice& device_;
  Case what_;
  double warming_;
};

inline std::unique_ptr<Job> FakeDevice::prepare(const Case& what) {
  time += traits.prepare;
  ++prepared;
  if (traits.lost_after >= 0 && prepared > traits.lost_after) throw DeviceLost("GPU 0 has fallen off the bus");
  if (traits.faults > 0) {
    --traits.faults;
    throw DeviceFault("unspecified launch failure");
  }
  if (traits.unsupported == what.kind) throw Unsupported("not on this machine");
  if (traits.wrong == what.kind || (traits.wrong_after >= 0 && prepared > traits.wrong_after)) throw WrongResult("element 7 is 3, not 5");
  if (what.bytes > traits.allocatable) throw OutOfMemory("cudaMalloc");
  cases.push_back(what);
  return std::make_unique<FakeJob>(*this, what);
}

}  // namespace fake
