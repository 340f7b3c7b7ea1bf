#pragma once
/// An all_to_all in two levels: inside a domain to the rank in the receiver's place, then across on that
/// place's own rail. Not fitted to runs; the constants of the direct exchange (internode.hpp) with the counts
/// of this schedule:
///
///   t = c0 + Ca + h + (N-1)(La + LaS [S/N > 16 KiB] + (tiny-1) La [S/N < 128]) + S (g-1)/g / B + S g (1-1/N) / (ea path W x)
///
/// N domains of g ranks; h: one hop of a Simple ring inside; x: an exchange's share of a tapered network. It
/// has N - 1 remote partners instead of n - g: faster for short messages, slower for long ones, since the two
/// levels run one after the other.
///
/// NCCL itself always sends directly. With PXN (2.12 and later, rails) a message moves over NVLink to the GPU
/// on the receiver's rail before it leaves, and messages to one destination are handed to the NIC together
/// (NVIDIA, "Doubling all2all performance with NCCL 2.12"): the same wires, so the routes of the two differ
/// only where PXN does not relay. The fitted constants of the direct exchange include this.

#include <fabricost/price/internode.hpp>

namespace fabricost::core {

/// \param schedule  schedule_of(Algorithm::hierarchical, all_to_all) over more than one domain. \throws nothing
[[nodiscard]] inline Line price_rail_exchange(const Schedule& schedule, const Fabric& fabric, const Constants& c) {
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
             .of_peers = true,
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
