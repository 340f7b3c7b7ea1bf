#pragma once
/// log2, exp2, exp and the norm of two terms in plain arithmetic without branches or tables, for loops over many sizes: compilers turn such
/// loops into vector instructions.
///
///   log2(x) = e + (2 / ln 2) (s + s^3/3 + s^5/5 + ... + s^17/17),  x = 2^e m,  sqrt(1/2) <= m < sqrt(2),  s = (m-1)/(m+1)
///   exp2(y) = 2^n (1 + z + z^2/2! + ... + z^11/11!),                y = n + f,  |f| <= 1/2,  z = f ln 2
///
/// The truncated series are below 1e-15 and 7e-15 of the result. A norm is within 2e-14 of the exact value, a
/// decay within 1e-14 of 1; tests compare them with long doubles. The last bits differ between processors
/// with and without fused multiply-add.

#include <fabricost/namespaces.hpp>

#include <bit>
#include <cstdint>

#if defined(__GNUC__)
/// Loops are vectorised only through inlined functions.
#define FABRICOST_INLINE [[gnu::always_inline]] inline
#else
#define FABRICOST_INLINE inline
#endif
/// Compiled once per register width; the loader selects the version for the processor. Not used if the
/// compiler was given a processor, nor under a sanitizer, which is not ready when the loader selects. (Clang
/// 14 cannot share such functions between translation units.)
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && !defined(__AVX__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FABRICOST_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define FABRICOST_CLONES
#endif

namespace fabricost::core {

/// The binary logarithm. \param x normal, finite and above 0
[[nodiscard]] FABRICOST_INLINE double fast_log2(double x) {
  constexpr std::uint64_t root_half = 0x3fe6a09e667f3bcdU, biased_exponent = std::uint64_t{1024} << 52U;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  // exponent + 1024 of x / sqrt(1/2), as a double: the low bits of 2^52
  const std::uint64_t above = (bits - root_half + biased_exponent) >> 52U;
  const double e = std::bit_cast<double>(above | 0x4330000000000000U) - (4503599627370496.0 + 1024.0);
  const double m = std::bit_cast<double>(bits - (above << 52U) + biased_exponent);
  const double s = (m - 1) / (m + 1);
  const double q = s * s, q2 = q * q, q4 = q2 * q2;
  const double low = (1.0 / 3 + q * (1.0 / 5)) + q2 * (1.0 / 7 + q * (1.0 / 9));
  const double high = (1.0 / 11 + q * (1.0 / 13)) + q2 * (1.0 / 15 + q * (1.0 / 17));
  constexpr double two_log2e = 2.8853900817779268;
  return e + (s + s * q * (low + q4 * high)) * two_log2e;
}

/// Two to the power of y. \param y from -1000 to 1000
[[nodiscard]] FABRICOST_INLINE double fast_exp2(double y) {
  constexpr double round = 6755399441055744.0;  // 1.5 x 2^52: adding it rounds to a whole number, kept in the low bits
  const double shifted = y + round;
  const double z = (y - (shifted - round)) * 0.6931471805599453;
  const double z2 = z * z, z4 = z2 * z2;
  const double low = (1 + z) + z2 * (0.5 + z * (1.0 / 6));
  const double middle = (1.0 / 24 + z * (1.0 / 120)) + z2 * (1.0 / 720 + z * (1.0 / 5040));
  const double high = (1.0 / 40320 + z * (1.0 / 362880)) + z2 * (1.0 / 3628800 + z * (1.0 / 39916800));
  const double p = low + z4 * (middle + z4 * high);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) + (std::bit_cast<std::uint64_t>(shifted) << 52U));
}

/// e to the power of -x. \param x from 0 to 690
[[nodiscard]] FABRICOST_INLINE double fast_decay(double x) { return fast_exp2(-1.4426950408889634 * x); }

/// e to the power of x. \param x from -690 to 690
[[nodiscard]] FABRICOST_INLINE double fast_exp(double x) { return fast_exp2(1.4426950408889634 * x); }

/// (1 + s)^(-1/6), exact to the last bits: a polynomial within 2.6e-6, and one step of Halley's iteration.
/// \param s from 0 to 1
[[nodiscard]] FABRICOST_INLINE double inverse_sixth_root(double s) {
  const double s2 = s * s;
  const double y = (0.9999973942549135 - 0.16647683634551683 * s) +
                   s2 * ((0.09487186179062694 - 0.05887408744928854 * s) + s2 * (0.02788238119492001 - 0.006503411846077315 * s));
  const double y2 = y * y;
  const double d = 1 - (1 + s) * (y2 * y2 * y2);
  return y + y * d * (1.0 / 6 + 7.0 / 72 * d);
}

inline constexpr double max_fast_overlap = 12;

/// (a^q + b^q)^(1/q). \param a, b from 0 on \param q above 1, at most max_fast_overlap \param inverse 1/q
[[nodiscard]] FABRICOST_INLINE double fast_norm(double a, double b, double q, double inverse) {
  const double larger = a > b ? a : b, smaller = a > b ? b : a;
  // sums instead of maxima, which compilers turn into branches; the difference is below rounding
  const double ratio = smaller / (larger + 1e-290) + 1e-24;
  return larger * fast_exp2(inverse * fast_log2(1 + fast_exp2(q * fast_log2(ratio))));
}

}  // namespace fabricost::core
