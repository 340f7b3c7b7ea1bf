#pragma once
/// \file precision.hpp
/// Number formats of matrix products and of tokens on the wire.

#include <fabricost/namespaces.hpp>

#include <array>
#include <string_view>

namespace fabricost::core {

/// Number format of matrix products; weights are 16 bit with fp32 masters by default.
enum class Precision : unsigned char { bf16, fp16, fp8, fp4 };
inline constexpr std::array<std::string_view, 4> precision_names{"bf16", "fp16", "fp8", "fp4"};
/// Bytes of a 4-bit number with its share of a block scale: one byte per 16 numbers (NVFP4).
inline constexpr double bytes_in_4_bit = 0.5 + 1.0 / 16;
/// Bytes of a number read by a product.
[[nodiscard]] constexpr double bytes_of(Precision p) { return p == Precision::fp8 ? 1 : p == Precision::fp4 ? bytes_in_4_bit : 2; }

}  // namespace fabricost::core

namespace fabricost {
using core::Precision;
using core::precision_names;
}  // namespace fabricost
