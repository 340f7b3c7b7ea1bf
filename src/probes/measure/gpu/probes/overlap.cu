/// Arithmetic without memory accesses, whose multiprocessors a collective takes. It has many more blocks than
/// run concurrently, so that free multiprocessors take over the blocks of those that the collective occupies.

#include "measure/gpu/probes/kernels.hpp"

namespace fabricost::probes::measure::gpu {
namespace {

__global__ void __launch_bounds__(arithmetic_threads)
    arithmetic_kernel(float* results, unsigned long long rounds, float factor, float summand) {
  float a = 1, b = 2, c = 3, d = 4;
  for (unsigned long long i = 0; i < rounds; ++i) {
    a = fmaf(a, factor, summand);
    b = fmaf(b, factor, summand);
    c = fmaf(c, factor, summand);
    d = fmaf(d, factor, summand);
  }
  results[blockIdx.x * arithmetic_threads + threadIdx.x] = a + b + c + d;
}

}  // namespace

cudaError_t arithmetic(float* results, std::uint64_t rounds, float factor, float summand, unsigned blocks, cudaStream_t stream) {
  arithmetic_kernel<<<blocks, arithmetic_threads, 0, stream>>>(results, rounds, factor, summand);
  return cudaGetLastError();
}

}  // namespace fabricost::probes::measure::gpu
