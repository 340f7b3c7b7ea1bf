#pragma once
/// \file gate.hpp
/// A common barrier: a kernel holds the first stream, and with it all that wait for it, until the host has enqueued what is to be timed.

#include "measure/gpu/probes/kernels.hpp"
#include "measure/gpu/resources.hpp"

#include <atomic>

namespace fabricost::measure::gpu {

class Gate {
 public:
  Gate() : flag_(sizeof(int), true, cudaHostAllocMapped | cudaHostAllocPortable) { open(); }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// From here on `stream`, of the current device, waits for open(). Nothing that waits for the device itself (allocations, copies of
  /// pageable memory, the first launch of a kernel) may come before open().
  void close(cudaStream_t stream) {
    set(0);
    void* seen = nullptr;
    check(cudaHostGetDevicePointer(&seen, flag_.as<void>(), 0), "mapping the gate");
    const cudaError_t status = hold(static_cast<const int*>(seen), stream);
    if (status != cudaSuccess) open();
    check(status, "holding a stream");
  }
  void open() { set(1); }

 private:
  void set(int value) {
    *flag_.as<volatile int>() = value;
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  HostBuffer flag_;
};

/// Opens the gate when it goes out of scope: a held stream would block the release of what failed.
struct OpensGate {
  Gate& gate;
  ~OpensGate() { gate.open(); }
};

}  // namespace fabricost::measure::gpu
