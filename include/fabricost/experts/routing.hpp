#pragma once
/// Which experts tokens choose, in expectation: how many ranks or nodes one token touches, and how often each
/// expert is chosen.
///
/// A token chooses k different experts of E. Balanced and uniform choices draw k without replacement with
/// equal probability:
///
///   P(a set of m experts is not touched) = C(E - m, k) / C(E, k)                 n sets of E/n: n (1 - C(E - E/n, k) / C(E, k)) touched
///   group limit: M of G groups first, then k of the E M/G experts in them        (DeepSeek-V3, arXiv 2412.19437, section 2.1.2)
///
/// Skewed choices (Zipf, a histogram): imbalance.hpp.

#include <fabricost/error.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

enum class RoutingKind : unsigned char {
  balanced,   ///< every expert gets the same number of tokens (forced, as benchmarks do)
  uniform,    ///< random with equal probability: loads vary
  zipf,       ///< the i-th most popular expert has weight i^-exponent; experts in random order
  histogram,  ///< tokens each expert was seen to receive, in expert order
};
inline constexpr double steepest_zipf = 10;  ///< the largest exponent that is priced: the first expert then has 99.9 % of the weight

inline constexpr std::array<std::string_view, 4> routing_names{"balanced", "uniform", "zipf", "histogram"};
[[nodiscard]] constexpr std::string_view name(RoutingKind r) { return routing_names[static_cast<std::size_t>(r)]; }

struct Routing {
  RoutingKind kind = RoutingKind::balanced;
  double exponent = 1;              ///< of zipf, at least 0
  std::vector<double> histogram{};  ///< one count per expert
  [[nodiscard]] bool skewed() const { return kind == RoutingKind::zipf || kind == RoutingKind::histogram; }
};

/// Maximum experts of a layer: four times the 2,048 of Switch-C (Fedus et al. 2021, table 9), the largest
/// model that exchanges tokens.
inline constexpr int max_experts = 8192;
inline constexpr int max_groups = 1000;  ///< under a limit: for more groups the number of choices overflows a double

/// The experts that a token chooses from, and the limits of its choice.
struct Gate {
  int experts = 0;      ///< E
  int top_k = 0;        ///< k
  int groups = 0;       ///< G, 0 or 1: none
  int group_limit = 0;  ///< M, 0: no limit
  [[nodiscard]] bool limited() const { return groups > 1 && group_limit > 0 && group_limit < groups; }
};

/// \throws RequestError naming what makes the gate invalid
void check(const Gate& g);

/// C(a, k) / C(b, k) for a <= b: P(k drawn from b without replacement all lie among a of them). O(k)
[[nodiscard]] double all_among(double a, double b, int k);

namespace detail {

/// C(n, k) as a double; 0 if undefined.
[[nodiscard]] double ways(int n, int k);

/// P(no expert of [first, first + size) is chosen) with M of G groups, by the number of groups it covers, in
/// whole or in part, that are among the M. O(G)
[[nodiscard]] double missed_under_limit(const Gate& g, int first, int size);

}  // namespace detail

/// Expected number of `sets` equal runs of experts (ranks, nodes) touched by one token, balanced or uniform
/// choices: n (1 - C(E - E/n, k) / C(E, k)), or with a limit on groups the same over the groups that can be
/// drawn. Experts are assigned in order. \throws RequestError for an invalid gate or sets that do not divide
/// the experts
[[nodiscard]] double touched_sets(const Gate& g, int sets);

/// Different experts that `tokens` tokens touch together: E (1 - (1 - k/E)^tokens).
[[nodiscard]] double touched_experts(const Gate& g, double tokens);

}  // namespace fabricost::core

namespace fabricost {
using core::Routing;
using core::RoutingKind;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/experts/routing-inl.hpp>
#endif
