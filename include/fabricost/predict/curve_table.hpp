#pragma once
/// A curve as polynomials over quarter octaves: evaluates overlapping terms without two powers per size.
///
///   t(S) = c0 + c1 u + ... + c7 u^7,  S = 2^e (1 + j/4 + (u+1)/8),  -1 <= u < 1,  j = 0 to 3
///
/// interpolates the exact line at the eight zeros of the Chebyshev polynomial T8. A quarter has no
/// polynomial, and the exact line is used, where the curve bends or jumps inside it (a threshold, the edge of
/// a ramp, chunks) or where the last coefficients are not small enough: the truncation is below 1e-9 of the
/// time. Tests compare every size with its line.

#include <fabricost/fixed_list.hpp>
#include <fabricost/price/line_array.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fabricost::core {

namespace detail {

/// True if the line has no jump and no bend between two sizes.
[[nodiscard]] inline bool smooth_between(const Line& line, double min, double max) {
  const auto inside = [&](double size) { return size > min && size < max; };
  if (line.chunk < max || (line.early_rate != 0 && inside(line.early))) return false;
  for (const Jump& jump : line.jumps)
    for (const double edge : {jump.from, jump.until})
      if (edge > min * (1 - 1e-12) && edge < max * (1 + 1e-12)) return false;
  for (const Ramp& ramp : line.ramps) {
    using enum Ramp::Shape;
    // the line itself decides which side of a jump its edge belongs to
    const double edge = 1 / ramp.per_byte;
    const bool jumps = ramp.shape == step || ramp.shape == until;
    if (jumps && edge > min * (1 - 1e-12) && edge < max * (1 + 1e-12)) return false;
    if (ramp.shape == blocks) return false;
    const bool bends = ramp.shape == linear || ramp.shape == square || ramp.shape == channels;
    if (bends && inside(edge)) return false;
    if (ramp.shape == channels && inside(ramp.limit / ramp.per_byte)) return false;
  }
  return true;
}

/// cos((2i + 1) pi / 16): the zeros of T8 above 0.
inline constexpr std::array<double, 4> chebyshev_zeros{0.9807852804032304, 0.8314696123025452, 0.5555702330196022, 0.19509032201612825};

/// Coefficients of v^0 to v^3 of the four polynomials in v = u^2 that are 1 at one zero and 0 at the others.
inline constexpr std::array<std::array<double, 4>, 4> zero_basis = [] {
  std::array<std::array<double, 4>, 4> out{};
  for (std::size_t i = 0; i < 4; ++i) {
    out[i][0] = 1;
    for (std::size_t j = 0, degree = 0; j < 4; ++j) {
      if (j == i) continue;
      const double root = chebyshev_zeros[j] * chebyshev_zeros[j], scale = 1 / (chebyshev_zeros[i] * chebyshev_zeros[i] - root);
      ++degree;
      for (std::size_t k = degree + 1; k-- > 0;) out[i][k] = ((k > 0 ? out[i][k - 1] : 0) - root * out[i][k]) * scale;
    }
  }
  return out;
}();

}  // namespace detail

class CurveTable {
 public:
  static constexpr int first_octave = 8, last_octave = 35;  ///< 256 B to 64 GiB

  /// Seconds at a size; NaN outside the table.
  [[nodiscard]] double operator()(double bytes) const {
    const auto bits = std::bit_cast<std::uint64_t>(bytes);
    const std::uint64_t at = (bits >> 50U) - first_quarter;  // below the first quarter, negative or not a number: beyond every quarter
    if (at >= static_cast<std::uint32_t>(quarters_.size())) return std::numeric_limits<double>::quiet_NaN();
    const Quarter& c = quarters_[static_cast<int>(at)];
    const double u = 8 * std::bit_cast<double>((bits & below_quarter) | one) - 9;
    const double u2 = u * u;
    return (c[0] + c[1] * u) + u2 * (c[2] + c[3] * u) + u2 * u2 * ((c[4] + c[5] * u) + u2 * (c[6] + c[7] * u));
  }

  [[nodiscard]] bool empty() const { return quarters_.empty(); }

  /// Fills the table. \param line_between the line of all sizes from one up to (excluding) another, or
  /// nullptr
  template <class LineBetween>
  void fill(LineBetween&& line_between) {
    quarters_ = {};
    for (int octave = first_octave; octave <= last_octave; ++octave) {
      const double start = std::ldexp(1.0, octave);
      detail::Group sizes, times;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::size_t quarter = i / 8;
        sizes[i] = start * (1 + 0.25 * static_cast<double>(quarter) + 0.125 * (zero(i % 8) + 1));
      }
      const Line* timed = nullptr;
      for (std::size_t quarter = 0; quarter < 4; ++quarter) {
        const double min = start * (1 + 0.25 * static_cast<double>(quarter)), max = min + 0.25 * start;
        const Line* line = line_between(min, max);
        if (line == nullptr || !detail::smooth_between(*line, min, max)) {
          quarters_.add(unknown());
          continue;
        }
        if (line != timed) detail::evaluate_groups(*line, sizes.data(), times.data(), 1);
        timed = line;
        quarters_.add(through(times.data() + 8 * quarter));
      }
    }
  }

 private:
  using Quarter = std::array<double, 8>;
  static constexpr std::uint64_t first_quarter = std::uint64_t{1023 + first_octave} << 2U;
  static constexpr std::uint64_t below_quarter = (std::uint64_t{1} << 50U) - 1, one = std::uint64_t{1023} << 52U;
  static constexpr double negligible = 1e-9;

  /// The zeros above 0, then their negatives.
  [[nodiscard]] static constexpr double zero(std::size_t i) { return i < 4 ? detail::chebyshev_zeros[i] : -detail::chebyshev_zeros[i - 4]; }
  [[nodiscard]] static Quarter unknown() { return {std::numeric_limits<double>::quiet_NaN()}; }

  /// The polynomial through eight times, or unknown().
  [[nodiscard]] static Quarter through(const double* times) {
    Quarter c{};
    for (std::size_t i = 0; i < 4; ++i) {
      const double even = 0.5 * (times[i] + times[i + 4]), odd = 0.5 * (times[i] - times[i + 4]) / detail::chebyshev_zeros[i];
      for (std::size_t k = 0; k < 4; ++k) {
        c[2 * k] += even * detail::zero_basis[i][k];
        c[2 * k + 1] += odd * detail::zero_basis[i][k];
      }
    }
    // as coefficients of T6 and T7: the largest value of those terms
    const bool died_out = std::fabs(c[6]) < 32 * negligible * c[0] && std::fabs(c[7]) < 64 * 0.1 * negligible * c[0];
    return died_out ? c : unknown();
  }

  FixedList<Quarter, 4 * (last_octave - first_octave + 1)> quarters_;
};

}  // namespace fabricost::core

namespace fabricost {
using core::CurveTable;
}  // namespace fabricost
