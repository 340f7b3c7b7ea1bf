#pragma once
/// \file job.hpp
/// Timing one case.
///
///   one clock    all processes start at an agreed time; a repetition lasts from then until the last process is done
///                (bias: the delay in noticing the start time, below a microsecond when spinning)
///   several      all processes leave a barrier and read their own clock before and after; a repetition lasts as long as on the
///                slowest one (bias: the first to leave the barrier waits for the others inside the call: too long by up to the
///                barrier's skew)
///
/// Every repetition starts anew, so no rank runs ahead into the next one, as in back-to-back calls without
/// synchronisation.

#include "measure/mpi/transfer.hpp"
#include "measure/mpi/world.hpp"

#include "measure/device.hpp"

#include <memory>
#include <string>

namespace fabricost::probes::measure::mpi {

class MpiJob final : public Job {
 public:
  /// \param world must outlive the job
  MpiJob(World& world, std::unique_ptr<Transfer> transfer, std::string called);
  /// `device` by CLOCK_MONOTONIC, `host` by MPI_Wtime over the same interval.
  [[nodiscard]] Timing run(int repetitions) override;

 private:
  [[nodiscard]] Timing from_a_moment(int repetitions);
  [[nodiscard]] Timing from_a_barrier(int repetitions);

  World& world_;
  std::unique_ptr<Transfer> transfer_;
  std::string called_;
  double lead_ = 0;  ///< lead of the start time: the time until all processes know it
};

}  // namespace fabricost::probes::measure::mpi
