#pragma once
/// \file job.hpp
/// Timing one case.
///
///   one clock    everybody starts at a moment set ahead; a repetition lasts from that moment until the last process is done
///                (bias: the time a process takes to notice the moment, below a microsecond where it spins)
///   several      everybody leaves a barrier and reads its own clock before and after; a repetition lasts as long as it does for the
///                slowest (bias: who leaves the barrier first waits for the others inside the call: up to the barrier's own skew too long)
///
/// Every repetition starts anew: no rank runs ahead into the next one, as it may where calls follow each other without a word between.

#include "measure/mpi/transfer.hpp"
#include "measure/mpi/world.hpp"

#include "measure/device.hpp"

#include <memory>
#include <string>

namespace fabricost::measure::mpi {

class MpiJob final : public Job {
 public:
  /// \param world outlives the job
  MpiJob(World& world, std::unique_ptr<Transfer> transfer, std::string called);
  /// `device` by CLOCK_MONOTONIC, `host` by MPI_Wtime over the same stretch.
  [[nodiscard]] Timing run(int repetitions) override;

 private:
  [[nodiscard]] Timing from_a_moment(int repetitions);
  [[nodiscard]] Timing from_a_barrier(int repetitions);

  World& world_;
  std::unique_ptr<Transfer> transfer_;
  std::string called_;
  double lead_ = 0;  ///< how far ahead a moment is set: what it takes for everybody to hear of it
};

}  // namespace fabricost::measure::mpi
