#pragma once
/// \file lower_bound.hpp
/// The minimum time of a schedule on a fabric: its bytes over the links that carry them, at the links' full
/// one-way rate. It uses no fitted constant, so that no interval can begin below it.
///
///   least = S x max over levels of (bytes that leave an endpoint / S) / (one-way rate of the endpoint's links)
///
///   ring, pairwise, direct, halving, hierarchical   the bytes of their schedules: all_reduce 2 (n-1)/n, all_gather (n-1)/n, ...
///   trees between N domains                         all_reduce 1 of two, 1.5 of three, 2 of more: bytes out of the fullest domain
///   nvls                                            1 + 1/n inside (the switch adds and multiplies), busbw 2(n-1)/(n+1) of the rate
///   send_recv between domains                       one rank sends: the NICs of its own, not of the domain
///
/// Rates are those of fabric.hpp: of links that lead to participating ranks, of NICs as limited by their
/// slots and a tapered network. Seconds per byte of S. The sources of the volumes are in algorithms/*.hpp.

#include <fabricost/price/fabric.hpp>
#include <fabricost/price/generic.hpp>

#include <algorithm>

namespace fabricost {

namespace detail {

/// One-way rate per GPU inside a domain, of the links an algorithm can use.
[[nodiscard]] inline double full_inner_rate(const Schedule& schedule, const Fabric& f) {
  if (uses_all_links(schedule.algorithm)) return f.full_rate;
  const bool all_send = exchanges_at_once(schedule.algorithm, schedule.collective, 0);
  return f.inner_rate * link_share(schedule.algorithm, f) * (all_send ? f.inner_exchanges : 1);
}

/// One-way rate out of a domain, after the network's taper.
[[nodiscard]] inline double full_outer_rate(const Schedule& schedule, const Fabric& f) {
  const double rate = f.outer_rate * taper_share(schedule.algorithm, f, schedule.collective);
  return schedule.collective == Collective::send_recv ? rate / std::max(1.0, std::min(f.nics, f.local())) : rate;
}

}  // namespace detail

/// Seconds per byte of S, as described above; 0 if nothing moves. \throws nothing
[[nodiscard]] inline double min_per_byte(const Schedule& schedule, const Fabric& f) {
  const double inside = detail::full_inner_rate(schedule, f), across = detail::full_outer_rate(schedule, f);
  double out = 0;
  if (f.local() > 1 && inside > 0) out = schedule.bytes(0) / inside;
  if (f.domains() > 1 && across > 0) out = std::max(out, schedule.bytes(1) / across);
  return out;
}

}  // namespace fabricost
