#pragma once
/// Bodies of pcie.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/pcie.hpp>

#include <limits>

namespace fabricost::core {

FABRICOST_BODY double pcie_ring_rate(const Fabric& fabric, const PcieConstants& c) {
  return fabric.pcie_carried > 0 ? fabric.pcie_carried : c.simple_share[pcie_reach(fabric)] * fabric.pcie_rate;
}

FABRICOST_BODY double pcie_ll_rate(const Fabric& fabric, const PcieConstants& c) {
  const std::size_t reach = pcie_reach(fabric);
  const double peers = fabric.peer_to_peer && reach == 2 ? c.form.peers_ll_share : 1;
  return peers * c.ll_share[reach] / c.simple_share[reach] * pcie_ring_rate(fabric, c);
}

FABRICOST_BODY double pcie_rate_factor(const PcieConstants& c, Collective op, std::size_t reach) {
  const double scatter = reach == 2 ? c.reduce_scatter_rate_two_sockets : c.reduce_scatter_rate;
  switch (op) {
    case Collective::reduce_scatter:
    case Collective::reduce: return scatter;
    case Collective::all_reduce: return 2 / (1 + 1 / scatter);
    case Collective::all_to_all:
    case Collective::send_recv: return reach == 0 ? c.exchange_pair_rate : reach == 2 ? c.exchange_two_sockets_rate : 1;
    default: return 1;
  }
}

FABRICOST_BODY Line price_pcie(const Schedule& schedule, const Fabric& fabric, const PcieConstants& c, Protocol protocol) {
  const Collective op = schedule.collective;
  const double n = std::max(2.0, fabric.local());
  const std::size_t reach = pcie_reach(fabric);
  const double k = schedule.steps(0);
  const double bytes = schedule.bytes(0);
  const double message = op == Collective::send_recv ? 0 : schedule.begin()->message;
  const bool exchange = is_exchange(op);
  const double ll_rate = pcie_ll_rate(fabric, c);
  const double upward = op == Collective::all_to_all && fabric.inner_exchanges < 1 ? fabric.inner_exchanges * fabric.pcie_rate
                                                                                  : std::numeric_limits<double>::infinity();
  const double rate = std::min(
      upward, exchange && fabric.pcie_exchanged > 0 ? fabric.pcie_exchanged : pcie_rate_factor(c, op, reach) * pcie_ring_rate(fabric, c));

  Line line;
  const auto wire = [&](double per_second) {
    line.add_rate_part(TermKind::wire, 0, bytes, 1 / per_second);
    line.add_rate_part(TermKind::copy, 0, c.drain * message, 1 / per_second);
  };
  if (protocol == Protocol::ll) {
    line.overlap = c.ll_overlap;
    if (exchange) {
      line.add_latency_part(TermKind::launch, 0, 1, c.exchange_base);
      line.add_latency_part(TermKind::steps, 0, std::log2(n) - 1, with_latency(c.exchange_hop, fabric.inner_latency_shift));
      wire(std::min(upward, c.exchange_ll_share * ll_rate));
    } else {
      line.add_latency_part(TermKind::launch, 0, 1, c.launch);
      line.add_latency_part(TermKind::steps, 0, k, with_latency(c.ll_hop, fabric.inner_latency_shift));
      wire(ll_rate * (op == Collective::all_reduce ? c.ll_all_reduce_rate : 1));
    }
    return line;
  }
  line.overlap = c.simple_overlap;
  wire(rate);
  if (exchange) {
    line.add_base_part(TermKind::launch, 0, 1, c.exchange_base);
    line.add_base_part(TermKind::steps, 0, std::log2(n) - 1, with_latency(c.exchange_hop, fabric.inner_latency_shift));
    line.add_latency_part(TermKind::floor, 0, 1, c.exchange_floor);
  } else {
    line.add_base_part(TermKind::launch, 0, 1, c.launch);
    line.add_latency_part(TermKind::floor, 0, 1, c.simple_floor);
    line.add_latency_part(TermKind::steps, 0, k, with_latency(c.simple_hop, fabric.inner_latency_shift));
    if (reach > 0) {
      line.early = c.warm_bytes;
      line.early_rate = line.rate * (1 / c.warm_rate - 1);
    }
  }
  return line;
}

}  // namespace fabricost::core
