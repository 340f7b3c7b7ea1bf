/// One thread follows pointers: each load waits for the previous one, so the time per step is the latency of
/// the lines' memory.

#include "measure/gpu/probes/kernels.hpp"

namespace fabricost::probes::measure::gpu {
namespace {

template <bool through_l1>
__device__ inline void* next_of(void* const* at) {
#if FABRICOST_HIP
  if (through_l1) return *at;
  return __builtin_nontemporal_load(at);
#else
  unsigned long long next;
  if (through_l1)
    asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(next) : "l"(at));
  else
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(next) : "l"(at) : "memory");
  return reinterpret_cast<void*>(next);
#endif
}

template <bool through_l1>
__global__ void chase_kernel(void* const* start, unsigned long long steps, void** end) {
  void* const* at = start;
  for (unsigned long long i = 0; i < steps; ++i) at = static_cast<void* const*>(next_of<through_l1>(at));
  *end = const_cast<void**>(at);
}

}  // namespace

cudaError_t chase(void* const* start, std::uint64_t steps, bool through_l1, void** end, cudaStream_t stream) {
  if (through_l1)
    chase_kernel<true><<<1, 1, 0, stream>>>(start, steps, end);
  else
    chase_kernel<false><<<1, 1, 0, stream>>>(start, steps, end);
  return cudaGetLastError();
}

}  // namespace fabricost::probes::measure::gpu
