#pragma once
/// The values a search tries in one dimension of a layout: the given one, or divisors of a number.

#include <algorithm>
#include <optional>
#include <vector>

namespace fabricost::plan {

/// Divisors of n up to `max`, ascending.
[[nodiscard]] std::vector<int> divisors(int n, int max);

/// The numbers from 1 to n.
[[nodiscard]] std::vector<int> up_to(int n);

/// The given value of a dimension, or all allowed ones.
[[nodiscard]] std::vector<int> either(const std::optional<int>& given, std::vector<int> all);

}  // namespace fabricost::plan
