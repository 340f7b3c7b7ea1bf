#pragma once
/// \file routing.hpp
/// Which experts tokens choose, in expectation: how many ranks or nodes one token touches, and how often each
/// expert is chosen.
///
/// A token chooses k different experts of E. Balanced and uniform choices draw k without replacement with
/// equal probability:
///
///   P(a set of m experts is not touched) = C(E - m, k) / C(E, k)                 n sets of E/n: n (1 - C(E - E/n, k) / C(E, k)) touched
///   group limit: M of G groups first, then k of the E M/G experts in them        (DeepSeek-V3, arXiv 2412.19437, section 2.1.2)
///
/// Skewed choices (Zipf, a histogram): popularity.hpp.

#include <fabricost/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

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
inline void check(const Gate& g) {
  if (g.experts < 1) throw RequestError("experts: " + std::to_string(g.experts) + " must be at least 1");
  if (g.experts > max_experts)
    throw RequestError("experts: " + std::to_string(g.experts) + " are more than the " + std::to_string(max_experts) + " that are priced");
  if (g.top_k < 1 || g.top_k > g.experts)
    throw RequestError("top_k: " + std::to_string(g.top_k) + " of " + std::to_string(g.experts) + " experts; write 1 to " +
                       std::to_string(g.experts));
  if (g.groups < 0 || g.group_limit < 0 || (g.groups > 0 && g.experts % g.groups != 0))
    throw RequestError("groups: " + std::to_string(g.groups) + " do not divide " + std::to_string(g.experts) + " experts");
  if (g.limited() && g.groups > max_groups)
    throw RequestError("groups: " + std::to_string(g.groups) + " are more than the " + std::to_string(max_groups) + " that are priced");
  if (g.limited() && g.top_k > g.experts / g.groups * g.group_limit)
    throw RequestError("top_k: " + std::to_string(g.top_k) + " experts do not fit into " + std::to_string(g.group_limit) + " groups of " +
                       std::to_string(g.experts / g.groups));
}

/// C(a, k) / C(b, k) for a <= b: P(k drawn from b without replacement all lie among a of them). O(k)
[[nodiscard]] inline double all_among(double a, double b, int k) {
  double p = 1;
  for (int i = 0; i < k; ++i) {
    if (a - i <= 0) return 0;
    p *= (a - i) / (b - i);
  }
  return p;
}

namespace detail {

/// C(n, k) as a double; 0 if undefined.
[[nodiscard]] inline double ways(int n, int k) {
  if (k < 0 || n < 0 || k > n) return 0;
  double out = 1;
  for (int i = 1; i <= std::min(k, n - k); ++i) out *= static_cast<double>(n - i + 1) / i;
  return out;
}

/// P(no expert of [first, first + size) is chosen) with M of G groups, by the number of groups it covers, in
/// whole or in part, that are among the M. O(G)
[[nodiscard]] inline double missed_under_limit(const Gate& g, int first, int size) {
  const int each = g.experts / g.groups, end = first + size;
  const int whole_from = (first + each - 1) / each, whole_to = end / each;
  int whole = 0, before = 0, after = 0;  // groups inside, experts of the partly covered groups at either end
  if (whole_to >= whole_from) {
    whole = whole_to - whole_from;
    before = whole_from * each - first;
    after = end - whole_to * each;
  } else {
    before = size;  // within one group
  }
  const int outside = g.groups - whole - (before > 0) - (after > 0);
  const double open = static_cast<double>(each) * g.group_limit;
  double p = 0;
  for (int b = 0; b <= (before > 0); ++b)
    for (int a = 0; a <= (after > 0); ++a)
      for (int j = 0; j <= std::min(whole, g.group_limit); ++j) {
        const double chosen = ways(whole, j) * ways(outside, g.group_limit - j - a - b);
        if (chosen > 0) p += chosen * all_among(open - static_cast<double>(each) * j - b * before - a * after, open, g.top_k);
      }
  return p / ways(g.groups, g.group_limit);
}

}  // namespace detail

/// Expected number of `sets` equal runs of experts (ranks, nodes) touched by one token, balanced or uniform
/// choices: n (1 - C(E - E/n, k) / C(E, k)), or with a limit on groups the same over the groups that can be
/// drawn. Experts are assigned in order. \throws RequestError for an invalid gate or sets that do not divide
/// the experts
[[nodiscard]] inline double touched_sets(const Gate& g, int sets) {
  check(g);
  if (sets < 1 || g.experts % sets != 0)
    throw RequestError(std::to_string(g.experts) + " experts do not divide over " + std::to_string(sets) +
                       " ranks or nodes; take a divisor of " + std::to_string(g.experts));
  const int size = g.experts / sets;
  if (!g.limited()) return sets * (1 - all_among(g.experts - size, g.experts, g.top_k));
  if (g.groups % sets == 0 || sets % g.groups == 0) return sets * (1 - detail::missed_under_limit(g, 0, size));  // all sets are equal
  double out = 0;
  for (int s = 0; s < sets; ++s) out += 1 - detail::missed_under_limit(g, s * size, size);
  return out;
}

/// Different experts that `tokens` tokens touch together: E (1 - (1 - k/E)^tokens).
[[nodiscard]] inline double touched_experts(const Gate& g, double tokens) {
  const double share = static_cast<double>(g.top_k) / g.experts;
  return share >= 1 ? g.experts : g.experts * -std::expm1(tokens * std::log1p(-share));
}

}  // namespace fabricost
