#pragma once
/// \file transfer.hpp
/// One case over MPI: its buffers, the call that is timed, and what must have arrived.
///
/// Sizes are those of nccl-tests: of all_gather what every rank ends up with, of reduce_scatter and all_to_all what every rank starts with,
/// of send_recv one message. A send_recv without `pairs` goes around: every rank to the next while it receives from the one before, as
/// sendrecv_perf does; with `pairs` it is a ping-pong (half of its time counts), or `both_ways` at once.

#include "measure/device.hpp"
#include "measure/mpi/elements.hpp"
#include "measure/mpi/host/memory.hpp"
#include "measure/mpi/world.hpp"

#include <cstdint>
#include <string>

namespace fabricost::measure::mpi {

/// "all_reduce of 1048576 B": for messages
[[nodiscard]] std::string described(const Case& what);

class Transfer {
 public:
  /// Memory is reserved, not yet touched. \throws Unsupported, OutOfMemory
  Transfer(const Case& what, const World& world);

  /// Fills what is sent; poisons what is received.
  void fill();
  /// The call itself. \throws DeviceFault, DeviceLost
  void run();
  /// Every byte of the result. \throws WrongResult
  void verify() const;
  /// What is reduced in place would grow with every repetition, until it overflows: zeros stay zeros.
  void zero_sums();

  /// What of the time of `run` counts: half of a ping-pong.
  [[nodiscard]] double share() const { return share_; }

 private:
  void find_partners();
  void run_send_recv();
  [[nodiscard]] bool takes_part() const { return to_ >= 0; }

  Case what_;
  MPI_Comm comm_;
  int rank_, ranks_;
  std::uint64_t element_ = 1, part_ = 0, whole_ = 0;  ///< bytes: of an element, of one count argument, of all parts
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  Count count_ = 0;  ///< elements of one count argument
  Buffer sent_, received_;
  const void* in_ = nullptr;  ///< MPI_IN_PLACE where it is
  double share_ = 1;
  int to_ = -1, from_ = -1;  ///< of send_recv; -1: this rank only watches
  bool first_ = true;        ///< of a ping-pong
};

}  // namespace fabricost::measure::mpi
