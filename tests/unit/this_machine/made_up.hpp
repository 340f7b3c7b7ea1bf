#pragma once
/// Invented machines: the files that `fabricost measure` would write for them, from known rates and
/// latencies. Times follow t = start + S / rate with 0.1 % of noise, as medians of batches have, so that the
/// result of calibrate can be compared with the input.

#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include "support/folder.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace made_up {

struct Gpu {
  double read = 4.5e12, copy = 4.3e12;  ///< of the memory, byte/s
  double hbm_load = 600e-9, l2_load = 150e-9;
  double l2_read = 9.5e12;
  double to = 55e9, from = 54e9, start = 1.8e-6;  ///< copies with pinned host memory
  int generation = 5, lanes = 16, generation_most = 5, lanes_most = 16;
  int nvlinks = 18;
  double clock = 1980e6, clock_max = 1980e6;
  std::string throttled{}, name{};  ///< another than the machine's
};

struct Machine {
  std::string name = "NVIDIA H200", system = "dgx-h200", host = "node17";
  std::vector<Gpu> gpus{1};
  double memory = 150.75e9, l2 = 60 * 1048576.0;
  int multiprocessors = 132;
  bool mig_instance = false, ecc = true;
  bool peer_access = true;
  double peer = 380e9, peer_load = 1.3e-6;  ///< copies to a peer, byte/s; a dependent load, there and back
  double noise = 0.001;
  /// Seconds of a collective; none are written without it.
  std::function<double(const fabricost::core::Operation&)> collective{};
};

