#pragma once
/// The values a search tries in one dimension of a layout: the given one, or divisors of a number.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace fabricost::plan {

/// Divisors of n up to `max`, ascending.
[[nodiscard]] inline std::vector<int> divisors(int n, int max) {
  std::vector<int> out;
  for (int d = 1; d <= std::min(n, max); ++d)
    if (n % d == 0) out.push_back(d);
  return out;
}

/// The numbers from 1 to n.
[[nodiscard]] inline std::vector<int> up_to(int n) {
  std::vector<int> out(static_cast<std::size_t>(std::max(0, n)));
  std::iota(out.begin(), out.end(), 1);
  return out;
}

/// The given value of a dimension, or all allowed ones.
[[nodiscard]] inline std::vector<int> either(const std::optional<int>& given, std::vector<int> all) {
  return given ? std::vector<int>{*given} : std::move(all);
}

}  // namespace fabricost::plan
