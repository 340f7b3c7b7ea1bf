#pragma once
/// \file probes.hpp
/// Every source of this folder registers the probes it prepares: it allocates, runs once, checks the result,
/// and returns a job to time.

#include "measure/gpu/batch.hpp"

#include <array>
#include <initializer_list>
#include <memory>

namespace fabricost::measure::gpu {

/// Makes a case ready. \throws Unsupported, OutOfMemory, WrongResult, DeviceFault, DeviceLost
using Prepare = std::unique_ptr<Job> (*)(Gpus& gpus, const Case& what);

/// Registers the kinds that a source prepares, when the plugin is loaded: `const Prepares
/// these{{ProbeKind::...}, function};`
class Prepares {
 public:
  Prepares(std::initializer_list<ProbeKind> kinds, Prepare prepare) {
    for (const ProbeKind kind : kinds) all()[static_cast<std::size_t>(kind)] = prepare;
  }
  /// nullptr if no source registered it.
  [[nodiscard]] static Prepare of(ProbeKind kind) { return all()[static_cast<std::size_t>(kind)]; }

 private:
  static std::array<Prepare, probe_table.size()>& all() {
    static std::array<Prepare, probe_table.size()> known{};
    return known;
  }
};

/// Also used by compute_overlap, which adds to it.
[[nodiscard]] std::unique_ptr<Job> prepare_collective(Gpus& gpus, const Case& what);
/// The work of a checked collective; compute_overlap adds to it.
[[nodiscard]] Work collective_work(Gpus& gpus, const Case& what);
/// Blocks of a kernel of memory.cu (numbered as in blocks_per_multiprocessor) that fill this GPU.
[[nodiscard]] unsigned blocks_on(const Gpus& gpus, int gpu, int kernel, std::uint64_t bytes);
/// A chase's ring in memory of `gpu`, checked on the host, and the loads of one launch.
struct Ring {
  Buffer memory{};
  std::uint64_t steps = 0;
  void* start = nullptr;
  void* end = nullptr;  ///< expected final address of a launch
};
[[nodiscard]] Ring make_ring(const Gpus& gpus, int gpu, std::uint64_t bytes);
/// \throws Unsupported when a case does not name a pair of two GPUs
void check_pairs(const Case& what);

}  // namespace fabricost::measure::gpu
