#pragma once
/// Contents of buffers that allow a bitwise check of results: words that differ from their neighbours, and
/// values with exact sums in every element type and order. Shared by kernels, the host and the tests.

#include <cstdint>

#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__HIP__)
#define FABRICOST_ON_BOTH __host__ __device__
#else
#define FABRICOST_ON_BOTH
#endif

namespace fabricost::probes::measure {

/// The contents of a buffer.
enum class Content : unsigned char {
  words,          ///< pattern_word
  floats,         ///< small whole numbers as float, the input of arithmetic kernels
  floats_negated  ///< the same, negated
};

/// 32-bit word `index` of a buffer with this seed. Consecutive words differ in high and low bits, so shifted
/// or exchanged blocks are detected.
FABRICOST_ON_BOTH constexpr std::uint32_t pattern_word(std::uint64_t index, std::uint32_t seed) {
  return static_cast<std::uint32_t>(index) * 0x9E3779B1u + static_cast<std::uint32_t>(index >> 32) * 0x85EBCA77u + seed * 0xC2B2AE3Du + 1u;
}

/// Bits of a whole number from 0 to 15 in a binary floating-point type with this many exponent and mantissa bits (at least 3).
FABRICOST_ON_BOTH constexpr std::uint64_t float_bits(unsigned value, unsigned exponent_bits, unsigned mantissa_bits) {
  if (value == 0) return 0;
  unsigned exponent = 0;
  while ((value >> exponent) > 1) ++exponent;
  const std::uint64_t bias = (std::uint64_t{1} << (exponent_bits - 1)) - 1;
  const std::uint64_t mantissa = (std::uint64_t{value} - (std::uint64_t{1} << exponent)) << (mantissa_bits - exponent);
  return ((bias + exponent) << mantissa_bits) | mantissa;
}

FABRICOST_ON_BOTH constexpr std::uint32_t content_word(std::uint64_t index, std::uint32_t seed, Content content) {
  if (content == Content::words) return pattern_word(index, seed);
  const auto bits = static_cast<std::uint32_t>(float_bits(static_cast<unsigned>((index + seed) % 15) + 1, 8, 23));
  return content == Content::floats ? bits : bits ^ 0x80000000u;
}

/// The representation of whole numbers in an element type.
struct ElementFormat {
  unsigned bytes = 4;
  unsigned exponent_bits = 0;  ///< 0: an integer
  unsigned mantissa_bits = 0;
};
FABRICOST_ON_BOTH constexpr std::uint64_t element_bits(unsigned value, ElementFormat format) {
  return format.exponent_bits == 0 ? value : float_bits(value, format.exponent_bits, format.mantissa_bits);
}

/// The contribution of `rank` of `ranks` to element `index` of a reduction: two ranks (or one twice) add 1 to
/// 4 each, the others 0. Every partial sum is a whole number up to 8, which is exact down to fp8 (e4m3) and
/// int8 in any order, and a rank that is left out or counted twice changes the result.
FABRICOST_ON_BOTH constexpr unsigned contribution(std::uint64_t index, unsigned rank, unsigned ranks) {
  const unsigned first = static_cast<unsigned>(index % ranks), second = static_cast<unsigned>((index / ranks * 5 + 3 + index) % ranks);
  return (rank == first ? 1 + static_cast<unsigned>(index % 4) : 0) + (rank == second ? 1 + static_cast<unsigned>((index >> 2) % 4) : 0);
}
/// The sum of all contributions.
FABRICOST_ON_BOTH constexpr unsigned exact_sum(std::uint64_t index) {
  return 2 + static_cast<unsigned>(index % 4) + static_cast<unsigned>((index >> 2) % 4);
}

}  // namespace fabricost::probes::measure
