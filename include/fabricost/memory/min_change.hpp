#pragma once
/// \file min_change.hpp
/// The least of a change that saves memory with which a layout fits: layers that are recomputed in full, or the share of the optimizer's
/// states in host memory. Memory falls as either grows, and time rises, so the least is the fastest.

#include <fabricost/model/layout.hpp>

namespace fabricost {

namespace detail {
/// The least of 1 to `most` that is enough; `most` is.
template <class Enough>
[[nodiscard]] int least(int most, Enough&& enough) {
  int too_few = 0;
  while (most - too_few > 1) {
    const int half = (most + too_few) / 2;
    (enough(half) ? most : too_few) = half;
  }
  return most;
}
}  // namespace detail

/// A layout that fits with all layers recomputed, with as few of them as fit, the same number on each stage.
/// \param fits whether a layout does
template <class Fits>
[[nodiscard]] Layout with_min_recomputed(Layout layout, int layers, Fits&& fits) {
  const auto with = [&](int steps) {
    Layout out = layout;
    out.recompute_layers = steps * layout.pp < layers ? steps * layout.pp : 0;  // 0: all
    return out;
  };
  return with(detail::least((layers + layout.pp - 1) / layout.pp, [&](int steps) { return fits(with(steps)); }));
}

/// A layout that fits with all of the optimizer's states in host memory, with as few tenths of them there as fit.
template <class Fits>
[[nodiscard]] Layout with_min_offloaded(Layout layout, Fits&& fits) {
  constexpr int parts = 10;
  const auto with = [&](int tenths) {
    Layout out = layout;
    out.offload_optimizer = static_cast<double>(tenths) / parts;
    return out;
  };
  return with(detail::least(parts, [&](int tenths) { return fits(with(tenths)); }));
}

}  // namespace fabricost
