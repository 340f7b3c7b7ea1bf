#pragma once
/// Bodies of lower_bound.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/lower_bound.hpp>

namespace fabricost::core::detail {

/// One-way rate per GPU inside a domain, of the links an algorithm can use.
FABRICOST_BODY double full_inner_rate(const Schedule& schedule, const Fabric& f) {
  if (uses_all_links(schedule.algorithm)) return f.full_rate;
  const bool all_send = exchanges_at_once(schedule.algorithm, schedule.collective, 0);
  return f.inner_rate * link_share(schedule.algorithm, f) * (all_send ? f.inner_exchanges : 1);
}

/// One-way rate out of a domain, after the network's taper.
FABRICOST_BODY double full_outer_rate(const Schedule& schedule, const Fabric& f) {
  return f.outer_rate * taper_share(schedule.algorithm, f, schedule.collective);
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY double min_per_byte(const Schedule& schedule, const Fabric& f) {
  const double inside = detail::full_inner_rate(schedule, f), across = detail::full_outer_rate(schedule, f);
  double out = 0;
  // of a round of a ring through a domain one hop of g leaves it, another of each channel; over PCIe it leaves by the same link
  const double hops = schedule.algorithm == Algorithm::ring && f.domains() > 1 && !f.over_pcie ? (f.local() - 1) / f.local() : 1;
  if (f.local() > 1 && inside > 0) out = hops * schedule.bytes(0) / inside;
  if (f.domains() > 1 && across > 0) out = std::max(out, schedule.bytes(1) / across);
  return out;
}

}  // namespace fabricost::core
