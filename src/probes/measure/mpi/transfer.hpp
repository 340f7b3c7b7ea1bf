#pragma once
/// One case over MPI: its buffers, the timed call, and the expected result.
///
/// Sizes are those of nccl-tests: the result of a rank for all_gather, the input of a rank for reduce_scatter
/// and all_to_all, one message for send_recv. A send_recv without `pairs` is a ring: every rank sends to the
/// next while it receives from the previous one, as in sendrecv_perf. With `pairs` it is a ping-pong (half of
/// its time counts), or simultaneous in both directions (`both_ways`).

#include "measure/device.hpp"
#include "measure/mpi/host.hpp"
#include "measure/mpi/world.hpp"

#include <fabricost/collective.hpp>

#include <cstdint>
#include <string>

namespace fabricost::probes::measure::mpi {

/// The MPI type of the same width. Sums need one that MPI can add. \throws Unsupported for sums of 16-bit and 8-bit floats
[[nodiscard]] MPI_Datatype mpi_type(DataType type, bool summed);

/// "all_reduce of 1048576 B", for messages
[[nodiscard]] std::string described(const Case& what);

class Transfer {
 public:
  /// Reserves memory without touching it. \throws Unsupported, OutOfMemory
  Transfer(const Case& what, const World& world);

  /// Fills the send buffer and poisons the receive buffer.
  void fill();
  /// The timed call. \throws DeviceFault, DeviceLost
  void run();
  /// Checks every byte of the result. \throws WrongResult
  void verify() const;
  /// Sets in-place operands of reductions to zero, which would otherwise grow until they overflow.
  void zero_sums();

  /// Fraction of the time of `run` that counts: half for a ping-pong.
  [[nodiscard]] double share() const { return share_; }

 private:
  void find_partners();
  void run_send_recv();
  [[nodiscard]] bool takes_part() const { return to_ >= 0; }

  Case what_;
  MPI_Comm comm_;
  int rank_, ranks_;
  std::uint64_t element_ = 1, part_ = 0, whole_ = 0;  ///< bytes of an element, of one count argument, of all parts
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  Count count_ = 0;  ///< elements in one count argument
  Buffer sent_, received_;
  const void* in_ = nullptr;  ///< or MPI_IN_PLACE
  double share_ = 1;
  int to_ = -1, from_ = -1;  ///< of send_recv; -1: this rank does not take part
  bool first_ = true;        ///< of a ping-pong
};

}  // namespace fabricost::probes::measure::mpi
