#pragma once
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

#include <fabricost/error.hpp>
#include <fabricost/hardware/check.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/plan/network/balance.hpp>

namespace fabricost::plan {

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
[[nodiscard]] TransferLine load_store_line(const System& system, const LoadStore& access = {});

/// One RDMA message through a machine's NIC, at most at the rate of its slot and the GPU's own link. L: the
/// NIC tier's latency (end to end at 64 B, one switch). `start`: cost of posting; 0 for the CPU-side figures
/// of data/links, otherwise a kernel's hand-over to a proxy thread. Does not apply without GPUDirect RDMA.
/// \throws RequestError without a NIC tier or its latency, or for a negative start
[[nodiscard]] TransferLine rdma_line(const System& system, double start = 0);

/// The size from which `second` is faster than `first`: infinity if never, 0 if always.
[[nodiscard]] double crossover(const TransferLine& first, const TransferLine& second);

/// The size from which the first is the faster one where it starts later and carries more; infinity: it does not do both.
[[nodiscard]] double faster_from(const TransferLine& first, const TransferLine& second);

/// Whether transfers over the scale-up tier are done by DMA, which keeps as much in flight as the wire holds:
/// chips of an ICI torus.
[[nodiscard]] bool copies_by_dma(const System& system);

/// Loads, stores and RDMA side by side, and the size up to which loads and stores are faster.
struct AccessLines {
  TransferLine store, load, rdma;
  double stores_until = 0, loads_until = 0;  ///< bytes; infinity: at every size
};
/// \param window bytes in flight; infinity for DMA \param hops between the two on a torus; 0: the tier's
/// default \param start seconds to post an RDMA message \throws RequestError as load_store_line and rdma_line
[[nodiscard]] AccessLines access_lines(const System& system, double window, int hops = 0, double start = 0);

/// Many senders of equal messages to one port: seconds for one alone and for all at once, and the rate each then gets in byte/s: its part of
/// the port (balance.hpp, incast_rate), or of the links of a tapered network that lead to those below one switch with it.
struct Incast {
  TransferLine one;
  double alone = 0, seconds = 0, rate = 0;
};
/// \throws RequestError as rdma_line, and for less than one sender
[[nodiscard]] Incast incast(const System& system, int senders, double bytes, double start = 0);

}  // namespace fabricost::plan

namespace fabricost {
using plan::access_lines;
using plan::Incast;
using plan::incast;
using plan::LoadStore;
using plan::TransferLine;
}  // namespace fabricost