/// The measurement's two files, in a temporary folder.
class Files {
 public:
  explicit Files(const Machine& machine) : machine_(machine) {
    std::ofstream{points()} << csv();
    std::ofstream{machine_file()} << yaml();
  }
  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }
  [[nodiscard]] std::filesystem::path points() const { return folder_ / "measured.csv"; }
  [[nodiscard]] std::filesystem::path machine_file() const { return folder_ / "measured.machine.yaml"; }

 private:
  static constexpr double kib = 1024, mib = 1048576;

  double noisy(double seconds) { return seconds * (1 + machine_.noise * std::normal_distribution<double>{}(random_)); }

  void row(std::string_view operation, int gpus, double bytes, double seconds, std::string_view library, std::string_view notes,
           std::string_view path = "", std::string_view both_ways = "", std::string_view dtype = "") {
    text_ += fmt::format("measure-{},{},1,{},{},{},{:.0f},{:.6g},,{},13.0,,,spread 0.003; {},{},{},\n", machine_.host, machine_.system,
                         gpus, operation, dtype, bytes, 1e6 * noisy(seconds), library, notes, path, both_ways);
  }

  std::string csv() {
    text_ =
        "source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes,path,"
        "both_ways,streamed\n";
    for (std::size_t i = 0; i < machine_.gpus.size(); ++i) of_gpu(machine_.gpus[i], fmt::format("gpu {}", i), i == 0);
    peers();
    collectives();
    return text_;
  }

  /// Every size of the first GPU, one of the others.
  void of_gpu(const Gpu& gpu, const std::string& whose, bool first) {
    constexpr double launch = 2e-6;
    if (!first) {
      row("memory_copy", 1, 4096 * mib, launch + 2 * 4096 * mib / gpu.copy, "cuda", whose);
      for (const auto& [probe, rate] : {std::pair{"host_to_device", gpu.to}, {"device_to_host", gpu.from}})
        row("send_recv", 1, 256 * mib, gpu.start + 256 * mib / rate, "copy engine", fmt::format("probe {}; pinned yes; {}", probe, whose),
            "gpu-host", "0", "int8");
      return;
    }
    for (double size = mib; size <= 4096 * mib; size *= 2) {
      const bool cached = size <= machine_.l2 / 2;
      if (!cached && size < 4 * machine_.l2) continue;
      row("memory_read", 1, size, launch + size / (cached ? gpu.l2_read : gpu.read), "cuda", whose);
      row("memory_copy", 1, size, launch + 2 * size / (cached ? gpu.l2_read : gpu.copy), "cuda", whose);
    }
    for (const double size : {16 * kib, mib, 4 * mib, machine_.l2 * 5, machine_.l2 * 9})
      row("pointer_chase", 1, size, size < 64 * kib ? 20e-9 : size < machine_.l2 ? gpu.l2_load : gpu.hbm_load, "cuda", whose);
    for (double size = 4 * kib; size <= 1024 * mib; size *= 4) {
      row("send_recv", 1, size, gpu.start + size / gpu.to, "copy engine", "probe host_to_device; pinned yes; " + whose, "gpu-host", "0",
          "int8");
      row("send_recv", 1, size, gpu.start + size / gpu.from, "copy engine", "probe device_to_host; pinned yes; " + whose, "gpu-host", "0",
          "int8");
      row("send_recv", 1, size, gpu.start + size / (0.9 * gpu.to), "copy engine", "probe host_both_ways; pinned yes; " + whose, "gpu-host",
          "1", "int8");
    }
    row("host_to_device", 1, 256 * mib, 256 * mib / (0.4 * gpu.to), "cuda", "pinned no; " + whose, "", "0");
    row("kernel_launch", 1, 0, 2.1e-6, "cuda", whose);
    row("graph_node", 1, 0, 1.2e-6, "cuda", whose);
  }

  void peers() {
    const std::size_t gpus = machine_.gpus.size();
    for (std::size_t from = 0; from < gpus; ++from) {
      const std::size_t to = (from + 1) % gpus;
      if (to == from) return;
      const std::string pair = fmt::format("pairs {}>{}", from, to);
      for (double size = from == 0 ? 64 * kib : 256 * mib; size <= 256 * mib; size *= 4)
        row("send_recv", 2, size, 3e-6 + size / machine_.peer, "copy engine", "probe peer_copy; " + pair, "gpu-gpu", "0", "int8");
      if (machine_.peer_access && from == 0) row("peer_load", 2, 0, machine_.peer_load, "cuda", pair);
    }
  }

  void collectives() {
    if (!machine_.collective) return;
    using fabricost::core::Collective;
    const auto gpus = static_cast<int>(machine_.gpus.size());
    for (const Collective operation : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all})
      for (double size = 4 * kib; size <= 1024 * mib; size *= 4) {
        const fabricost::core::Operation asked{
            .collective = operation, .bytes = fabricost::core::Bytes::from_value(size), .ranks = gpus, .nodes = 1};
        row(name(operation), gpus, size, machine_.collective(asked), "nccl", "batches 9", "", "", "half");
      }
  }

  std::string yaml() {
    std::string out = fmt::format("measured:\n  date: \"2026-01-31T12:00:00Z\"\n  version: \"0.1.0\"\n  points: \"measured.csv\"\n");
    if (!machine_.system.empty()) out += fmt::format("  system: \"{}\"\n", machine_.system);
    out += "  complete: true\nruntime:\n  name: \"CUDA\"\n  version: \"13.0\"\n  driver: \"580.95.05\"\n  library: \"nccl\"\n";
    out +=
        fmt::format("  library_version: \"2.27.3\"\nhost:\n  name: \"{}\"\n  sockets: 2\nprocesses: 1\nnodes: 1\ngpus:\n", machine_.host);
    for (const Gpu& gpu : machine_.gpus) {
      out += fmt::format("  - name: \"{}\"\n    multiprocessors: {}\n    memory_bytes: {:.0f}\n    l2_bytes: {:.0f}\n",
                         gpu.name.empty() ? machine_.name : gpu.name, machine_.multiprocessors, machine_.memory, machine_.l2);
      out += fmt::format("    pcie: {{generation: {}, lanes: {}, generation_most: {}, lanes_most: {}}}\n    nvlinks: {}\n", gpu.generation,
                         gpu.lanes, gpu.generation_most, gpu.lanes_most, gpu.nvlinks);
      out += fmt::format("    clock_mhz: {:.0f}\n    clock_most_mhz: {:.0f}\n    ecc: {}\n    mig: {}\n    mig_instance: {}\n",
                         gpu.clock_max * 1e-6, gpu.clock_max * 1e-6, machine_.ecc, machine_.mig_instance, machine_.mig_instance);
      out += fmt::format("    after: {{clock_mhz: {:.0f}{}}}\n", gpu.clock * 1e-6,
                         gpu.throttled.empty() ? "" : fmt::format(", throttled: \"{}\"", gpu.throttled));
    }
    if (machine_.gpus.size() < 2) return out;
    out += "peer_access:\n";
    for (std::size_t i = 0; i < machine_.gpus.size(); ++i) {
      std::vector<int> cells(machine_.gpus.size(), machine_.peer_access ? 1 : 0);
      cells[i] = 0;
      out += fmt::format("  - [{}]\n", fmt::join(cells, ", "));
    }
    return out;
  }

  Machine machine_;
  std::mt19937 random_{1};
  std::string text_;
  support::Folder folder_;
};

/// A DGX H200's GPU on its own, the whole node, a box without NVLink at x8, a slice.
inline Machine one_h200() { return {}; }

inline Machine nvlink_node() {
  Machine out;
  out.gpus.assign(8, Gpu{});
  return out;
}

inline Machine pcie_box() {
  Machine out;
  out.name = "NVIDIA L40S";
  out.system = "l40s-pcie";
  Gpu gpu;
  gpu.read = 0.80e12;
  gpu.copy = 0.76e12;
  gpu.l2_read = 5e12;
  gpu.to = 13.1e9;
  gpu.from = 13.2e9;
  gpu.nvlinks = 0;
  gpu.generation = gpu.generation_most = 4;
  gpu.lanes = 8;
  out.gpus.assign(4, gpu);
  out.memory = 48e9;
  out.l2 = 96 * 1048576.0;
  out.multiprocessors = 142;
  out.peer_access = false;
  out.peer = 11e9;
  return out;
}

inline Machine slice() {
  Machine out;
  out.name = "NVIDIA H200 MIG 1g.18gb";
  Gpu gpu;
  gpu.read = 0.56e12;
  gpu.copy = 0.54e12;
  gpu.l2_read = 1.2e12;
  gpu.nvlinks = 0;
  out.gpus.assign(1, gpu);
  out.memory = 18e9;
  out.l2 = 7.5 * 1048576.0;
  out.multiprocessors = 16;
  out.mig_instance = true;
  return out;
}

}  // namespace made_up
