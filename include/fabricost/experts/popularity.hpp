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

#include <fabricost/experts/routing.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

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

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/experts/popularity-inl.hpp>
#endif
