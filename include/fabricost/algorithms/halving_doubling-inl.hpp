#pragma once
/// \file halving_doubling-inl.hpp
/// Bodies of halving_doubling.hpp.

#include <fabricost/algorithms/halving_doubling.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core::algorithms {

FABRICOST_BODY Halving halving_of(double m, bool all_reduce, bool near_first) {
  Halving out;
  out.steps = std::floor(std::log2(m) + 1e-12);
  const double p = std::exp2(out.steps);
  const double extra = m - p;
  out.folds = extra > 0;
  if (all_reduce || extra == 0) {
    out.bytes = (p - 1) / p;
    out.held = 1 / p;
    return out;
  }
  for (int step = static_cast<int>(out.steps) - 1; step >= 0; --step) {
    const double hosts = std::exp2(step);
    out.bytes += (hosts + (near_first ? std::ceil(extra * hosts / p - 1e-12) : std::fmin(extra, hosts))) / m;
  }
  out.held = 2 / m;
  return out;
}

}  // namespace fabricost::core::algorithms
