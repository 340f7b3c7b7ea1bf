#pragma once
/// \file lengths-inl.hpp
/// Bodies of lengths.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/rl/lengths.hpp>

namespace fabricost::plan {

FABRICOST_BODY double AnswerLengths::quantile(double u) const {
  if (spread_ <= 0) return mean_;
  double low = -halvings, high = halvings;  // standard deviations
  for (int i = 0; i < halvings; ++i) (below((low + high) / 2) < u ? low : high) = (low + high) / 2;
  return std::clamp(std::exp(centre_ + spread_ * low), 1.0, max_);
}

FABRICOST_BODY const std::vector<double>& AnswerLengths::typical(int count) const {
  std::vector<double>& out = typical_[count];
  if (!out.empty()) return out;
  out.resize(static_cast<std::size_t>(count));
  std::size_t at = 0;
  // the bits of a counter read backwards (van der Corput): each prefix is spread over the whole
  int bits = 0;
  while ((1 << bits) < count) ++bits;
  for (int i = 0; i < (1 << bits); ++i) {
    int turned = 0;
    for (int b = 0; b < bits; ++b) turned |= ((i >> b) & 1) << (bits - 1 - b);
    if (turned < count) out[at++] = quantile((turned + 0.5) / count);
  }
  return out;
}

}  // namespace fabricost::plan
