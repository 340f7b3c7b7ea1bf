#pragma once
/// \file probes.hpp
/// One function per family of probes: allocates, runs once, checks the result, and hands over what can be timed.
/// All throw Unsupported, OutOfMemory, WrongResult, DeviceFault, DeviceLost.

#include "measure/gpu/batch.hpp"

#include <memory>

namespace fabricost::measure::gpu {

[[nodiscard]] std::unique_ptr<Job> prepare_memory(Gpus& gpus, const Case& what);
[[nodiscard]] std::unique_ptr<Job> prepare_chase(Gpus& gpus, const Case& what);
[[nodiscard]] std::unique_ptr<Job> prepare_launch(Gpus& gpus, const Case& what);
[[nodiscard]] std::unique_ptr<Job> prepare_host_copy(Gpus& gpus, const Case& what);
[[nodiscard]] std::unique_ptr<Job> prepare_peer_copy(Gpus& gpus, const Case& what);
[[nodiscard]] std::unique_ptr<Job> prepare_peer_access(Gpus& gpus, const Case& what);
[[nodiscard]] std::unique_ptr<Job> prepare_peer_latency(Gpus& gpus, const Case& what);
[[nodiscard]] std::unique_ptr<Job> prepare_collective(Gpus& gpus, const Case& what);
[[nodiscard]] std::unique_ptr<Job> prepare_compute(Gpus& gpus, const Case& what);

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
