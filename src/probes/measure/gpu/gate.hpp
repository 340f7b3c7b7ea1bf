#pragma once
/// \file gate.hpp
/// A common start: a kernel holds the first stream, and with it all streams that wait for it, until the host
/// has enqueued the timed work.

#include "measure/gpu/probes/kernels.hpp"
#include "measure/gpu/resources.hpp"

#include <atomic>

namespace fabricost::probes::measure::gpu {

class Gate {
 public:
  Gate() : flag_(sizeof(int), true, cudaHostAllocMapped | cudaHostAllocPortable) { open(); }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Holds `stream`, of the current device, until open(). Calls that wait for the device (allocations, copies
  /// of pageable memory, the first launch of a kernel) must not come before open().
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

/// Opens the gate at the end of a scope, since a held stream would block the clean-up after a failure.
struct OpensGate {
  Gate& gate;
  ~OpensGate() { gate.open(); }
};

}  // namespace fabricost::probes::measure::gpu
