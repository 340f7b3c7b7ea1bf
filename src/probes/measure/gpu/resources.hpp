#pragma once
/// Owners of a device's resources: streams, events, buffers, graphs. Destructors ignore errors: after the
/// loss of a device every release fails, and the loss is already reported. Other failures are the exceptions of the engine.

#include "measure/device.hpp"
#include "measure/gpu/runtime.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace fabricost::probes::measure::gpu {

/// \throws OutOfMemory, Unsupported, DeviceLost, DeviceFault, naming the attempted call, unless it succeeded
inline void check(cudaError_t status, const std::string& attempted) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // clears it, or the next launch would report it again
  const std::string said = attempted + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")";
  switch (status) {
    case cudaErrorMemoryAllocation: throw OutOfMemory(said);
    case cudaErrorNotSupported:
    case cudaErrorPeerAccessUnsupported:
#if !FABRICOST_HIP
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
#endif
      throw Unsupported(said);
    // after these, every later call on the device fails
    case cudaErrorNoDevice:
    case cudaErrorIllegalAddress:
    case cudaErrorECCUncorrectable:
    case cudaErrorLaunchFailure:
#if !FABRICOST_HIP
    case cudaErrorDevicesUnavailable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorAssert:
    case cudaErrorLaunchTimeout:
    case cudaErrorSystemNotReady:
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsServerNotReady:
#endif
    case cudaErrorUnknown: throw DeviceLost(said);
    default: throw DeviceFault(said);
  }
}

/// Makes a device the current one of this thread.
inline void use(int ordinal) { check(cudaSetDevice(ordinal), "choosing GPU " + std::to_string(ordinal)); }

/// Forgets the status of a release: the runtime would report it again after the next launch.
inline void ignore(cudaError_t status) {
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
}

/// Owns a handle, which `release` frees.
template <class Handle, cudaError_t (*release)(Handle)>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (handle_ != Handle{}) ignore(release(handle_));
  }
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  [[nodiscard]] Handle handle() const { return handle_; }
  [[nodiscard]] Handle* place() { return &handle_; }

 private:
  Handle handle_{};
};

using Stream = Owned<cudaStream_t, cudaStreamDestroy>;
using Event = Owned<cudaEvent_t, cudaEventDestroy>;
using Graph = Owned<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;

/// A stream on the current device. `urgent`: high priority, as frameworks use for their collectives.
[[nodiscard]] inline Stream make_stream(bool urgent = false) {
  int min = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&min, &greatest), "reading stream priorities");
  Stream stream;
  check(cudaStreamCreateWithPriority(stream.place(), cudaStreamNonBlocking, urgent ? greatest : min), "creating a stream");
  return stream;
}
[[nodiscard]] inline Event make_event(bool timing) {
  Event event;
  check(cudaEventCreateWithFlags(event.place(), timing ? cudaEventDefault : cudaEventDisableTiming), "creating an event");
  return event;
}

/// Memory, which `release` frees.
class Memory {
 public:
  using Release = std::function<void(void*)>;
  Memory() = default;
  Memory(void* at, std::uint64_t bytes, Release release) : at_(at, std::move(release)), bytes_(bytes) {}
  template <class T = void>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(at_.get());
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<void, Release> at_;
  std::uint64_t bytes_ = 0;
};
inline constexpr std::uint64_t least_memory = 16;

[[nodiscard]] inline Memory device_memory(int ordinal, std::uint64_t bytes) {
  use(ordinal);
  void* at = nullptr;
  check(cudaMalloc(&at, std::max(bytes, least_memory)), std::to_string(bytes) + " bytes on GPU " + std::to_string(ordinal));
  return {at, bytes, [](void* memory) { ignore(cudaFree(memory)); }};
}

/// Memory of one device, from the runtime or from another allocator.
class Buffer : public Memory {
 public:
  Buffer() = default;
  /// Takes over memory of another allocator.
  Buffer(int ordinal, Memory memory) : Memory(std::move(memory)), ordinal_(ordinal) {}
  Buffer(int ordinal, std::uint64_t bytes) : Buffer(ordinal, device_memory(ordinal, bytes)) {}
  /// Sets all bytes, before anything enqueued later on any stream.
  void fill(int byte) const {
    use(ordinal_);
    check(cudaMemset(as(), byte, bytes()), "filling a buffer");
    check(cudaDeviceSynchronize(), "filling a buffer");  // our streams do not wait for the default one
  }
  /// Fills it with bytes that are in no result, so that missing writes are detected.
  void poison() const { fill(0xA5); }

 private:
  int ordinal_ = 0;
};

/// Host memory that GPUs reach by themselves.
[[nodiscard]] inline Memory pinned_memory(std::uint64_t bytes, unsigned flags = cudaHostAllocPortable) {
  void* at = nullptr;
  check(cudaHostAlloc(&at, std::max(bytes, least_memory), flags), std::to_string(bytes) + " bytes of pinned host memory");
  return {at, bytes, [](void* memory) { ignore(cudaFreeHost(memory)); }};
}
/// Host memory from the allocator.
[[nodiscard]] inline Memory pageable_memory(std::uint64_t bytes) {
  void* const at = std::malloc(std::max(bytes, least_memory));
  if (at == nullptr) throw OutOfMemory(std::to_string(bytes) + " bytes of host memory");
  return {at, bytes, [](void* memory) { std::free(memory); }};
}

}  // namespace fabricost::probes::measure::gpu
