#pragma once
/// Collectives of any MPI library as a Device (measure/device.hpp). All processes call the same functions in the same order.
///
/// Timing one case:
///
/// one clock    all processes start at an agreed time; a repetition lasts from then until the last process is done
/// (bias: the delay in noticing the start time, below a microsecond when spinning)
/// several      all processes leave a barrier and read their own clock before and after; a repetition lasts as long as on the
/// slowest one (bias: the first to leave the barrier waits for the others inside the call: too long by up to the
/// barrier's skew)
///
/// Every repetition starts anew, so no rank runs ahead into the next one, as in back-to-back calls without
/// synchronisation.

#include "measure/device.hpp"
#include "measure/mpi/host.hpp"
#include "measure/mpi/transfer.hpp"
#include "measure/mpi/world.hpp"

#include <memory>
#include <string>
#include <vector>

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

struct MpiOptions {
  double limit = 300;  ///< seconds after which processes give up waiting
  bool apart = false;  ///< times processes as if they had no common clock; true in tests
};

class MpiDevice final : public Device {
 public:
  explicit MpiDevice(const MpiOptions& options);

  [[nodiscard]] Machine describe() override;
  [[nodiscard]] State state(int unit) override;
  [[nodiscard]] std::unique_ptr<Job> prepare(const Case& what) override;
  [[nodiscard]] int process() const override { return world_.rank(); }
  [[nodiscard]] int processes() const override { return world_.ranks(); }
  [[nodiscard]] double agreed(double value) override;
  [[nodiscard]] bool any(bool value) override { return world_.any(value); }
  [[nodiscard]] const World& world() const { return world_; }

 private:
  /// \throws Unsupported when the case forces another algorithm than the environment
  void check_algorithm(const Case& what) const;

  MpiOptions options_;
  World world_;
  std::vector<Forced> forced_;
};

/// The result is the same in every process. \throws DeviceLost, DeviceFault
[[nodiscard]] Machine describe(World& world, const std::vector<Forced>& forced);

/// The clock of the processor that runs this process, where Linux shows it.
[[nodiscard]] State state_here();

}  // namespace fabricost::probes::measure::mpi
