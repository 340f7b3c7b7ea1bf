/// \file kineto_lists.cpp
/// Lists of ranks and of shapes as Kineto writes them into arguments: as JSON, or as its text, shortened or not.

#include "readings/traces/kineto_parts.hpp"

#include <algorithm>

namespace fabricost::io::kineto {

std::vector<int> ranks_in(std::string_view text, bool& cut) {
  std::vector<int> out;
  int number = -1;
  for (const char c : text) {
    constexpr int most = 100'000'000;
    if (c >= '0' && c <= '9')
      number = std::min(most, std::max(number, 0) * 10 + (c - '0'));
    else if (number >= 0)
      out.push_back(number), number = -1;
    cut = cut || c == '.';
  }
  if (number >= 0) out.push_back(number);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::int64_t elements_of(std::string_view dims) {
  double total = 0, product = 1;
  std::int64_t number = -1;
  bool any = false, inside = false;
  for (const char c : dims) {
    if (c >= '0' && c <= '9') {
      number = std::min<std::int64_t>(std::max<std::int64_t>(number, 0) * 10 + (c - '0'), std::int64_t{1} << 52U);
      inside = true;
      continue;
    }
    if (number >= 0) product *= static_cast<double>(number), number = -1;
    if (c == ']' && inside) total += product, product = 1, inside = false, any = true;
  }
  constexpr double most = 1e17;
  return any && total < most ? static_cast<std::int64_t>(total) : -1;
}

}  // namespace fabricost::io::kineto
