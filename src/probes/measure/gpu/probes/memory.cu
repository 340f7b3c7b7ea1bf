/// Read, write, copy and scale: 16-byte vectors, eight in flight per thread, a grid-stride loop.
///
/// Loads use L2 and not L1 (ld.global.cg), so that a set that fits L2 measures L2 for any part per block.

#include "measure/gpu/probes/grid_index.hpp"
#include "measure/gpu/probes/kernels.hpp"
#include "measure/gpu/probes/work_shape.hpp"

namespace fabricost::probes::measure::gpu {
namespace {

__device__ inline uint4 load_past_l1(const uint4* from) {
#if FABRICOST_HIP
  return *from;  // AMD's L1 is write-through, and small compared with any set of interest
#else
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from) : "memory");
  return v;
#endif
}

// Applies `to(i, from(i))` to all vectors: eight at a stride of the grid's width, all loaded before the first
// is used, then the rest.
template <class From, class To>
__device__ inline void stream(Index vectors, From from, To to) {
  const Index step = Index{gridDim.x} * threads_per_block;
  Index i = first_index();
  for (; i + (loads_in_flight - 1) * step < vectors; i += loads_in_flight * step) {
    uint4 v[loads_in_flight];
#pragma unroll
    for (unsigned u = 0; u < loads_in_flight; ++u) v[u] = from(i + u * step);
#pragma unroll
    for (unsigned u = 0; u < loads_in_flight; ++u) to(i + u * step, v[u]);
  }
  for (; i < vectors; i += step) to(i, from(i));
}

__global__ void __launch_bounds__(threads_per_block)
    read_kernel(const uint4* from, Index vectors, unsigned tail, int passes, std::uint32_t* sum) {
  __shared__ std::uint32_t of_block;
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  std::uint32_t mine = 0;
  for (int pass = 0; pass < passes; ++pass) {
    stream(
        vectors, [=](Index i) { return load_past_l1(from + i); }, [&mine](Index, const uint4& v) { mine += v.x + v.y + v.z + v.w; });
    if (first_index() < tail) mine += reinterpret_cast<const volatile unsigned char*>(from + vectors)[first_index()];
  }
  atomicAdd(&of_block, mine);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(sum, of_block);
}

__device__ inline uint4 words_of_vector(Index vector, std::uint32_t seed) {
  return make_uint4(pattern_word(4 * vector, seed), pattern_word(4 * vector + 1, seed), pattern_word(4 * vector + 2, seed),
                    pattern_word(4 * vector + 3, seed));
}
__device__ inline unsigned char byte_of(std::uint64_t index, std::uint32_t seed, Content content) {
  return static_cast<unsigned char>(content_word(index / 4, seed, content) >> (8 * (index % 4)));
}

__global__ void __launch_bounds__(threads_per_block) write_kernel(uint4* to, Index vectors, unsigned tail, int passes, std::uint32_t seed) {
  for (int pass = 0; pass < passes; ++pass) {
    stream(
        vectors, [=](Index i) { return words_of_vector(i, seed); }, [=](Index i, const uint4& v) { to[i] = v; });
    if (first_index() < tail)
      reinterpret_cast<unsigned char*>(to + vectors)[first_index()] = byte_of(16 * vectors + first_index(), seed, Content::words);
  }
}

__global__ void __launch_bounds__(threads_per_block)
    copy_kernel(uint4* __restrict__ to, const uint4* __restrict__ from, Index vectors, unsigned tail, int passes) {
  for (int pass = 0; pass < passes; ++pass) {
    stream(
        vectors, [=](Index i) { return load_past_l1(from + i); }, [=](Index i, const uint4& v) { to[i] = v; });
    if (first_index() < tail)
      reinterpret_cast<unsigned char*>(to + vectors)[first_index()] = reinterpret_cast<const unsigned char*>(from + vectors)[first_index()];
  }
}

__device__ inline uint4 scaled(const uint4& v, float factor) {
  return make_uint4(__float_as_uint(__uint_as_float(v.x) * factor), __float_as_uint(__uint_as_float(v.y) * factor),
                    __float_as_uint(__uint_as_float(v.z) * factor), __float_as_uint(__uint_as_float(v.w) * factor));
}

__global__ void __launch_bounds__(threads_per_block)
    scale_kernel(uint4* set, Index vectors, unsigned tail_floats, int passes, float factor) {
  for (int pass = 0; pass < passes; ++pass) {
    stream(
        vectors, [=](Index i) { return load_past_l1(set + i); }, [=](Index i, const uint4& v) { set[i] = scaled(v, factor); });
    if (first_index() < tail_floats) reinterpret_cast<float*>(set + vectors)[first_index()] *= factor;
  }
}

