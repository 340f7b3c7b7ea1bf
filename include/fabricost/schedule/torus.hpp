#pragma once
/// \file torus.hpp
/// The bucket algorithm on a 2-D or 3-D torus: rings along one axis after the other, with as many chunks in flight as there
/// are axes and directions, each starting on another one, so that all 2 d links of a chip carry data all the time
/// (Sack & Gropp 2015).
///
///   all_reduce   2 sum(a_i - 1) steps, 2(n-1)/n S over all links together
///   all_gather, reduce_scatter   half of it
///
/// Without wrap-around an axis is a line: data turns at its ends, and every link carries twice as much.

#include <fabricost/schedule/schedule.hpp>

#include <span>

namespace fabricost {

[[nodiscard]] inline Schedule torus_schedule(Collective collective, const Levels& levels, std::span<const int> dims, bool wrap) {
  Schedule out{.algorithm = Algorithm::torus_bucket, .collective = collective, .levels = levels};
  const double n = levels.size(0);
  if (n <= 1) return out;
  const double halves = collective == Collective::all_reduce ? 2 : 1;
  double steps = 0;
  for (const int a : dims) steps += a - 1;
  out.add({.level = 0, .steps = halves * steps, .bytes = halves * (n - 1) / n * (wrap ? 1 : 2), .message = 1 / n,
           .forwards = collective == Collective::reduce_scatter ? 0 : steps, .reduces = reduces(collective) ? steps : 0});
  return out;
}

/// all_to_all by dimension-ordered routes: on a wrapped axis of a chips a message travels a/4 hops on average (a/3 on a
/// line), and every hop uses a link.  bytes = (n-1)/n S x mean hops over the chip's links.
[[nodiscard]] inline Schedule torus_exchange_schedule(const Levels& levels, std::span<const int> dims, bool wrap) {
  Schedule out{.algorithm = Algorithm::torus_bucket, .collective = Collective::all_to_all, .levels = levels};
  const double n = levels.size(0);
  if (n <= 1) return out;
  double hops = 0;
  double longest = 0;
  for (const int a : dims) {
    // mean distance between two positions of an axis, equal ones included
    const double mean = wrap ? (a % 2 == 0 ? a / 4.0 : (a * a - 1) / (4.0 * a)) : (a * a - 1) / (3.0 * a);
    hops += mean;
    // the busiest axis binds: its links (two of the chip's) carry `mean` of everything
    const double binding = wrap ? mean : (a % 2 == 0 ? a / 2.0 : (a * a - 1) / (2.0 * a));
    longest = std::fmax(longest, binding * static_cast<double>(dims.size()));
  }
  out.add({.level = 0, .steps = hops * 2, .bytes = longest, .message = 1 / n, .forwards = hops});
  return out;
}

}  // namespace fabricost
