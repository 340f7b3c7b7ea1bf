#pragma once
/// \file dimension-inl.hpp
/// Bodies of dimension.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/model/dimension.hpp>

#include <utility>

namespace fabricost::plan {

FABRICOST_BODY std::vector<int> divisors(int n, int max) {
  std::vector<int> out;
  for (int d = 1; d <= std::min(n, max); ++d)
    if (n % d == 0) out.push_back(d);
  return out;
}

FABRICOST_BODY std::vector<int> up_to(int n) {
  std::vector<int> out;
  for (int i = 1; i <= n; ++i) out.push_back(i);
  return out;
}

FABRICOST_BODY std::vector<int> either(const std::optional<int>& given, std::vector<int> all) {
  return given ? std::vector<int>{*given} : std::move(all);
}

}  // namespace fabricost::plan
