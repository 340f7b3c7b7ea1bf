#pragma once
/// Bodies of routing.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/experts/routing.hpp>

namespace fabricost::core {

FABRICOST_BODY void check(const Gate& g) {
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

FABRICOST_BODY double all_among(double a, double b, int k) {
  double p = 1;
  for (int i = 0; i < k; ++i) {
    if (a - i <= 0) return 0;
    p *= (a - i) / (b - i);
  }
  return p;
}

}  // namespace fabricost::core

namespace fabricost::core::detail {

FABRICOST_BODY double ways(int n, int k) {
  if (k < 0 || n < 0 || k > n) return 0;
  double out = 1;
  for (int i = 1; i <= std::min(k, n - k); ++i) out *= static_cast<double>(n - i + 1) / i;
  return out;
}

FABRICOST_BODY double missed_under_limit(const Gate& g, int first, int size) {
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

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY double touched_sets(const Gate& g, int sets) {
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

FABRICOST_BODY double touched_experts(const Gate& g, double tokens) {
  const double share = static_cast<double>(g.top_k) / g.experts;
  return share >= 1 ? g.experts : g.experts * -std::expm1(tokens * std::log1p(-share));
}

}  // namespace fabricost::core
