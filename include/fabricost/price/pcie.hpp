#pragma once
/// Collectives among GPUs of one box that meet over PCIe. Rates depend on the ranks because the path does: a pair, one socket, two sockets.
/// Boards of two kinds were measured: data is staged in host memory (504 points of 8 L40S, PCIe 4, NCCL 2.27), or GPUs write into each
/// other's memory (peer_to_peer; 504 points of 8 RTX PRO 6000, PCIe 5, NCCL 2.29). Each kind has constants of its own, as its steps are.
///
///   LL      norm_1.42( c0 + h k , (k+x) V / bLL(n) )
///   Simple  c0 + norm_1.02( f + hs k , volume ),  volume = (k+x) V / (mu B(n)), the first MiB of S 1.28 times faster for n > 2
///   a2a LL  norm_1.42( ca + ha (log2 n - 1) , (n-1+x) V / (0.68 bLL) )
///   a2a Simple  ca + ha (log2 n - 1) + norm_1.02( 7.7 us , (n-1+x) V / (mu B) )
///
/// The board determines B(n), a share of the x16 rate of the measured board (of others the mean of both), or the system states it
/// (`pair_rate`, `socket_rate`, `sockets_rate`; of exchanges `pair_exchange_rate`, `sockets_exchange_rate`, as a ring crosses between
/// sockets on one of its links, an exchange with half of its bytes); bLL follows B. All else is the library's. 8 L40S over two sockets are
/// bimodal with a factor of 2.

#include <fabricost/hardware/constants.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>
#include <fabricost/price/protocol.hpp>
#include <fabricost/price/ring.hpp>

namespace fabricost::core {

/// 0: a pair, 1: one socket, 2: two sockets.
[[nodiscard]] inline std::size_t pcie_reach(const Fabric& f) { return f.local() <= 2 ? 0 : f.local() <= f.per_socket ? 1 : 2; }

/// One-way rate of a ring of large messages, by the path between the ranks.
[[nodiscard]] double pcie_ring_rate(const Fabric& fabric, const PcieConstants& c);
/// That of LL, which stores a flag beside every 4 bytes; such small stores into a peer lose more on the way to another socket.
[[nodiscard]] double pcie_ll_rate(const Fabric& fabric, const PcieConstants& c);

[[nodiscard]] double pcie_rate_factor(const PcieConstants& c, Collective op, std::size_t reach);

[[nodiscard]] Line price_pcie(const Schedule& schedule, const Fabric& fabric, const PcieConstants& c, Protocol protocol);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/price/pcie-inl.hpp>
#endif
