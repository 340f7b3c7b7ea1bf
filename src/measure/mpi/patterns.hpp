#pragma once
/// \file patterns.hpp
/// What buffers hold before a collective and must hold after it, exactly.
///
/// Moved bytes:  byte j of rank r is a mix of both, so that a part in the wrong place shows.
/// Reductions:   element i of rank r is (k(i) + 5 r) mod 7 with k(i) of seven values: the sum over ranks is one of seven small integers,
///               exact in float and double, and modulo 256 in 8-bit integers.

#include <array>
#include <cstddef>
#include <cstdint>

namespace fabricost::measure::mpi {

[[nodiscard]] constexpr std::uint8_t moved_byte(std::uint64_t rank, std::uint64_t at) {
  return static_cast<std::uint8_t>(at * 131 + (at >> 8) * 7 + (at >> 16) * 13 + rank * 29 + 1);
}

inline constexpr std::uint64_t classes = 7;
[[nodiscard]] constexpr std::uint64_t class_of(std::uint64_t at) { return (at * 3 + (at >> 7)) % classes; }
[[nodiscard]] constexpr std::uint64_t summand(std::uint64_t rank, std::uint64_t at) { return (class_of(at) + 5 * rank) % classes; }

/// Of all `ranks`, by class.
[[nodiscard]] constexpr std::array<std::uint64_t, classes> sums(std::uint64_t ranks) {
  std::array<std::uint64_t, classes> out{};
  for (std::uint64_t k = 0; k < classes; ++k)
    for (std::uint64_t r = 0; r < ranks; ++r) out[k] += (k + 5 * r) % classes;
  return out;
}

/// What no result is: a call that wrote nothing shows.
inline constexpr std::uint8_t poison = 0xa5;

}  // namespace fabricost::measure::mpi
