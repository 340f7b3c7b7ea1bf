#pragma once
/// The toolkit's header of this name for the stand-in: the real C API, and the words of the device language as C++.

#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include "stand_in.hpp"

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace stand_in {

/// A kernel with its grid, called with its arguments: what kernel<<<grid, block, shared, stream>>>(...) becomes.
template <class... Parameters>
struct Launch {
  const char* name;
  void (*kernel)(Parameters...);
  bool syncs;
  dim3 grid, block;
  cudaStream_t stream;

  template <class... Arguments>
  void operator()(Arguments&&... arguments) const {
    const std::tuple<Parameters...> given{static_cast<Parameters>(arguments)...};
    std::vector<void*> pointers;
    const auto keep = [&pointers](const auto& value) {
      if constexpr (std::is_pointer_v<std::decay_t<decltype(value)>>) pointers.push_back((void*)value);
    };
    std::apply([&](const auto&... values) { (keep(values), ...); }, given);
    const auto threads = [k = kernel, given](unsigned first, unsigned last) {
      for (place.thread.x = first; place.thread.x < last; ++place.thread.x) std::apply(k, given);
    };
    static_cast<void>(launch(name, syncs, grid, block, stream, std::move(pointers), threads));
  }
};

template <class... Parameters>
Launch<Parameters...> prepare(const char* name, void (*kernel)(Parameters...), bool syncs, dim3 grid, dim3 block, std::size_t,
                              cudaStream_t stream) {
  return {name, kernel, syncs, grid, block, stream};
}

}  // namespace stand_in

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __shared__ static thread_local  // the threads of a block run on one thread of the host, block after block
#define __launch_bounds__(...)
#define threadIdx (::stand_in::place.thread)
#define blockIdx (::stand_in::place.block)
#define blockDim (::stand_in::place.block_size)
#define gridDim (::stand_in::place.grid)

inline void __syncthreads() { stand_in::sync_threads(); }
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline std::uint32_t atomicAdd(std::uint32_t* at, std::uint32_t more) { return __atomic_fetch_add(at, more, __ATOMIC_RELAXED); }
inline std::uint32_t atomicAdd_system(std::uint32_t* at, std::uint32_t more) { return __atomic_fetch_add(at, more, __ATOMIC_SEQ_CST); }
inline std::uint32_t atomicOr(std::uint32_t* at, std::uint32_t bits) { return __atomic_fetch_or(at, bits, __ATOMIC_RELAXED); }
inline std::uint32_t __float_as_uint(float value) { return std::bit_cast<std::uint32_t>(value); }
inline float __uint_as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline long long clock64() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return 2 * std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();  // of a GPU of 2 GHz
}

template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel*, int, std::size_t) {
  return stand_in::occupancy(blocks);
}
