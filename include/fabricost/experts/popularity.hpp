#pragma once
/// \file popularity.hpp
/// Unevenly chosen experts: the share of a token that each expert, rank or node gets.
///
/// Skewed choices (Zipf, a histogram) are drawn one after the other in proportion to a weight w per expert
/// (Plackett-Luce, equivalent to the k largest of logits with Gumbel noise). With an exponential clock of
/// rate w per expert, the first k to ring are the choice, so that
///
///   P(a set of weight W is touched) = int W exp(-W t) P(fewer than k of the others rang by t) dt
///
/// exact up to the quadrature (1e-5). A limit on groups with skewed choices is approximated by its ratio
/// under uniform choices: within 10 % of simulated tokens for exponents up to 1.5 (tests/unit/experts).

#include <fabricost/experts/few_others.hpp>
#include <fabricost/experts/routing.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace fabricost::core {

namespace detail {

/// P(fewer than k of the experts outside each set rang), by polynomials in the number that rang, below degree
/// k. O(E k + n k^2).
class FewOthersByPolynomials {
 public:
  FewOthersByPolynomials(std::span<const int> set_of, int sets, int k)
      : set_of_(set_of),
        degree_(static_cast<std::size_t>(k)),
        group_(static_cast<std::size_t>(sets) * degree_),
        before_(group_.size() + degree_),
        after_(degree_),
        sum_(degree_),
        few_(static_cast<std::size_t>(sets)) {}

  /// \param chances that each expert rang
  [[nodiscard]] const std::vector<double>& operator()(std::span<const double> chances);

 private:
  void times(const double* a, const double* b, double* to) const;

  std::span<const int> set_of_;
  std::size_t degree_;
  std::vector<double> group_, before_, after_, sum_, few_;
};

/// The quadrature of touch_chances; Few counts the others.
template <class Few>
[[nodiscard]] std::vector<double> integrated(std::span<const double> weights, std::span<const int> set_of, int sets, int k,
                                             Few few_others) {
  std::vector<double> of_set(static_cast<std::size_t>(sets), 0), out(of_set.size(), 0), chances(weights.size());
  double total = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    of_set[static_cast<std::size_t>(set_of[i])] += weights[i];
    total += weights[i];
  }
  const double step = std::min(0.1, 1.25 / std::sqrt(static_cast<double>(k)));  // the k-th clock rings within 1 / sqrt(k) of its time
  double t = 1e-7 / total;
  for (std::size_t s = 0; s < of_set.size(); ++s) out[s] = of_set[s] * t * std::exp(-step / 2);  // the part before the first node
  const int most_nodes = static_cast<int>(200 / step);
  for (int node = 0; node < most_nodes; ++node, t *= std::exp(step)) {
    for (std::size_t i = 0; i < weights.size(); ++i) chances[i] = 1 - std::exp(-weights[i] * t);
    const std::vector<double>& few = few_others(chances);
    double largest = 0;
    for (std::size_t s = of_set.size(); s-- > 0;) {
      const double rings = of_set[s] * t;
      const double add = step * rings * std::exp(-rings) * few[s];
      out[s] += add;
      if (out[s] > 0) largest = std::max(largest, add / out[s]);
    }
    if (t * total > k && largest < 1e-9) break;
  }
  for (double& p : out) p = std::min(1.0, p);
  return out;
}

}  // namespace detail

/// P(one token touches each set), choices drawn in proportion to `weights` without replacement: takes about a
/// millisecond for 8 of 256 experts, under a second for any gate. \param set_of for each expert, 0 to sets -
/// 1
/// \throws RequestError when fewer than k experts have a weight
[[nodiscard]] std::vector<double> touch_chances(std::span<const double> weights, std::span<const int> set_of, int sets, int k);

/// The popularity of a layer's experts, in expert order. `shares[i]` = P(one token chooses expert i), which
/// sum to k.
struct Popularity {
  std::vector<double> weights;  ///< Plackett-Luce
  std::vector<double> shares;
};

namespace detail {

/// Experts in a different order for every seed (a 64-bit linear congruential generator, Knuth's constants).
[[nodiscard]] std::vector<int> shuffled(int count, std::uint64_t seed);

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

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/experts/popularity-inl.hpp>
#endif
