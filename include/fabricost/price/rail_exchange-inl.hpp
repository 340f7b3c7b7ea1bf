#pragma once
/// \file rail_exchange-inl.hpp
/// Bodies of rail_exchange.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/rail_exchange.hpp>

namespace fabricost::core {

FABRICOST_BODY Line price_rail_exchange(const Schedule& schedule, const Fabric& fabric, const Constants& c) {
  const auto& t = c.transport;
  const double partners = fabric.domains() - 1;
  const double path = nic_path_share(fabric, t, schedule.collective);
  const double hop = fabric.over_pcie ? c.pcie.simple_hop : c.scale_up.simple.hop;
  Line line;
  line.add_base_part(TermKind::launch, 0, 1, fabric.over_pcie ? c.pcie.launch : c.scale_up.launch);
  line.add_base_part(TermKind::floor, 1, 1, t.exchange_base);
  line.add_base_part(TermKind::steps, 0, schedule.steps(0), with_latency(hop, fabric.inner_latency_shift));
  line.add_base_part(TermKind::peers, 1, partners, with_latency(t.exchange_peer, fabric.outer_latency_shift / fabric.domains()));
  line.add_ramp({.shape = Ramp::Shape::step,
             .level = 1,
             .amplitude = partners * t.exchange_peer_simple,
             .per_byte = 1 / (exchange_ll_limit(fabric) * fabric.domains())});
  line.add_ramp({.shape = Ramp::Shape::until,
             .level = 1,
             .amplitude = partners * t.exchange_peer * (t.exchange_tiny - 1),
             .per_byte = 1 / (t.form.exchange_tiny_size * fabric.domains())});
  line.unmeasured_end = tiny_messages(t, fabric.domains(), partners * t.exchange_peer);
  const double across = t.exchange_share * path * fabric.outer_rate * fabric.all_to_all_taper;
  const double inside = detail::inner_ring_rate(fabric, c) * fabric.inner_exchanges;
  line.add_rate_part(TermKind::wire, 0, schedule.bytes(0), 1 / inside);
  line.add_rate_part(TermKind::wire, 1, schedule.bytes(1), 1 / across);
  line.wire_level = schedule.bytes(1) / across >= schedule.bytes(0) / inside ? 1 : 0;
  return line;
}

}  // namespace fabricost::core
