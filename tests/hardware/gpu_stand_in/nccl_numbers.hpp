#pragma once
/// Elements of NCCL's types as numbers and back, through their exponent and mantissa.

#include <nccl.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace stand_in {

struct NumberFormat {
  unsigned bytes = 1;
  int exponent_bits = 0;  ///< 0: a signed integer
  int mantissa_bits = 0;
};

inline NumberFormat format_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8: return {1, 0, 0};
    case ncclFloat16: return {2, 5, 10};
    case ncclBfloat16: return {2, 8, 7};
    case ncclFloat32: return {4, 8, 23};
    case ncclFloat64: return {8, 11, 52};
#if NCCL_VERSION_CODE >= 22400
    case ncclFloat8e4m3: return {1, 4, 3};
#endif
    default: std::abort();  // the probes send no other
  }
}

inline double number_at(const char* at, NumberFormat format) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, format.bytes);
  if (format.exponent_bits == 0) return static_cast<std::int8_t>(bits);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const double one = std::ldexp(1.0, format.mantissa_bits);
  const double fraction = static_cast<double>(bits & ((std::uint64_t{1} << format.mantissa_bits) - 1)) / one;
  const auto exponent = static_cast<int>((bits >> format.mantissa_bits) & ((std::uint64_t{1} << format.exponent_bits) - 1));
  const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return (bits >> (format.exponent_bits + format.mantissa_bits)) != 0 ? -size : size;
}

inline void put_number(double value, char* at, NumberFormat format) {
  std::uint64_t bits = 0;
  if (format.exponent_bits == 0) {
    bits = static_cast<std::uint8_t>(static_cast<std::int64_t>(value));  // wraps round, as sums in place grow with every repetition
  } else if (value != 0) {
    int exponent = 0;
    const double fraction = 2 * std::frexp(std::fabs(value), &exponent) - 1;
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    bits = static_cast<std::uint64_t>(exponent - 1 + bias) << format.mantissa_bits;
    bits += static_cast<std::uint64_t>(std::llround(std::ldexp(fraction, format.mantissa_bits)));
    if (value < 0) bits |= std::uint64_t{1} << (format.exponent_bits + format.mantissa_bits);
  }
  std::memcpy(at, &bits, format.bytes);
}

}  // namespace stand_in
