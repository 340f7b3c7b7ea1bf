#pragma once
/// \file few_others.hpp
/// P(fewer than k experts outside a set rang), for every set at once and any k, for cases in which
/// polynomials in the number chosen cost too much (popularity.hpp).
///
/// Expert i rings with probability p_i, independent of the others: their number N has the characteristic
/// function prod(1 - p_i + p_i e^iw) (Poisson-binomial; Hong, "On computing the distribution function for the
/// Poisson binomial distribution", 2013). Its values at F equidistant w give P(N < k) as one sum. With
/// probability 1 - 1e-10, N lies within 7 standard deviations (and 20) of its mean, so F only needs that
/// width; sets whose k is outside have the answer 0 or 1.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

namespace fabricost::core::detail {

class FewOthersByFourier {
 public:
  /// \param set_of of each expert, 0 to sets - 1
  FewOthersByFourier(std::span<const int> set_of, int sets, int k) : set_of_(set_of), k_(k), mean_(static_cast<std::size_t>(sets)) {}

  /// P(fewer than k of the experts outside it rang) for each set. \param chances that each expert rang
  [[nodiscard]] const std::vector<double>& operator()(std::span<const double> chances);

 private:
  using Complex = std::complex<double>;

  [[nodiscard]] static double spread_of(double variance) { return 7 * std::sqrt(variance) + 20; }

  [[nodiscard]] static Complex product(const Complex& a, const Complex& b) {  // without the library's handling of infinities
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }

  /// `of` at that angle; `of` may be negative, which std::polar does not allow.
  [[nodiscard]] static Complex on_the_circle(double of, double angle) { return {of * std::cos(angle), of * std::sin(angle)}; }

  void sum_up(std::span<const double> chances, double min, std::size_t width, double mean, double spread);

  std::span<const int> set_of_;
  double k_;
  std::vector<double> mean_, few_;
};

}  // namespace fabricost::core::detail

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/experts/few_others-inl.hpp>
#endif
