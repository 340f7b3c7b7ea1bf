#include <fabricost/plan/model/dimension.hpp>

#include <utility>

namespace fabricost::plan {

std::vector<int> divisors(int n, int max) {
  std::vector<int> out;
  for (int d = 1; d <= std::min(n, max); ++d)
    if (n % d == 0) out.push_back(d);
  return out;
}

std::vector<int> up_to(int n) {
  std::vector<int> out;
  for (int i = 1; i <= n; ++i) out.push_back(i);
  return out;
}

std::vector<int> either(const std::optional<int>& given, std::vector<int> all) { return given ? std::vector<int>{*given} : std::move(all); }

}  // namespace fabricost::plan
