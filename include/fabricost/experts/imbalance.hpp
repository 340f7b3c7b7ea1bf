#pragma once
/// Unevenly chosen experts: the share of a token that each expert, rank or node gets, and the fullest rank over the mean.
///
/// Skewed choices (Zipf, a histogram) are drawn one after the other in proportion to a weight w per expert
/// (Plackett-Luce, equivalent to the k largest of logits with Gumbel noise). With an exponential clock of
/// rate w per expert, the first k to ring are the choice, so that
///
///   P(a set of weight W is touched) = int W exp(-W t) P(fewer than k of the others rang by t) dt
///
/// exact up to the quadrature (1e-5). A limit on groups with skewed choices is approximated by its ratio
/// under uniform choices: within 10 % of simulated tokens for exponents up to 1.5 (tests/unit/experts).
///
/// T tokens give rank r X_r choices, mean T m_r and variance T m_r d_r; the layer waits for the largest:
///
///   E[max] = sum over x >= 0 of 1 - prod_r F_r(x)        F_r: d_r x Poisson(T m_r / d_r), by the Wilson-Hilferty normal approximation
///   d = (1 - mean share of the rank's experts) E / (E - 1)
///
/// In uniform routing d = (E - k) / (E - 1): hypergeometric choices, corrected for the fixed sum of all
/// loads. Within 3 % of simulated tokens from one token per rank on (tests/unit/experts).

#include <fabricost/experts/routing.hpp>

#include <algorithm>
#include <cstdint>
#include <span>

namespace fabricost::core {

/// P(one token touches each set), choices drawn in proportion to `weights` without replacement: about a millisecond for 8 of 256 experts.
/// \param set_of for each expert, 0 to sets - 1
/// \throws RequestError when fewer than k experts have a weight, or for choices that take more than seconds to count (64 of 2048)
[[nodiscard]] std::vector<double> touch_chances(std::span<const double> weights, std::span<const int> set_of, int sets, int k);

/// The popularity of a layer's experts, in expert order. `shares[i]` = P(one token chooses expert i), which
/// sum to k.
struct Popularity {
  std::vector<double> weights;  ///< Plackett-Luce
  std::vector<double> shares;
};

namespace detail {
/// Largest sum of `shares` over equal runs.
[[nodiscard]] double heaviest_run(std::span<const double> shares, int runs);
}  // namespace detail

/// Weights and shares of every expert. Experts are ordered randomly by Zipf popularity: of 15 orders, the one
/// with the median load of the heaviest of `ranks` ranks. A histogram gives the shares k c / sum; its weights
/// are -log(1 - share), the rates of independent clocks with those shares. \throws RequestError for an
/// invalid gate, a negative exponent, a histogram of another length, with sum zero, or in which an expert
/// receives more than one choice per token
[[nodiscard]] Popularity popularity_of(const Gate& g, const Routing& r, int ranks);

/// P(one token touches each of `sets` equal runs of experts): the share of tokens each rank or node receives
/// when one copy is made for it. \throws as touched_sets and touch_chances
[[nodiscard]] std::vector<double> touched_each(const Gate& g, const Routing& r, const Popularity& p, int sets);

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
using core::TokenTable;
using core::imbalance_of;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/experts/imbalance-inl.hpp>
#endif
