#pragma once
/// The least of a change that saves memory with which a layout fits: layers that are recomputed in full, or the share of the optimizer's
/// states in host memory. Memory falls as either grows, and time rises, so the least is the fastest. Bytes of a stage are linear in
/// both and those of the worst stage nearly so: the least is sought where a straight line between the ends has it.

#include <fabricost/plan/model/layout.hpp>

#include <algorithm>
#include <cmath>

namespace fabricost::plan {

namespace detail {
/// The least of 1 to `most` steps that is enough; `most` is.
/// \param none bytes lacking without any, above 0 \param all bytes lacking with `most`, at most 0 \param lacks bytes that a number lacks
template <class Lacks>
[[nodiscard]] int least(int most, double none, double all, Lacks&& lacks) {
  int too_few = 0;
  while (most - too_few > 1) {
    const double share = none / (none - all);
    const int at = std::clamp(too_few + static_cast<int>(std::ceil(share * (most - too_few))), too_few + 1, most - 1);
    const double now = lacks(at);
    if (now > 0)
      too_few = at, none = now;
    else
      most = at, all = now;
  }
  return most;
}
}  // namespace detail

/// A layout that fits with all layers recomputed and not without, with as few of them as fit, the same number on each stage.
/// \param none bytes it lacks without recomputation \param all bytes it lacks with all layers recomputed \param lacks bytes that a
/// layout lacks
template <class Lacks>
[[nodiscard]] Layout with_min_recomputed(const Layout& layout, int layers, double none, double all, Lacks&& lacks) {
  const auto with = [&](int steps) {
    Layout out = layout;
    out.recompute_layers = steps * layout.pp < layers ? steps * layout.pp : 0;  // 0: all
    return out;
  };
  return with(detail::least((layers + layout.pp - 1) / layout.pp, none, all, [&](int steps) { return lacks(with(steps)); }));
}

/// A layout that fits with all of the optimizer's states in host memory and not without, with as few tenths of them there as fit.
/// \param none bytes it lacks with all of them on the GPU \param all bytes it lacks with none of them there
template <class Lacks>
[[nodiscard]] Layout with_min_offloaded(const Layout& layout, double none, double all, Lacks&& lacks) {
  constexpr int parts = 10;
  const auto with = [&](int tenths) {
    Layout out = layout;
    out.offload_optimizer = static_cast<double>(tenths) / parts;
    return out;
  };
  return with(detail::least(parts, none, all, [&](int tenths) { return lacks(with(tenths)); }));
}

}  // namespace fabricost::plan
