#pragma once
/// \file lengths.hpp
/// Lengths of sampled answers: log-normal, cut where the engine stops an answer.
///
///   L = min(X, max)      ln X normal with standard deviation s; its mean is chosen so that E[L] is the mean asked for
///   E[L^k]               exp(k m + k^2 s^2 / 2) P(Z < (ln max - m) / s - k s) + max^k P(Z > (ln max - m) / s)
///
/// s = 0: all answers have the mean length. Answers cut at the limit are the mass P(X > max) there.

#include <fabricost/refusal.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace fabricost::plan {

class AnswerLengths {
 public:
  /// \throws Refusal for a mean above the limit
  AnswerLengths(double mean, double max, double spread) : mean_(mean), max_(max), spread_(mean < max ? spread : 0) {
    if (!(mean >= 1 && max >= mean && spread >= 0))
      throw Refusal("<osl> is the mean of answers that end at <max_osl>; it must not exceed it");
    if (spread_ <= 0) return;
    // the cut mean grows with m: from 0 to max
    double low = std::log(mean) - halvings * spread_ * spread_ - halvings, high = std::log(max) + halvings * spread_;
    for (int i = 0; i < halvings; ++i) (moment_at((low + high) / 2, 1) < mean ? low : high) = (low + high) / 2;
    centre_ = (low + high) / 2;
  }

  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double max() const { return max_; }
  /// E[L^k].
  [[nodiscard]] double moment(int k) const { return spread_ > 0 ? moment_at(centre_, k) : std::pow(mean_, k); }
  /// The length that the share `u` of answers does not exceed; u in (0, 1).
  [[nodiscard]] double quantile(double u) const;
  /// `count` lengths that stand for equal shares of all answers, in an order that spreads short and long ones evenly.
  [[nodiscard]] const std::vector<double>& typical(int count) const;

 private:
  static constexpr int halvings = 60;

  [[nodiscard]] static double below(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }
  [[nodiscard]] double moment_at(double centre, int k) const {
    const double cut = (std::log(max_) - centre) / spread_;
    return std::exp(k * centre + k * k * spread_ * spread_ / 2) * below(cut - k * spread_) + std::pow(max_, k) * below(-cut);
  }

  double mean_, max_, spread_;
  double centre_ = 0;  ///< mean of ln X
  mutable std::map<int, std::vector<double>> typical_;
};

}  // namespace fabricost::plan

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/rl/lengths-inl.hpp>
#endif
