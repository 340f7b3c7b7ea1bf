#pragma once
/// Launchers of the kernels in the .cu files. Each enqueues its kernel on `stream` of the current device and
/// returns the status. Sizes may be any number of bytes: after the last 16-byte vector, byte by byte.

#include "measure/checks/elements.hpp"
#include "measure/gpu/runtime.hpp"

#include <cstdint>

namespace fabricost::probes::measure::gpu {

// memory.cu: `passes` over the set, with `blocks` of threads_per_block
cudaError_t read_memory(const void* from, std::uint64_t bytes, int passes, std::uint32_t* sum, unsigned blocks, cudaStream_t stream);
cudaError_t write_memory(void* to, std::uint64_t bytes, int passes, std::uint32_t seed, unsigned blocks, cudaStream_t stream);
cudaError_t copy_memory(void* to, const void* from, std::uint64_t bytes, int passes, unsigned blocks, cudaStream_t stream);
/// Multiplies all complete floats of the set by `factor` in place.
cudaError_t scale_memory(void* set, std::uint64_t bytes, int passes, float factor, unsigned blocks, cudaStream_t stream);
/// Blocks of `read` (0), `write` (1), `copy` (2), `scale` (3) that fit on one multiprocessor.
cudaError_t blocks_per_multiprocessor(int kernel, int* blocks);
// for checks: another kernel, one word at a time
cudaError_t fill_words(void* to, std::uint64_t bytes, std::uint32_t seed, Content content, cudaStream_t stream);
cudaError_t count_wrong_bytes(const void* set, std::uint64_t bytes, std::uint32_t seed, Content content, std::uint32_t* wrong,
                              cudaStream_t stream);
/// The value that read_memory adds to `sum` in one pass over fill_words' words, computed without memory.
cudaError_t sum_of_words(std::uint64_t bytes, std::uint32_t seed, std::uint32_t* sum, cudaStream_t stream);

// chase.cu: `steps` dependent loads from `start`; the final address is written to `end`
cudaError_t chase(void* const* start, std::uint64_t steps, bool through_l1, void** end, cudaStream_t stream);

// launch.cu
cudaError_t empty_kernel(cudaStream_t stream);
/// Holds the stream until *open is not 0, for at most about ten seconds.
cudaError_t hold(const volatile int* open, cudaStream_t stream);

// peer_latency.cu: one thread, `steps` times
cudaError_t store_and_fence(std::uint32_t* there, std::uint32_t steps, cudaStream_t stream);
cudaError_t add_and_wait(std::uint32_t* there, std::uint32_t steps, std::uint32_t* last, cudaStream_t stream);

// collective.cu
cudaError_t fill_sent(void* buffer, std::uint64_t elements, bool reduces, unsigned rank, unsigned ranks, ElementFormat format,
                      cudaStream_t stream);
cudaError_t count_wrong_elements(const void* buffer, std::uint64_t elements, Collective operation, bool reduces, std::uint64_t piece,
                                 unsigned rank, unsigned ranks, ElementFormat format, std::uint32_t* wrong, cudaStream_t stream);

// overlap.cu: `blocks` of threads that each do `rounds` fused multiply-adds in four chains
cudaError_t arithmetic(float* results, std::uint64_t rounds, float factor, float summand, unsigned blocks, cudaStream_t stream);
inline constexpr unsigned arithmetic_threads = 256;

}  // namespace fabricost::probes::measure::gpu
