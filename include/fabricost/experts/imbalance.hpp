#pragma once
/// \file imbalance.hpp
/// Imbalance of expert ranks: the fullest rank over the mean.
///
/// T tokens give rank r X_r choices, mean T m_r and variance T m_r d_r; the layer waits for the largest:
///
///   E[max] = sum over x >= 0 of 1 - prod_r F_r(x)        F_r: d_r x Poisson(T m_r / d_r), by the Wilson-Hilferty normal approximation
///   d = (1 - mean share of the rank's experts) E / (E - 1)
///
/// In uniform routing d = (E - k) / (E - 1): hypergeometric choices, corrected for the fixed sum of all
/// loads. Within 3 % of simulated tokens from one token per rank on (tests/unit/experts).

#include <fabricost/experts/popularity.hpp>

#include <limits>
#include <utility>

namespace fabricost::core {

namespace detail {

/// P(d x Poisson(mean / d) <= x), x a whole number of choices.
[[nodiscard]] double at_most(double x, double mean, double d);

}  // namespace detail

/// Ranks (or experts, or nodes) with equal load distribution.
struct LoadClass {
  double mean = 0;        ///< choices one token gives it
  double dispersion = 1;  ///< variance over mean
  double count = 1;
};

/// Expected largest load over the mean load. \param classes of all ranks \param tokens of all ranks together
/// \param max choices of one token that a single rank can take
[[nodiscard]] double fullest_over_mean(std::span<const LoadClass> classes, double tokens, double max);

/// Groups ranks into classes of similar mean: equal within 2 %, at most 48 classes.
[[nodiscard]] std::vector<LoadClass> classes_of(std::span<const double> means, std::span<const double> dispersions);

/// A function of a number of tokens, computed at two points per octave, linear in log2(tokens); fewer than 1 count as 1, more than 2^20 as
/// 2^20.
class TokenTable {
 public:
  TokenTable() = default;
  template <class F>
  explicit TokenTable(const F& of_tokens) {
    for (std::size_t i = 0; i < points; ++i) values_[i] = of_tokens(std::exp2(static_cast<double>(i) / 2));
  }
  [[nodiscard]] double operator()(double tokens) const { return at(position(tokens)); }
  /// Position of a number of tokens in every such table, so that several share one logarithm.
  [[nodiscard]] static double position(double tokens) {
    return std::clamp(2 * std::log2(std::max(1.0, tokens)), 0.0, static_cast<double>(points - 1));
  }
  [[nodiscard]] double at(double position) const {
    const auto i = std::min(static_cast<std::size_t>(position), points - 2);
    return values_[i] + (position - static_cast<double>(i)) * (values_[i + 1] - values_[i]);
  }

 private:
  static constexpr std::size_t points = 41;
  std::array<double, points> values_{};
};

/// Fullest over mean for any number of tokens.
class Imbalance {
 public:
  Imbalance() = default;
  /// \param tokens_per_unit tokens of all ranks per unit of the argument (number of ranks for tokens per
  /// rank)
  Imbalance(std::span<const LoadClass> classes, double tokens_per_unit, double max)
      : even_(false), table_([&](double tokens) { return fullest_over_mean(classes, tokens_per_unit * tokens, max); }) {}
  [[nodiscard]] double operator()(double tokens) const { return even_ ? 1 : table_(tokens); }
  [[nodiscard]] double at(double position) const { return even_ ? 1 : table_.at(position); }
  [[nodiscard]] bool even() const { return even_; }

 private:
  bool even_ = true;
  TokenTable table_;
};

/// Choices of one token that each of `sets` equal runs of experts gets, with their dispersion.
[[nodiscard]] std::vector<LoadClass> load_classes(const Gate& g, const Popularity& p, int sets);

/// Choices of the fullest of `ranks` ranks over the mean, by the tokens of one rank.
[[nodiscard]] Imbalance imbalance_of(const Gate& g, const Popularity& p, int ranks);

/// Expected choices of the fullest of `ranks` ranks over the mean, for `tokens` tokens of all ranks together.
/// Balanced routing: 1.
/// \throws as popularity_of and touched_sets
[[nodiscard]] double load_imbalance(const Gate& g, const Routing& r, int ranks, double tokens);

}  // namespace fabricost::core

namespace fabricost {
using core::Imbalance;
using core::imbalance_of;
using core::TokenTable;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/experts/imbalance-inl.hpp>
#endif
