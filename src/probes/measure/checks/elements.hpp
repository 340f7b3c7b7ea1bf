#pragma once
/// The elements that each rank sends in a checked collective, and those it must receive. Shared by the GPU
/// plugin (kernels and host), the tests.

#include <fabricost/collective.hpp>

#include "measure/checks/pattern.hpp"

#include <cstdint>

namespace fabricost::probes::measure {

[[nodiscard]] constexpr ElementFormat format_of(DataType type) {
  switch (type) {
    case DataType::int8: return {1, 0, 0};
    case DataType::half: return {2, 5, 10};
    case DataType::bfloat16: return {2, 8, 7};
    case DataType::fp8: return {1, 4, 3};
    case DataType::single: return {4, 8, 23};
    case DataType::double_precision: return {8, 11, 52};
  }
  return {};
}

/// Bits of element `index` in the send buffer of `rank`.
/// Reductions use numbers with exact sums; other operations use words that identify the rank and index.
FABRICOST_ON_BOTH constexpr std::uint64_t sent_bits(bool reduces, std::uint64_t index, unsigned rank, unsigned ranks,
                                                    ElementFormat format) {
  if (reduces) return element_bits(contribution(index, rank, ranks), format);
  const std::uint64_t word = (std::uint64_t{pattern_word(index, 2 * rank)} << 32) | pattern_word(index, 2 * rank + 1);
  return word ^ (word >> 24);  // the lowest byte depends on the whole index, so that a misplaced block of bytes is detected
}

/// The origin of element `index` of the receive buffer of `rank`.
struct Origin {
  unsigned rank = 0;        ///< for operations that only move data
  std::uint64_t index = 0;  ///< in its send buffer
};
FABRICOST_ON_BOTH constexpr Origin origin_of(Collective operation, std::uint64_t index, std::uint64_t piece, unsigned rank,
                                             unsigned ranks) {
  switch (operation) {
    case Collective::all_gather: return {static_cast<unsigned>(index / piece), index % piece};
    case Collective::reduce_scatter: return {rank, rank * piece + index};
    case Collective::all_to_all: return {static_cast<unsigned>(index / piece), rank * piece + index % piece};
    case Collective::send_recv: return {(rank + ranks - 1) % ranks, index};
    default: return {0, index};  // all_reduce: any; broadcast: the root
  }
}

/// Bits of an element of this origin, or of the sum of all ranks' elements with its index.
FABRICOST_ON_BOTH constexpr std::uint64_t arrived_bits(bool reduces, Origin origin, unsigned ranks, ElementFormat format) {
  return reduces ? element_bits(exact_sum(origin.index), format) : sent_bits(false, origin.index, origin.rank, ranks, format);
}

/// Bits that element `index` of the receive buffer of `rank` must have.
FABRICOST_ON_BOTH constexpr std::uint64_t received_bits(Collective operation, bool reduces, std::uint64_t index, std::uint64_t piece,
                                                        unsigned rank, unsigned ranks, ElementFormat format) {
  return arrived_bits(reduces, origin_of(operation, index, piece, rank, ranks), ranks, format);
}

}  // namespace fabricost::probes::measure
