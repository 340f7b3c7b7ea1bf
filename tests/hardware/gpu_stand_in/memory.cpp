/// Devices and their attributes, device memory and page-locked host memory, peer access.

#include "stand_in.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

namespace stand_in {
namespace {

struct Allocation {
  std::size_t bytes = 0;
  int device = host_memory;
  unsigned flags = 0;  ///< of page-locked memory
  bool of_library = false;
};

std::mutex mutex;
std::map<const char*, Allocation> allocations;  // by their begin
std::map<int, std::size_t> used;                // bytes of a device
std::set<std::pair<int, int>> peers;            // from, to
thread_local int current = 0;
thread_local cudaError_t last = cudaSuccess;

const Allocation* allocation_of(const void* begin, std::size_t bytes) {
  auto found = allocations.upper_bound(static_cast<const char*>(begin));
  if (found == allocations.begin()) return nullptr;
  --found;
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(begin) - found->first);
  return offset + bytes <= found->second.bytes ? &found->second : nullptr;
}

cudaError_t allocate(void** to, std::size_t bytes, const Allocation& as) {
  for (int device = 0; device < settings().devices; ++device)
    if (as.device == device || as.device == host_memory) drain(device);
  const std::lock_guard lock(mutex);
  if (as.device >= 0 && used[as.device] + bytes > memory_bytes) return said(cudaErrorMemoryAllocation);
  void* made = nullptr;
  if (posix_memalign(&made, 4096, bytes) != 0) return said(cudaErrorMemoryAllocation);
  std::memset(made, 0xEE, bytes);  // what was there before
  if (as.device >= 0) used[as.device] += bytes;
  allocations[static_cast<char*>(made)] = as;
  *to = made;
  return cudaSuccess;
}

cudaError_t release(void* begin, bool of_host) {
  int device = host_memory;
  {
    const std::lock_guard lock(mutex);
    const auto found = allocations.find(static_cast<char*>(begin));
    if (found == allocations.end() || (found->second.device == host_memory) != of_host)
      return misused(cudaErrorInvalidValue, "memory is released that was not allocated so");
    device = found->second.device;
  }
  for (int one = 0; one < settings().devices; ++one)
    if (one == device || of_host) drain(one);
  const std::lock_guard lock(mutex);
  if (device >= 0) used[device] -= allocations[static_cast<char*>(begin)].bytes;
  allocations.erase(static_cast<char*>(begin));
  std::free(begin);
  return cudaSuccess;
}

}  // namespace

cudaError_t status_of(Failure failure) {
  switch (failure) {
    case Failure::none: return cudaSuccess;
    case Failure::out_of_memory: return cudaErrorMemoryAllocation;
    case Failure::unsupported: return cudaErrorNotSupported;
    case Failure::fault: return cudaErrorInvalidValue;
    case Failure::lost: break;
  }
  return cudaErrorLaunchFailure;
}

cudaError_t said(cudaError_t status) { return last = status; }
cudaError_t misused(cudaError_t status, const std::string& why) {
  std::fprintf(stderr, "stand-in: %s\n", why.c_str());
  return said(status);
}
int current_device() { return current; }
void set_current_device(int device) { current = device; }

int owner_of(const void* begin, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  const Allocation* const found = allocation_of(begin, bytes);
  return found != nullptr ? found->device : no_memory;
}
cudaError_t library_memory(void** to, std::size_t bytes) { return allocate(to, bytes, {bytes, current, 0, true}); }
cudaError_t release_library_memory(void* begin) {
  return is_library_memory(begin, 1) ? release(begin, false) : misused(cudaErrorInvalidValue, "NCCL did not allocate what it releases");
}
bool is_library_memory(const void* begin, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  const Allocation* const found = allocation_of(begin, bytes);
  return found != nullptr && found->of_library;
}
bool reaches(int from, int to) {
  const std::lock_guard lock(mutex);
  return from == to || to == host_memory || peers.count({from, to}) > 0;
}
}  // namespace stand_in

using namespace stand_in;

