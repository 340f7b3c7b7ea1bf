#pragma once
/// Bodies of slice.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/hardware/slice.hpp>

#include <bit>
#include <utility>

namespace fabricost::core::detail {

/// `n` as a product of `axes` factors, as equal as they can be, ascending.
FABRICOST_BODY std::vector<int> equal_factors(int n, int axes) {
  if (axes <= 1) return {n};
  int first = std::max(1, static_cast<int>(std::lround(std::pow(n, 1.0 / axes))));
  while (n % first != 0) --first;
  std::vector<int> out = equal_factors(n / first, axes - 1);
  out.insert(out.begin(), first);
  std::sort(out.begin(), out.end());
  return out;
}

/// The chips of the smallest slice that holds n.
FABRICOST_BODY int slice_of(int n, int axes) {
  constexpr int cube = 64;  // 4 x 4 x 4
  if (axes == 3 && n > cube / 2) return (n + cube - 1) / cube * cube;
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(n)));
}

/// The axes of a slice of n chips.
FABRICOST_BODY std::vector<int> slice_axes(int n, int axes) {
  constexpr int side = 4;  // of a cube
  constexpr int cube = side * side * side;
  if (axes != 3 || n % cube != 0) return equal_factors(n, axes);
  std::vector<int> out = equal_factors(n / cube, axes);
  for (int& axis : out) axis *= side;
  return out;
}

/// The chips of each slice: of equal ones up to twice the fewest that the pod's size allows, else of the fewest, some not full.
FABRICOST_BODY int chips_of_each(int chips, int pod, int per_node) {
  const int fewest = (chips - 1) / pod + 1;
  for (int slices = fewest; slices <= 2 * fewest; ++slices)
    if (chips % slices == 0 && chips / slices % per_node == 0) return chips / slices;
  return (chips - 1) / fewest + 1;
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY System slice_for(System system, long long gpus) {
  const int pod = std::exchange(system.pod, 0), chips = static_cast<int>(std::clamp(gpus, 0LL, 1'000'000'000LL));
  if (pod <= 0 || chips < 1 || system.gpus_per_node < 1 || system.domain < 1) return system;
  for (Tier& tier : system.tiers) {
    if (tier.role != TierRole::scale_up || tier.kind != TierKind::torus) continue;
    const int axes = static_cast<int>(tier.dims.size());
    const int each =
        chips == system.domain ? chips : std::min(detail::slice_of(detail::chips_of_each(chips, pod, system.gpus_per_node), axes), pod);
    const bool part_of_node = each > 2 && each < system.gpus_per_node && system.gpus_per_node % each == 0;
    if (axes < 2 || axes > 3 || (each % system.gpus_per_node != 0 && !part_of_node)) return system;
    system.slice = true;
    if (each == system.domain) return system;
    const int side = *std::max_element(tier.dims.begin(), tier.dims.end());
    tier.dims = detail::slice_axes(each, axes);
    if (each != pod && axes == 2)
      for (std::size_t i = 0; i < tier.dims.size(); ++i)
        if (tier.dims[i] < side) tier.open_axes = static_cast<unsigned char>(tier.open_axes | 1U << i);
    tier.wrap = each == pod || (axes == 3 ? tier.dims.front() % 4 == 0 : tier.open_axes != 3);
    if (part_of_node) system.gpus_per_node = each;
    tier.endpoints = each;
    const double larger = static_cast<double>(each) / system.domain;  // what power and price are stated for
    system.power.value *= larger;
    system.price.value *= larger;
    system.domain = each;
    system.nodes = (chips + system.gpus_per_node - 1) / system.gpus_per_node;
    return system;
  }
  return system;
}

}  // namespace fabricost::core
