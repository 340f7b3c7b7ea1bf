#pragma once
/// \file torus_bucket-inl.hpp
/// Bodies of torus_bucket.hpp.

#include <fabricost/algorithms/torus_bucket.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core::algorithms {

FABRICOST_BODY double bucket_volume(std::span<const int> dims, bool scatters, bool gathers, unsigned open) {
  constexpr std::size_t max_axes = 8;
  const std::size_t axes = dims.size();
  assert(axes <= max_axes);
  const std::size_t phases = axes * ((scatters ? 1 : 0) + (gathers ? 1 : 0));
  // position in its own order of the axis a part is on: 0, 1, 2 when scattering, 2, 1, 0 when gathering
  const auto turn = [&](std::size_t phase) { return scatters && phase < axes ? phase : phases - 1 - phase; };
  const auto volume = [&](std::size_t part, std::size_t phase) {
    double left = 1;
    for (std::size_t f = 0; f < turn(phase); ++f) left /= dims[(part + f) % axes];
    const std::size_t axis = (part + turn(phase)) % axes;
    const double a = dims[axis];
    return left * (a - 1) / a * ((open >> axis & 1U) != 0 ? 2 : 1);
  };
  std::array<std::size_t, max_axes> at{};
  std::array<double, max_axes> remaining{};
  for (std::size_t part = 0; part < axes; ++part) remaining[part] = volume(part, 0);
  double time = 0;
  for (;;) {
    std::array<int, max_axes> sharing{};
    for (std::size_t part = 0; part < axes; ++part)
      if (at[part] < phases) ++sharing[(part + turn(at[part])) % axes];
    double next = -1;
    for (std::size_t part = 0; part < axes; ++part) {
      if (at[part] == phases) continue;
      const double due = remaining[part] * sharing[(part + turn(at[part])) % axes];
      if (next < 0 || due < next) next = due;
    }
    if (next < 0) return time;
    time += next;
    for (std::size_t part = 0; part < axes; ++part) {
      if (at[part] == phases) continue;
      remaining[part] -= next / sharing[(part + turn(at[part])) % axes];
      if (remaining[part] > 1e-14) continue;  // the remainder of a phase is rounding
      ++at[part];
      if (at[part] < phases) remaining[part] = volume(part, at[part]);
    }
  }
}

FABRICOST_BODY const char* TorusBucket::why_not(const Case& p) {
  if (p.at.torus_axes < 2) return "these ranks fill no two or three axes of a torus";
  if (p.at.domains() > 1) return "the bucket algorithm stays inside one torus";
  return not_for(p.collective);
}

FABRICOST_BODY void TorusBucket::add_rings(Schedule& out, const Connectivity& at) {
  const double n = at.local();
  const Collective collective = out.collective;
  const double halves = collective == Collective::all_reduce ? 2 : 1;
  double steps = 0;
  for (const int a : at.dims()) steps += a - 1;
  const unsigned open = at.wrap ? at.open_axes : ~0U;
  const double volume = bucket_volume(at.dims(), collective != Collective::all_gather, collective != Collective::reduce_scatter, open);
  out.add({.level = 0,
           .steps = halves * steps,
           .bytes = volume,
           .message = 1 / n,
           .forwards = collective == Collective::reduce_scatter ? 0 : steps,
           .reduces = reduces(collective) ? steps : 0});
}

FABRICOST_BODY void TorusBucket::add_exchange(Schedule& out, const Connectivity& at) {
  const double n = at.local();
  double hops = 0;
  double furthest = 0;
  double longest = 0;
  for (std::size_t axis = 0; axis < at.dims().size(); ++axis) {
    const int a = at.dims()[axis];
    const bool wrap = at.closes(axis);
    // mean distance between two positions of an axis, equal ones included
    const double mean = wrap ? (a % 2 == 0 ? a / 4.0 : (a * a - 1) / (4.0 * a)) : (a * a - 1) / (3.0 * a);
    hops += mean;
    furthest += wrap ? std::floor(a / 2.0) : a - 1;
    // the busiest axis binds: its links (two of the chip's) carry `mean` of everything
    const double binding = wrap ? mean : (a % 2 == 0 ? a / 2.0 : (a * a - 1) / (2.0 * a));
    longest = std::fmax(longest, binding * static_cast<double>(at.torus_axes));
  }
  out.add({.level = 0, .steps = furthest, .bytes = longest, .message = 1 / n, .forwards = hops});
}

}  // namespace fabricost::core::algorithms
