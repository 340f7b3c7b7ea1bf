/// One thread stores to, or adds to, a word of another GPU and waits for each to complete: a store when its
/// fence returns, an atomic when its old value arrives.

#include "measure/gpu/probes/kernels.hpp"

namespace fabricost::probes::measure::gpu {
namespace {

__global__ void store_kernel(volatile std::uint32_t* there, std::uint32_t steps) {
  for (std::uint32_t i = 1; i <= steps; ++i) {
    *there = i;
    __threadfence_system();
  }
}

__global__ void add_kernel(std::uint32_t* there, std::uint32_t steps, std::uint32_t* last) {
  std::uint32_t before = 0;
  // the addend depends on the previous value, which stays below 2^31: always 1, but unknown to the compiler
  for (std::uint32_t i = 0; i < steps; ++i) before = atomicAdd_system(there, 1u + (before >> 31));
  *last = before;
}

}  // namespace

cudaError_t store_and_fence(std::uint32_t* there, std::uint32_t steps, cudaStream_t stream) {
  store_kernel<<<1, 1, 0, stream>>>(there, steps);
  return cudaGetLastError();
}
cudaError_t add_and_wait(std::uint32_t* there, std::uint32_t steps, std::uint32_t* last, cudaStream_t stream) {
  add_kernel<<<1, 1, 0, stream>>>(there, steps, last);
  return cudaGetLastError();
}

}  // namespace fabricost::probes::measure::gpu
