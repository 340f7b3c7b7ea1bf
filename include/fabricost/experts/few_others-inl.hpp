#pragma once
/// \file few_others-inl.hpp
/// Bodies of few_others.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/experts/few_others.hpp>

namespace fabricost::core::detail {

FABRICOST_BODY const std::vector<double>& FewOthersByFourier::operator()(std::span<const double> chances) {
  double mean = 0, variance = 0, heaviest = 0;
  std::fill(mean_.begin(), mean_.end(), 0.0);
  for (std::size_t i = 0; i < chances.size(); ++i) {
    mean += chances[i];
    variance += chances[i] * (1 - chances[i]);
    mean_[static_cast<std::size_t>(set_of_[i])] += chances[i];
  }
  for (const double of_set : mean_) heaviest = std::max(heaviest, of_set);
  const double spread = spread_of(variance);
  few_.assign(mean_.size(), 0);
  bool open = false;
  for (std::size_t s = 0; s < mean_.size(); ++s) {
    const double others = mean - mean_[s];
    if (others + spread < k_ - 1)
      few_[s] = 1;
    else if (others - spread <= k_)
      open = true;
  }
  if (!open) return few_;
  const double min = std::max(0.0, std::floor(mean - heaviest - spread));
  const double max = std::min(static_cast<double>(chances.size()), std::ceil(mean + spread));
  sum_up(chances, min, static_cast<std::size_t>(max - min) + 1, mean, spread);
  return few_;
}

FABRICOST_BODY void FewOthersByFourier::sum_up(std::span<const double> chances, double min, std::size_t width, double mean, double spread) {
  const std::size_t sets = mean_.size();
  std::vector<Complex> of_set(sets), after(sets + 1);
  std::vector<double> found(sets, 0);
  for (std::size_t f = 0; f <= width / 2; ++f) {  // the other half is its mirror image
    const double w = 2 * std::numbers::pi * static_cast<double>(f) / static_cast<double>(width);
    const Complex turn{std::cos(w) - 1, std::sin(w)};
    std::fill(of_set.begin(), of_set.end(), Complex{1, 0});
    for (std::size_t i = 0; i < chances.size(); ++i) {
      if (chances[i] < 1e-18) continue;
      Complex& at = of_set[static_cast<std::size_t>(set_of_[i])];
      at = product(at, {1 + chances[i] * turn.real(), chances[i] * turn.imag()});
    }
    Complex below{};  // sum of e^-iwm over m = least to k - 1
    const double count = std::clamp(k_ - min, 0.0, static_cast<double>(width));
    if (f == 0)
      below = count;
    else
      below = on_the_circle(std::sin(w * count / 2) / std::sin(w / 2), -w * (min + (count - 1) / 2));
    const double weight = (f == 0 || 2 * f == width ? 1.0 : 2.0) / static_cast<double>(width);
    after[sets] = weight * below;
    for (std::size_t s = sets; s-- > 0;) after[s] = product(after[s + 1], of_set[s]);
    Complex before{1, 0};
    for (std::size_t s = 0; s < sets; ++s) {
      found[s] += before.real() * after[s + 1].real() - before.imag() * after[s + 1].imag();
      before = product(before, of_set[s]);
    }
  }
  for (std::size_t s = 0; s < sets; ++s) {
    const double others = mean - mean_[s];
    if (!(others + spread < k_ - 1) && others - spread <= k_) few_[s] = std::clamp(found[s], 0.0, 1.0);
  }
}

}  // namespace fabricost::core::detail
