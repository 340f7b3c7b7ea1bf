#pragma once
/// \file probes.hpp
/// Every source of this folder registers the probes it prepares: it allocates, runs once, checks the result, and hands over what can be
/// timed.

#include "measure/gpu/batch.hpp"

#include <array>
#include <initializer_list>
#include <memory>

namespace fabricost::measure::gpu {

/// Makes a case ready. \throws Unsupported, OutOfMemory, WrongResult, DeviceFault, DeviceLost
using Prepare = std::unique_ptr<Job> (*)(Gpus& gpus, const Case& what);

/// Names the kinds that a source prepares, while the plugin is loaded: `const Prepares these{{ProbeKind::...}, function};`
class Prepares {
 public:
  Prepares(std::initializer_list<ProbeKind> kinds, Prepare prepare) {
    for (const ProbeKind kind : kinds) all()[static_cast<std::size_t>(kind)] = prepare;
  }
  /// nullptr: no source registered it.
  [[nodiscard]] static Prepare of(ProbeKind kind) { return all()[static_cast<std::size_t>(kind)]; }

 private:
  static std::array<Prepare, probe_table.size()>& all() {
    static std::array<Prepare, probe_table.size()> known{};
    return known;
  }
};

/// The one that overlap adds to.
[[nodiscard]] std::unique_ptr<Job> prepare_collective(Gpus& gpus, const Case& what);
/// The work of a checked collective; compute_overlap adds to it.
[[nodiscard]] Work collective_work(Gpus& gpus, const Case& what);
/// Blocks of one of the kernels of memory.cu (numbered as blocks_per_multiprocessor does) that fill this GPU.
[[nodiscard]] unsigned blocks_on(const Gpus& gpus, int gpu, int kernel, std::uint64_t bytes);
/// A chase's ring in memory of `gpu`, checked on the host, and the loads of one launch.
struct Ring {
  Buffer memory{};
  std::uint64_t steps = 0;
  void* start = nullptr;
  void* end = nullptr;  ///< where a launch must arrive
};
[[nodiscard]] Ring make_ring(const Gpus& gpus, int gpu, std::uint64_t bytes);
/// \throws Unsupported when a case names no pair of two GPUs
void check_pairs(const Case& what);

}  // namespace fabricost::measure::gpu
