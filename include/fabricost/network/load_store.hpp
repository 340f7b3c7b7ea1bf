#pragma once
/// \file load_store.hpp
/// Small transfers, 64 B to 64 KiB: loads and stores of GPU threads over NVLink, UALink or the wires of a
/// torus compared with an RDMA message, and the size from which the message is faster.
///
///   store      l h + s / r                 posted, one way; l: one hop, h: hops
///   load       2 l h + s / r               there and back
///   r          min(B e, window / (2 l h))  no more than `window` bytes are on their way at once (Little's law)
///   RDMA       start + L + s / (B' e')     L: end to end, start: the time to post the message
///   crossover  (L' - l') / (1/r - 1/r')    where the two lines meet
///
/// A load or store costs less to start, but its threads keep only a limited number of bytes in flight,
/// whereas a NIC streams: beyond some KiB a few threads are slower than RDMA; the threads of a whole GPU
/// never are. Chip-to-chip DMA (ICI) has no window.

#include <fabricost/hardware/check.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/network/balance.hpp>
#include <fabricost/refusal.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace fabricost {

/// 32 lanes of a warp with four 16-byte accesses in flight. Assumed: no published value; depends on the
/// kernel.
inline constexpr double warp_window = 32 * 16 * 4;

/// A line: seconds of s bytes = start + s / rate.
struct TransferLine {
  double start = 0;  ///< seconds
  double rate = 0;   ///< bytes per second
  [[nodiscard]] double operator()(double bytes) const { return start + bytes / rate; }
};

struct LoadStore {
  bool load = true;             ///< a load waits for the data to come back, a store does not
  double window = warp_window;  ///< bytes in flight; infinity for a DMA engine
  int hops = 0;                 ///< between the two; 0: the tier's default, neighbours on a torus
};

/// Loads or stores over a machine's scale-up tier: l is its latency per hop, B e its one-way rate after
/// packet headers (on a wired domain: of the wires between the two endpoints). \throws RequestError without a
/// scale-up tier or its latency, or for a window that is not above zero
[[nodiscard]] inline TransferLine load_store_line(const System& system, const LoadStore& access = {}) {
  detail::check_parts(system, {});
  const Tier* tier = system.tier(TierRole::scale_up);
  if (tier == nullptr) throw RequestError(system.name + ": no scale-up tier to load or store over");
  if (!(tier->latency.value.value() > 0))
    throw Refusal(system.name + ": tier " + tier->name.c_str() + " has no latency; give it one (<overrides=" + tier->name.c_str() +
                  ".latency=...>)");
  if (!(access.window > 0)) throw RequestError("bytes in flight must be above zero");
  if (access.hops < 0) throw RequestError("hops must not be negative");
  const double one_way = tier->latency.value.value() * (access.hops > 0 ? access.hops : 1);  // a switched tier's latency is end to end
  double rate = tier->bandwidth.value.value();
  switch (tier->kind) {
    case TierKind::full_mesh: rate /= std::max(1, tier->endpoints - 1); break;
    case TierKind::torus:
      rate = tier->link_bandwidth.value() * tier->links / std::max(2.0, 2.0 * static_cast<double>(tier->dims.size()));
      break;
    case TierKind::ring: rate /= 2; break;
    case TierKind::mesh_graph: rate = tier->link_bandwidth.value(); break;
    default: break;
  }
  return {(access.load ? 2 : 1) * one_way, std::min(rate * tier->efficiency, access.window / (2 * one_way))};
}

/// One RDMA message through a machine's NIC, at most at the rate of its slot and the GPU's own link. L: the
/// NIC tier's latency (end to end at 64 B, one switch). `start`: cost of posting; 0 for the CPU-side figures
/// of data/links, otherwise a kernel's hand-over to a proxy thread. Does not apply without GPUDirect RDMA.
/// \throws RequestError without a NIC tier or its latency, or for a negative start
[[nodiscard]] inline TransferLine rdma_line(const System& system, double start = 0) {
  detail::check_parts(system, {});
  const Tier* nic = system.tier(TierRole::nic);
  if (nic == nullptr) throw RequestError(system.name + ": no NIC tier for RDMA");
  if (!(nic->latency.value.value() > 0)) throw RequestError(system.name + ": tier " + nic->name.c_str() + " has no latency");
  if (!(start >= 0) || std::isinf(start)) throw RequestError("what starting a message takes must be zero or more seconds");
  const NicWay way = nic_way(*nic, pcie_tier(system), system.tier(TierRole::c2c));
  const double own = nic->bandwidth.value.value() * nic->efficiency / std::max(1, nic->shared_by);
  return {start + nic->latency.value.value(), std::min({own, way.slot, way.link})};
}

/// The size from which `second` is faster than `first`: infinity if never, 0 if always.
[[nodiscard]] inline double crossover(const TransferLine& first, const TransferLine& second) {
  const double later = second.start - first.start;       // extra start-up time of the second
  const double gain = 1 / first.rate - 1 / second.rate;  // time it saves per byte
  if (gain <= 0) return later < 0 ? 0 : std::numeric_limits<double>::infinity();
  return std::max(0.0, later / gain);
}

/// The size from which the first is the faster one where it starts later and carries more; infinity: it does not do both.
[[nodiscard]] inline double faster_from(const TransferLine& first, const TransferLine& second) {
  const bool catches_up = first.start > second.start && first.rate > second.rate;
  return catches_up ? (first.start - second.start) / (1 / second.rate - 1 / first.rate) : std::numeric_limits<double>::infinity();
}

/// Whether transfers over the scale-up tier are done by DMA, which keeps as much in flight as the wire holds:
/// chips of an ICI torus.
[[nodiscard]] inline bool copies_by_dma(const System& system) {
  const Tier* tier = system.tier(TierRole::scale_up);
  return tier != nullptr && tier->name == "ici";
}

/// Loads, stores and RDMA side by side, and the size up to which loads and stores are faster.
struct AccessLines {
  TransferLine store, load, rdma;
  double stores_until = 0, loads_until = 0;  ///< bytes; infinity: at every size
};
/// \param window bytes in flight; infinity for DMA \param hops between the two on a torus; 0: the tier's
/// default \param start seconds to post an RDMA message \throws RequestError as load_store_line and rdma_line
[[nodiscard]] inline AccessLines access_lines(const System& system, double window, int hops = 0, double start = 0) {
  AccessLines out{.store = load_store_line(system, {.load = false, .window = window, .hops = hops}),
                  .load = load_store_line(system, {.load = true, .window = window, .hops = hops}),
                  .rdma = rdma_line(system, start)};
  out.stores_until = crossover(out.store, out.rdma);
  out.loads_until = crossover(out.load, out.rdma);
  return out;
}

/// Many senders of equal messages to one port: seconds for one alone and for all at once, and the rate each
/// then gets in byte/s (balance.hpp, incast_rate).
struct Incast {
  TransferLine one;
  double alone = 0, seconds = 0, rate = 0;
};
/// \throws RequestError as rdma_line, and for less than one sender
[[nodiscard]] inline Incast incast(const System& system, int senders, double bytes, double start = 0) {
  Incast out{.one = rdma_line(system, start)};
  out.alone = out.one(bytes);
  out.rate = incast_rate(out.one.rate, senders, out.one.rate);
  out.seconds = out.one.start + bytes / out.rate;
  return out;
}

}  // namespace fabricost
