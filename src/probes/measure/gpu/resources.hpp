#pragma once
/// Owners of a device's resources: streams, events, buffers, graphs. Destructors ignore errors: after the
/// loss of a device every release fails, and the loss is already reported. Other failures are the exceptions of the engine.

#include "measure/device.hpp"
#include "measure/gpu/runtime.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
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

/// Memory of one device, from the runtime or from another allocator.
class Buffer {
 public:
  using Release = std::function<void(void*)>;
  Buffer() = default;
  /// Takes over memory of another allocator.
  Buffer(int ordinal, std::uint64_t bytes, void* at, Release release)
      : at_(at), bytes_(bytes), ordinal_(ordinal), release_(std::move(release)) {}
  Buffer(int ordinal, std::uint64_t bytes) : bytes_(bytes), ordinal_(ordinal) {
    use(ordinal);
    check(cudaMalloc(&at_, std::max<std::uint64_t>(bytes, 16)), std::to_string(bytes) + " bytes on GPU " + std::to_string(ordinal));
  }
  ~Buffer() {
    if (at_ == nullptr) return;
    if (release_)
      release_(at_);
    else
      ignore(cudaFree(at_));
  }
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    std::swap(ordinal_, other.ordinal_);
    std::swap(release_, other.release_);
    return *this;
  }
  template <class T = void>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(at_);
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Sets all bytes, before anything enqueued later on any stream.
  void fill(int byte) const {
    use(ordinal_);
    check(cudaMemset(at_, byte, bytes_), "filling a buffer");
    check(cudaDeviceSynchronize(), "filling a buffer");  // our streams do not wait for the default one
  }
  /// Fills it with bytes that are in no result, so that missing writes are detected.
  void poison() const { fill(0xA5); }

 private:
  void* at_ = nullptr;
  std::uint64_t bytes_ = 0;
  int ordinal_ = 0;
  Release release_{};  ///< empty: the runtime's
};

/// Host memory, page-locked or from the allocator.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(std::uint64_t bytes, bool pinned, unsigned flags = cudaHostAllocPortable) : bytes_(bytes), pinned_(pinned) {
    const std::uint64_t wanted = std::max<std::uint64_t>(bytes, 16);
    if (pinned)
      check(cudaHostAlloc(&at_, wanted, flags), std::to_string(bytes) + " bytes of pinned host memory");
    else if ((at_ = std::malloc(wanted)) == nullptr)
      throw OutOfMemory(std::to_string(bytes) + " bytes of host memory");
  }
  ~HostBuffer() {
    if (at_ == nullptr) return;
    if (pinned_)
      ignore(cudaFreeHost(at_));
    else
      std::free(at_);
  }
  HostBuffer(HostBuffer&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), bytes_(std::exchange(other.bytes_, 0)), pinned_(std::exchange(other.pinned_, false)) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    std::swap(pinned_, other.pinned_);
    return *this;
  }
  template <class T = void>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(at_);
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void* at_ = nullptr;
  std::uint64_t bytes_ = 0;
  bool pinned_ = false;
};

}  // namespace fabricost::probes::measure::gpu
