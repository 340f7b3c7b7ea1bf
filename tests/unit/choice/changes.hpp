#pragma once
/// The sizes, on powers of two, at which a curve changes what it runs.

#include <fabricost/fabricost.hpp>

namespace fabricost::test {

using namespace observe;

constexpr double KiB = 1024, MiB = 1048576, GiB = 1073741824;

/// First power of two, in MiB, from which on only `wanted` runs up to 8 GiB.
template <class Wanted>
double stays_from(const System& system, const Operation& op, Wanted&& wanted) {
  const Curve curve = compile(system, op);
  double from = -1;
  for (double s = 512; s <= 8 * GiB; s *= 2) {
    if (!wanted(curve.ran_at(s)))
      from = -1;
    else if (from < 0)
      from = s;
  }
  return from / MiB;
}

}  // namespace fabricost::test
