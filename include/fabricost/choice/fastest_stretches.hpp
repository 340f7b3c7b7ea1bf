#pragma once
/// Finds the sizes where the fastest of several lines changes. The lines are not straight: they are compared at sixteen sizes an octave
/// and at both sides of every jump, and a change between two of those is bisected.

#include <fabricost/price/line.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fabricost::core::detail {

/// The next size to compare at, towards one where something changes.
[[nodiscard]] inline double towards_size(double from, double at, double next) {
  if (!(at < from)) return next;
  const double before = std::nextafter(from, 0);
  return std::min(next, at < before ? before : from);
}
/// The next size to compare at, towards a jump of this line.
[[nodiscard]] inline double towards_jumps(const Line& line, double at, double next) {
  for (const Jump& jump : line.jumps) next = towards_size(jump.until, at, towards_size(jump.from, at, next));
  return next;
}

/// \param pick the fastest line at a size \param nearer(at, next) a size between, where there is a jump
/// \param visit(what, from, until) called for each stretch in turn, the first from 0, the last until infinity
template <class Pick, class Nearer, class Visit>
void walk_fastest(Pick&& pick, Nearer&& nearer, Visit&& visit) {
  constexpr double largest = 1125899906842624.0;  // 1 PiB: the choice stays the same beyond
  double at = 1, from = 0;
  auto now = pick(at);
  while (at < largest) {
    const double next = nearer(at, at * std::exp2(0.0625));
    if (pick(next) != now) {
      double low = at, high = next;
      for (int i = 0; i < 40; ++i) {
        const double middle = 0.5 * (low + high);
        (pick(middle) == now ? low : high) = middle;
      }
      visit(now, from, high);
      from = high;
      now = pick(high);
    }
    at = next;
  }
  visit(now, from, std::numeric_limits<double>::infinity());
}

}  // namespace fabricost::core::detail
