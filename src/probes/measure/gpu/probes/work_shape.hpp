#pragma once
/// The work of one launch: blocks of a grid, passes over a small set, loads of a chase.

#include <algorithm>
#include <cstdint>

namespace fabricost::probes::measure::gpu {

/// For the kernels that move memory (memory.cu).
inline constexpr unsigned threads_per_block = 512, loads_in_flight = 8, bytes_per_vector = 16;

/// Blocks that fill the GPU, but no more than there are vectors for their threads.
[[nodiscard]] constexpr unsigned blocks_for(std::uint64_t bytes, int multiprocessors, int blocks_per_multiprocessor) {
  const std::uint64_t full =
      static_cast<std::uint64_t>(std::max(1, multiprocessors)) * static_cast<unsigned>(std::max(1, blocks_per_multiprocessor));
  const std::uint64_t per_block = std::uint64_t{threads_per_block} * bytes_per_vector;
  const std::uint64_t useful = bytes / per_block + (bytes % per_block != 0);
  return static_cast<unsigned>(std::clamp<std::uint64_t>(useful, 1, full));
}

/// The same for the kernels that fill and check, one element after another.
inline constexpr unsigned check_threads = 256;
[[nodiscard]] constexpr unsigned check_blocks(std::uint64_t elements) {
  return static_cast<unsigned>(std::min<std::uint64_t>(elements / check_threads + 1, 1024));
}

/// Passes over the set in one launch, such that it lasts `wanted` seconds and the gap between launches (about
/// 1 us) does not affect the rate. A power of two, so that small noise in `once` (seconds of one pass) does
/// not change the work.
[[nodiscard]] inline int passes_for(double once, double wanted = 200e-6, int max = 64) {
  if (!(once > 0)) return max;
  int passes = 1;
  while (passes < max && passes * once < wanted) passes *= 2;
  return passes;
}

/// Loads of one launch of a chase through `lines`. A set that may fit L1 must be loaded into L1 by the launch
/// itself, since L1 does not outlive a kernel: it is traversed 512 times, so those first loads are at most 2
/// % of the time. Larger sets are in L2 or HBM.
[[nodiscard]] constexpr std::uint64_t chase_steps(std::uint64_t lines, std::uint64_t line_bytes) {
  constexpr std::uint64_t largest_l1 = 256 << 10;
  if (lines * line_bytes > largest_l1) return 16384;
  return std::clamp<std::uint64_t>(512 * lines, 65536, 1 << 20);
}

/// Launches that cover `repetitions`, at least one.
[[nodiscard]] constexpr int launches_for(int repetitions, std::uint64_t per_launch) {
  const auto wanted = static_cast<std::uint64_t>(std::max(1, repetitions));
  return static_cast<int>(wanted / per_launch + (wanted % per_launch != 0));
}

}  // namespace fabricost::probes::measure::gpu
