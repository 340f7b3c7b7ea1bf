#pragma once
/// GPUs made of threads: the CUDA runtime, NCCL and NVML over host memory, so that the GPU probes run where there is no GPU. It says
/// nothing about speed. It shows whether kernels compute what they should, whether results are checked, and what happens when a call fails.
///
/// Every stream is a thread that takes its work in order; a kernel's blocks run one after another, in random order. Where CUDA may wait for
/// the device (allocations, copies of pageable memory), the stand-in always waits. Memory is the allocator's, so that address sanitizers
/// see every access of a kernel, and thread sanitizers every race between streams.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#define STAND_IN_API __attribute__((visibility("default")))

namespace stand_in {

/// The machine, from the words of $GPU_STAND_IN: "devices=2 peers=0 fail=cudaMalloc@3=lost".
struct Settings {
  int devices = 1;
  bool peers = true;                ///< devices reach each other's memory
  bool mig = false;                 ///< each device is a slice
  bool permission = true;           ///< NVML answers an ordinary user
  unsigned throttled = 0;           ///< NVML's reasons
  std::string folder{};             ///< for the communicators of several processes
  int collective_microseconds = 0;  ///< how long a collective takes at least
  bool counted_clock = false;       ///< events tell how much work was done, not when: the same on a busy machine
};
STAND_IN_API const Settings& settings();

// of each device
inline constexpr int multiprocessors = 2;
inline constexpr std::size_t memory_bytes = std::size_t{64} << 20U, l2_bytes = std::size_t{64} << 10U;

/// The way in which a call fails.
enum class Failure : int { none, out_of_memory, unsupported, fault, lost };
inline constexpr std::pair<Failure, const char*> failure_words[] = {
    {Failure::out_of_memory, "out_of_memory"}, {Failure::unsupported, "unsupported"}, {Failure::fault, "fault"}, {Failure::lost, "lost"}};

/// Counts a call, and says how it fails. `device`: a loss of this one lasts; -1: of none.
STAND_IN_API Failure failure_of(const char* call, int device = -1);
/// The same of work while it runs: by its kind ("running_kernel"), and by its own name ("fill_kernel") where that was planned.
STAND_IN_API Failure failure_of_work(const char* kind, const char* name, int device);

/// After a loss every call of the device fails and its work is skipped.
STAND_IN_API void lose(int device);
STAND_IN_API bool is_lost(int device);

/// Turns the byte that $GPU_STAND_IN names; called after each piece of work.
void turn_byte_of(const char* work, const std::vector<void*>& pointers);

inline constexpr int host_memory = -1, no_memory = -2;
/// The device whose memory contains these bytes; host_memory if they are page-locked, no_memory if they are in no allocation.
STAND_IN_API int owner_of(const void* begin, std::size_t bytes);
[[nodiscard]] bool reaches(int from, int to);
STAND_IN_API int device_of(cudaStream_t stream);

/// One piece of work of a stream.
struct Work {
  const char* name = "";
  std::vector<void*> pointers{};  ///< that may be written
  std::function<void()> run{};
};
/// Memory of the current device, from NCCL's allocator.
STAND_IN_API cudaError_t library_memory(void** to, std::size_t bytes);
STAND_IN_API cudaError_t release_library_memory(void* begin);
[[nodiscard]] STAND_IN_API bool is_library_memory(const void* begin, std::size_t bytes);

/// Puts work at the end of a stream, or into the graph that it captures.
STAND_IN_API void enqueue(cudaStream_t stream, Work work);

/// The place of the running thread in its grid.
struct Place {
  dim3 thread, block, block_size, grid;
};
extern constinit thread_local STAND_IN_API Place place;
STAND_IN_API void sync_threads();
/// Runs the threads `first` to `last - 1` of the block that `place` names.
using Threads = std::function<void(unsigned first, unsigned last)>;
/// \param syncs the kernel contains __syncthreads
STAND_IN_API cudaError_t launch(const char* name, bool syncs, dim3 grid, dim3 block, cudaStream_t stream, std::vector<void*> pointers,
                                Threads threads);
STAND_IN_API cudaError_t occupancy(int* blocks);

// Between the parts of the runtime.
void run_grid(const Threads& threads, bool syncs, dim3 grid, dim3 block);
[[nodiscard]] cudaError_t status_of(Failure failure);
/// Keeps a status for cudaGetLastError.
cudaError_t said(cudaError_t status);
[[nodiscard]] int current_device();
void set_current_device(int device);
/// Waits for all work of a device.
void drain(int device);
/// True while this thread captures, when calls that may wait are forbidden: the capture becomes invalid.
[[nodiscard]] bool forbidden_by_capture();
/// Reports a call that no CUDA accepts.
cudaError_t misused(cudaError_t status, const std::string& why);

/// Returns from a function of the runtime when this call of it is to fail.
#define STAND_IN_CALL(device)                                                                              \
  if (const auto planned = ::stand_in::failure_of(__func__, device); planned != ::stand_in::Failure::none) \
  return ::stand_in::said(::stand_in::status_of(planned))
/// Returns where a stream of this thread is being captured.
#define STAND_IN_MAY_WAIT() \
  if (::stand_in::forbidden_by_capture()) return ::stand_in::said(cudaErrorStreamCaptureUnsupported)

}  // namespace stand_in
