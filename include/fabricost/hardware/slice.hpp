#pragma once
/// \file slice.hpp
/// Slices of a pod: the torus that a job of so many chips gets where optical switches join whole cubes of chips.
///
/// A description names one torus (a cube of 4 x 4 x 4, a pod of 16 x 16) and `pod`, the most chips whose own links join. A job of N chips
/// runs on a torus of N chips of its own, and only what exceeds a pod crosses the data-centre network. Topologies as Google Cloud's pages
/// on TPU v4, v5p and v6e list them: with three axes whole cubes, 4a x 4b x 4c with a, b and c as equal as they can be, every axis closed;
/// below a cube, and with two axes, powers of two, 2 x 4 x 4 or 8 x 16, not closed unless it is the whole pod.

#include <fabricost/hardware/system.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace fabricost {

namespace detail {

/// `n` as a product of `axes` factors, as equal as they can be, ascending.
[[nodiscard]] inline std::vector<int> equal_factors(int n, int axes) {
  if (axes <= 1) return {n};
  int first = std::max(1, static_cast<int>(std::lround(std::pow(n, 1.0 / axes))));
  while (n % first != 0) --first;
  std::vector<int> out = equal_factors(n / first, axes - 1);
  out.insert(out.begin(), first);
  std::sort(out.begin(), out.end());
  return out;
}

/// The axes of a slice of n chips; empty: no slice has so many.
[[nodiscard]] inline std::vector<int> slice_axes(int n, int axes) {
  constexpr int side = 4;  // of a cube
  const int cube = side * side * side;
  if (axes == 3 && n % cube == 0) {
    std::vector<int> out = equal_factors(n / cube, axes);
    for (int& axis : out) axis *= side;
    return out;
  }
  const bool power_of_two = n > 1 && (n & (n - 1)) == 0;
  return power_of_two && (axes == 2 || (axes == 3 && n < cube)) ? equal_factors(n, axes) : std::vector<int>{};
}

}  // namespace detail

/// The machine as a job of so many chips sees it: its scale-up domain is one slice, the largest of equal ones where a pod has not enough.
/// A machine without `pod`, or a count that is no slice, stays as described.
[[nodiscard]] inline System sliced(System system, int chips) {
  if (system.pod <= 0 || chips < 1 || chips == system.domain) return system;
  int slices = (chips - 1) / system.pod + 1;
  while (chips % slices != 0) ++slices;
  const int each = chips / slices;
  if (each == system.domain || each % system.gpus_per_node != 0) return system;
  for (Tier& tier : system.tiers) {
    if (tier.role != TierRole::scale_up || tier.kind != TierKind::torus) continue;
    const std::vector<int> axes = detail::slice_axes(each, static_cast<int>(tier.dims.size()));
    if (axes.empty()) return system;
    const bool closed = each == system.pod || (axes.size() == 3 && axes.front() % 4 == 0);
    tier.wrap = closed;
    tier.dims = axes;
    tier.endpoints = each;
    const double larger = static_cast<double>(each) / system.domain;  // what power and price are stated for
    system.power.value *= larger;
    system.price.value *= larger;
    system.domain = each;
    system.nodes = chips / system.gpus_per_node;
    return system;
  }
  return system;
}

}  // namespace fabricost