extern "C" {

STAND_IN_API cudaError_t cudaGetDeviceCount(int* count) {
  STAND_IN_CALL(-1);
  *count = settings().devices;
  return *count > 0 ? cudaSuccess : said(cudaErrorNoDevice);
}
STAND_IN_API cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= settings().devices) return said(cudaErrorInvalidDevice);
  STAND_IN_CALL(device);
  current = device;
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaGetLastError() { return is_lost(current) ? status_of(Failure::lost) : std::exchange(last, cudaSuccess); }
STAND_IN_API const char* cudaGetErrorName(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorNotSupported: return "cudaErrorNotSupported";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    default: return "cudaError of the stand-in";
  }
}
STAND_IN_API const char* cudaGetErrorString(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorNotSupported: return "operation not supported";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    default: return "an error";
  }
}
STAND_IN_API cudaError_t cudaRuntimeGetVersion(int* version) {
  STAND_IN_CALL(-1);
  *version = CUDART_VERSION;
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaDriverGetVersion(int* version) {
  STAND_IN_CALL(-1);
  *version = CUDART_VERSION;
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  STAND_IN_CALL(device);
  switch (which) {
    case cudaDevAttrMultiProcessorCount: *value = multiprocessors; break;
    case cudaDevAttrL2CacheSize: *value = static_cast<int>(l2_bytes); break;
    case cudaDevAttrClockRate: *value = 1980000; break;
    case cudaDevAttrMemoryClockRate: *value = 2619000; break;
    default: return misused(cudaErrorInvalidValue, "an attribute that the stand-in does not know");
  }
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  STAND_IN_CALL(device);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "NVIDIA H100 80GB HBM3%s", settings().mig ? " MIG 1g.10gb" : "");
  properties->major = 9;
  for (int i = 0; i < 16; ++i) properties->uuid.bytes[i] = static_cast<char>(i + device);
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaDeviceGetPCIBusId(char* to, int size, int device) {
  STAND_IN_CALL(device);
  std::snprintf(to, static_cast<std::size_t>(size), "FFFF:%02X:00.0", 0x10 + device);  // a domain that no host has
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* all) {
  STAND_IN_CALL(current);
  const std::lock_guard lock(mutex);
  *all = memory_bytes;
  *available = *all - used[current];
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaDeviceCanAccessPeer(int* can, int from, int to) {
  STAND_IN_CALL(from);
  *can = settings().peers && from != to ? 1 : 0;
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int from, int) {
  STAND_IN_CALL(from);
  *value = settings().peers ? 1 : 0;
  return cudaSuccess;
}
STAND_IN_API cudaError_t cudaDeviceEnablePeerAccess(int to, unsigned) {
  STAND_IN_CALL(current);
  if (!settings().peers) return said(cudaErrorPeerAccessUnsupported);
  const std::lock_guard lock(mutex);
  return peers.insert({current, to}).second ? cudaSuccess : said(cudaErrorPeerAccessAlreadyEnabled);
}

STAND_IN_API cudaError_t cudaMalloc(void** to, std::size_t bytes) {
  STAND_IN_CALL(current);
  STAND_IN_MAY_WAIT();
  return allocate(to, bytes, {bytes, current, 0, false});
}
STAND_IN_API cudaError_t cudaHostAlloc(void** to, std::size_t bytes, unsigned flags) {
  STAND_IN_CALL(current);
  STAND_IN_MAY_WAIT();
  return allocate(to, bytes, {bytes, host_memory, flags, false});
}
// Released memory is gone even if the call reports an error, as after the loss of a device.
STAND_IN_API cudaError_t cudaFree(void* begin) {
  const Failure planned = failure_of(__func__, current);
  const cudaError_t released = begin != nullptr ? release(begin, false) : cudaSuccess;
  return planned != Failure::none ? said(status_of(planned)) : released;
}
STAND_IN_API cudaError_t cudaFreeHost(void* begin) {
  const Failure planned = failure_of(__func__, current);
  const cudaError_t released = begin != nullptr ? release(begin, true) : cudaSuccess;
  return planned != Failure::none ? said(status_of(planned)) : released;
}
STAND_IN_API cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  STAND_IN_CALL(current);
  const std::lock_guard lock(mutex);
  const Allocation* const found = allocation_of(host, 1);
  if (found == nullptr || (found->flags & cudaHostAllocMapped) == 0) return misused(cudaErrorInvalidValue, "host memory is not mapped");
  *device = host;
  return cudaSuccess;
}

}  // extern "C"
