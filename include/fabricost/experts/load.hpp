#pragma once
/// \file load.hpp
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

namespace fabricost {

namespace detail {

/// P(d x Poisson(mean / d) <= x), x a whole number of choices.
[[nodiscard]] inline double at_most(double x, double mean, double d) {
  if (mean <= 0) return 1;
  if (d < 1e-4) return x >= mean - 1e-9 ? 1 : 0;
  const double n = (x + 0.5) / d + 0.5;  // of the Poisson, plus one
  if (n <= 0) return 0;
  const double z = 3 * std::sqrt(n) * (1 - 1 / (9 * n) - std::cbrt(mean / d / n));
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

}  // namespace detail

/// Ranks (or experts, or nodes) with equal load distribution.
struct LoadClass {
  double mean = 0;        ///< choices one token gives it
  double dispersion = 1;  ///< variance over mean
  double count = 1;
};

/// Expected largest load over the mean load. \param classes of all ranks \param tokens of all ranks together
/// \param max choices of one token that a single rank can take
[[nodiscard]] inline double fullest_over_mean(std::span<const LoadClass> classes, double tokens, double max) {
  double n = 0, sum = 0, top = 0;
  for (const LoadClass& c : classes) {
    n += c.count;
    sum += c.count * c.mean;
    top = std::max(top, c.mean);
  }
  if (n <= 1 || sum <= 0 || !(tokens > 0)) return 1;
  const double mean = tokens * sum / n;
  double spread = 0, low = 0;
  for (const LoadClass& c : classes) {
    const double deviation = std::sqrt(tokens * c.mean * c.dispersion);
    spread = std::max(spread, deviation);
    low = std::max(low, tokens * c.mean - 8 * deviation);
  }
  low = std::max(0.0, std::floor(low));
  const double step = std::max(1.0, std::floor(spread / 6));
  double out = low;
  for (double x = low; x < tokens * max; x += step) {
    const double middle = x + (step - 1) / 2;
    double none_above = 1;
    for (const LoadClass& c : classes) {
      const double f = detail::at_most(middle, tokens * c.mean, c.dispersion);
      none_above *= c.count == 1 ? f : std::pow(f, c.count);
      if (none_above == 0) break;
    }
    out += step * (1 - none_above);
    if (1 - none_above < 1e-7 && middle > tokens * top) break;
  }
  return std::max(1.0, std::min(out, tokens * max) / mean);
}

/// Groups ranks into classes of similar mean: equal within 2 %, at most 48 classes.
[[nodiscard]] inline std::vector<LoadClass> classes_of(std::span<const double> means, std::span<const double> dispersions) {
  std::vector<std::size_t> order(means.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return means[a] > means[b]; });
  std::vector<LoadClass> out;
  double first = 0;
  for (const std::size_t i : order) {
    if (!out.empty() && (means[i] >= 0.98 * first || out.size() == 48)) {
      LoadClass& c = out.back();
      c.mean = (c.mean * c.count + means[i]) / (c.count + 1);
      c.dispersion = (c.dispersion * c.count + dispersions[i]) / (c.count + 1);
      ++c.count;
    } else {
      out.push_back({means[i], dispersions[i], 1});
      first = means[i];
    }
  }
  return out;
}

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
[[nodiscard]] inline std::vector<LoadClass> load_classes(const Gate& g, const Popularity& p, int sets) {
  const auto size = static_cast<std::size_t>(g.experts / sets);
  std::vector<double> means, dispersions;
  const double joint = g.experts > 1 ? g.experts / (g.experts - 1.0) : 1;
  for (std::size_t s = 0; s < static_cast<std::size_t>(sets); ++s) {
    double sum = 0, square = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const double share = p.shares[s * size + i];
      sum += share;
      square += share * share;
    }
    means.push_back(sum);
    dispersions.push_back(sum > 0 ? std::max(0.0, (1 - square / sum) * joint) : 0);
  }
  return classes_of(means, dispersions);
}

/// Choices of the fullest of `ranks` ranks over the mean, by the tokens of one rank.
[[nodiscard]] inline Imbalance imbalance_of(const Gate& g, const Popularity& p, int ranks) {
  return {load_classes(g, p, ranks), static_cast<double>(ranks), static_cast<double>(std::min(g.top_k, std::max(1, g.experts / ranks)))};
}

/// Expected choices of the fullest of `ranks` ranks over the mean, for `tokens` tokens of all ranks together.
/// Balanced routing: 1.
/// \throws as popularity_of and touched_sets
[[nodiscard]] inline double load_imbalance(const Gate& g, const Routing& r, int ranks, double tokens) {
  static_cast<void>(touched_sets(g, ranks));
  if (r.kind == RoutingKind::balanced) return 1;
  return fullest_over_mean(load_classes(g, popularity_of(g, r, ranks), ranks), tokens, std::min(g.top_k, g.experts / ranks));
}

}  // namespace fabricost
