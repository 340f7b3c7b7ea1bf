#pragma once
/// \file pcie.hpp
/// Collectives among GPUs of one box that meet over PCIe, through the host. Rates depend on the ranks because
/// the path does: a pair, one socket, two sockets. Fitted on 504 points of 8 L40S (PCIe 4, NCCL 2.27);
/// elsewhere scaled by the x16 rate.
///
///   LL      norm_1.42( c0 + h k , (k+x) V / bLL(n) )
///   Simple  c0 + norm_1.02( f + hs k , volume ),  volume = (k+x) V / (mu B(n)), the first MiB of S 1.28 times faster for n > 2
///   a2a LL  norm_1.42( ca + ha (log2 n - 1) , (n-1+x) V / (0.68 bLL) )
///   a2a Simple  ca + ha (log2 n - 1) + norm_1.02( 7.7 us , (n-1+x) V / (mu B) )
///
/// Beyond a pair the rate depends on the board: 8 GPUs over two sockets are bimodal with a factor of 2. Where
/// GPUs write into each other's memory (peer_to_peer), a ring runs at the pair's rate inside a socket and at
/// 0.82 of it across two (39 to 51 GB/s against 53 to 56.6 on PCIe 5, voipmonitor/rtx6kpro), and there is no
/// staging buffer to be warm.

#include <fabricost/hardware/constants.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>
#include <fabricost/price/protocol.hpp>
#include <fabricost/price/ring.hpp>

namespace fabricost {

/// 0: a pair, 1: one socket, 2: two sockets.
[[nodiscard]] inline std::size_t pcie_reach(const Fabric& f) { return f.local() <= 2 ? 0 : f.local() <= f.per_socket ? 1 : 2; }

/// Share of the x16 rate, by the path between the ranks.
[[nodiscard]] inline double pcie_share(const Fabric& fabric, const std::array<double, 3>& shares, const PcieForm& form) {
  const std::size_t reach = pcie_reach(fabric);
  if (fabric.peer_to_peer) return shares[0] * (reach == 2 ? form.two_sockets_share : 1);
  return shares[reach];
}

[[nodiscard]] inline double pcie_rate_factor(const PcieConstants& c, Collective op, std::size_t reach) {
  const double scatter = reach == 2 ? c.reduce_scatter_rate_two_sockets : c.reduce_scatter_rate;
  switch (op) {
    case Collective::reduce_scatter:
    case Collective::reduce: return scatter;
    case Collective::all_reduce: return 2 / (1 + 1 / scatter);
    case Collective::all_to_all:
    case Collective::send_recv: return reach == 0 ? c.exchange_pair_rate : 1;
    default: return 1;
  }
}

[[nodiscard]] inline Line price_pcie(const Schedule& schedule, const Fabric& fabric, const PcieConstants& c, Protocol protocol) {
  const Collective op = schedule.collective;
  const double n = std::max(2.0, fabric.local());
  const std::size_t reach = pcie_reach(fabric);
  const double k = schedule.steps(0);
  const double bytes = schedule.bytes(0);
  const double message = op == Collective::send_recv ? 0 : schedule.begin()->message;
  const bool exchange = is_exchange(op);
  const double ll_rate = pcie_share(fabric, c.ll_share, c.form) * fabric.pcie_rate;
  const double rate = pcie_rate_factor(c, op, fabric.peer_to_peer ? std::min<std::size_t>(reach, 1) : reach) *
                      pcie_share(fabric, c.simple_share, c.form) * fabric.pcie_rate;

  Line line;
  const auto wire = [&](double per_second) {
    line.rate_part(TermKind::wire, 0, bytes, 1 / per_second);
    line.rate_part(TermKind::copy, 0, c.drain * message, 1 / per_second);
  };
  if (protocol == Protocol::ll) {
    line.overlap = c.ll_overlap;
    if (exchange) {
      line.latency_part(TermKind::launch, 0, 1, c.exchange_base);
      line.latency_part(TermKind::steps, 0, std::log2(n) - 1, with_latency(c.exchange_hop, fabric.inner_latency));
      wire(c.exchange_ll_share * ll_rate);
    } else {
      line.latency_part(TermKind::launch, 0, 1, c.launch);
      line.latency_part(TermKind::steps, 0, k, with_latency(c.ll_hop, fabric.inner_latency));
      wire(ll_rate * (op == Collective::all_reduce ? c.ll_all_reduce_rate : 1));
    }
    return line;
  }
  line.overlap = c.simple_overlap;
  wire(rate);
  if (exchange) {
    line.base_part(TermKind::launch, 0, 1, c.exchange_base);
    line.base_part(TermKind::steps, 0, std::log2(n) - 1, with_latency(c.exchange_hop, fabric.inner_latency));
    line.latency_part(TermKind::floor, 0, 1, c.exchange_floor);
  } else {
    line.base_part(TermKind::launch, 0, 1, c.launch);
    line.latency_part(TermKind::floor, 0, 1, c.simple_floor);
    line.latency_part(TermKind::steps, 0, k, with_latency(c.simple_hop, fabric.inner_latency));
    if (reach > 0 && !fabric.peer_to_peer) {
      line.early = c.warm_bytes;
      line.early_rate = line.rate * (1 / c.warm_rate - 1);
    }
  }
  return line;
}

}  // namespace fabricost