__global__ void fill_kernel(std::uint32_t* to, Index words, unsigned tail, std::uint32_t seed, Content content) {
  for (Index i = first_index(); i < words; i += Index{gridDim.x} * blockDim.x) to[i] = content_word(i, seed, content);
  if (first_index() < tail) reinterpret_cast<unsigned char*>(to + words)[first_index()] = byte_of(4 * words + first_index(), seed, content);
}

__global__ void count_wrong_kernel(const std::uint32_t* set, Index words, unsigned tail, std::uint32_t seed, Content content,
                                   std::uint32_t* wrong) {
  std::uint32_t mine = 0;
  for (Index i = first_index(); i < words; i += Index{gridDim.x} * blockDim.x) mine += set[i] != content_word(i, seed, content) ? 4 : 0;
  if (first_index() < tail)
    mine += reinterpret_cast<const unsigned char*>(set + words)[first_index()] != byte_of(4 * words + first_index(), seed, content) ? 1 : 0;
  if (mine != 0) atomicOr(wrong, 1u), atomicAdd(wrong + 1, mine);
}

__global__ void sum_kernel(Index words, Index bytes, std::uint32_t seed, std::uint32_t* sum) {
  std::uint32_t mine = 0;
  for (Index i = first_index(); i < words; i += Index{gridDim.x} * blockDim.x) mine += pattern_word(i, seed);
  if (first_index() < bytes - 4 * words) mine += byte_of(4 * words + first_index(), seed, Content::words);
  atomicAdd(sum, mine);
}

unsigned whole(std::uint64_t bytes, unsigned unit) { return static_cast<unsigned>(bytes % unit); }

}  // namespace

cudaError_t read_memory(const void* from, std::uint64_t bytes, int passes, std::uint32_t* sum, unsigned blocks, cudaStream_t stream) {
  read_kernel<<<blocks, threads_per_block, 0, stream>>>(static_cast<const uint4*>(from), bytes / 16, whole(bytes, 16), passes, sum);
  return cudaGetLastError();
}
cudaError_t write_memory(void* to, std::uint64_t bytes, int passes, std::uint32_t seed, unsigned blocks, cudaStream_t stream) {
  write_kernel<<<blocks, threads_per_block, 0, stream>>>(static_cast<uint4*>(to), bytes / 16, whole(bytes, 16), passes, seed);
  return cudaGetLastError();
}
cudaError_t copy_memory(void* to, const void* from, std::uint64_t bytes, int passes, unsigned blocks, cudaStream_t stream) {
  copy_kernel<<<blocks, threads_per_block, 0, stream>>>(static_cast<uint4*>(to), static_cast<const uint4*>(from), bytes / 16,
                                                        whole(bytes, 16), passes);
  return cudaGetLastError();
}
cudaError_t scale_memory(void* set, std::uint64_t bytes, int passes, float factor, unsigned blocks, cudaStream_t stream) {
  scale_kernel<<<blocks, threads_per_block, 0, stream>>>(static_cast<uint4*>(set), bytes / 16, whole(bytes, 16) / 4, passes, factor);
  return cudaGetLastError();
}
cudaError_t blocks_per_multiprocessor(int kernel, int* blocks) {
  constexpr int threads = static_cast<int>(threads_per_block);
  switch (kernel) {
    case 0: return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, read_kernel, threads, 0);
    case 1: return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, write_kernel, threads, 0);
    case 2: return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, copy_kernel, threads, 0);
    default: return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, scale_kernel, threads, 0);
  }
}
cudaError_t fill_words(void* to, std::uint64_t bytes, std::uint32_t seed, Content content, cudaStream_t stream) {
  fill_kernel<<<check_blocks(bytes / 4), check_threads, 0, stream>>>(static_cast<std::uint32_t*>(to), bytes / 4, whole(bytes, 4), seed,
                                                                     content);
  return cudaGetLastError();
}
cudaError_t count_wrong_bytes(const void* set, std::uint64_t bytes, std::uint32_t seed, Content content, std::uint32_t* wrong,
                              cudaStream_t stream) {
  count_wrong_kernel<<<check_blocks(bytes / 4), check_threads, 0, stream>>>(static_cast<const std::uint32_t*>(set), bytes / 4,
                                                                            whole(bytes, 4), seed, content, wrong);
  return cudaGetLastError();
}
cudaError_t sum_of_words(std::uint64_t bytes, std::uint32_t seed, std::uint32_t* sum, cudaStream_t stream) {
  sum_kernel<<<check_blocks(bytes / 4), check_threads, 0, stream>>>(bytes / 16 * 4, bytes, seed, sum);
  return cudaGetLastError();
}

}  // namespace fabricost::probes::measure::gpu
