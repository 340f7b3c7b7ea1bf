/// Fills the send buffers and compares the received elements bit by bit.

#include "measure/gpu/probes/grid_index.hpp"
#include "measure/gpu/probes/kernels.hpp"
#include "measure/gpu/probes/work_shape.hpp"

namespace fabricost::probes::measure::gpu {
namespace {

template <class Word>
__global__ void fill_sent_kernel(Word* buffer, Index elements, bool reduces, unsigned rank, unsigned ranks, ElementFormat format) {
  for (Index i = first_index(); i < elements; i += Index{gridDim.x} * blockDim.x)
    buffer[i] = static_cast<Word>(sent_bits(reduces, i, rank, ranks, format));
}

template <class Word>
__global__ void count_wrong_elements_kernel(const Word* buffer, Index elements, Collective operation, bool reduces, Index piece,
                                            unsigned rank, unsigned ranks, ElementFormat format, std::uint32_t* wrong) {
  std::uint32_t mine = 0;
  for (Index i = first_index(); i < elements; i += Index{gridDim.x} * blockDim.x)
    mine += buffer[i] != static_cast<Word>(received_bits(operation, reduces, i, piece, rank, ranks, format)) ? 1 : 0;
  if (mine != 0) atomicOr(wrong, 1u), atomicAdd(wrong + 1, mine);
}

}  // namespace

// An element as an unsigned integer of its width.
#define FABRICOST_BY_WIDTH(call)              \
  switch (format.bytes) {                     \
    case 1: call(std::uint8_t); break;        \
    case 2: call(std::uint16_t); break;       \
    case 4: call(std::uint32_t); break;       \
    default: call(unsigned long long); break; \
  }

cudaError_t fill_sent(void* buffer, std::uint64_t elements, bool reduces, unsigned rank, unsigned ranks, ElementFormat format,
                      cudaStream_t stream) {
  const unsigned blocks = check_blocks(elements);
#define FABRICOST_FILL(Word) \
  fill_sent_kernel<Word><<<blocks, check_threads, 0, stream>>>(static_cast<Word*>(buffer), elements, reduces, rank, ranks, format)
  FABRICOST_BY_WIDTH(FABRICOST_FILL)
#undef FABRICOST_FILL
  return cudaGetLastError();
}

cudaError_t count_wrong_elements(const void* buffer, std::uint64_t elements, Collective operation, bool reduces, std::uint64_t piece,
                                 unsigned rank, unsigned ranks, ElementFormat format, std::uint32_t* wrong, cudaStream_t stream) {
  const unsigned blocks = check_blocks(elements);
#define FABRICOST_COUNT(Word)                                                                                                     \
  count_wrong_elements_kernel<Word><<<blocks, check_threads, 0, stream>>>(static_cast<const Word*>(buffer), elements, operation, \
                                                                          reduces, piece, rank, ranks, format, wrong)
  FABRICOST_BY_WIDTH(FABRICOST_COUNT)
#undef FABRICOST_COUNT
  return cudaGetLastError();
}

}  // namespace fabricost::probes::measure::gpu
