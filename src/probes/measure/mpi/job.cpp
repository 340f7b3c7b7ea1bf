/// \file job.cpp
/// The two ways to start all processes together.

#include "measure/mpi/job.hpp"

#include "measure/mpi/host/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace fabricost::probes::measure::mpi {

namespace {

// Lead of the start time: twice the time of an agreement, within these limits.
constexpr double min_lead = 10e-6, max_lead = 20e-3;
constexpr int tries = 4;  // of a repetition for which a process was late

}  // namespace

MpiJob::MpiJob(World& world, std::unique_ptr<Transfer> transfer, std::string called)
    : world_(world), transfer_(std::move(transfer)), called_(std::move(called)) {
  std::array<double, 1> longest{0};
  for (int i = 0; i < 3; ++i) {
    const double before = now();
    world_.max(longest);
    longest[0] = now() - before;
  }
  world_.max(longest);  // the maximum, the same in every process
  lead_ = std::clamp(2 * longest[0], min_lead, max_lead);
}

Timing MpiJob::run(int repetitions) {
  world_.watch().name(called_);
  std::array<double, 2> ends{static_cast<double>(repetitions), -static_cast<double>(repetitions)};
  world_.max(ends);
  if (repetitions < 1 || ends[0] != -ends[1])
    throw DeviceFault(fmt::format("{}: the processes were told to repeat it {:g} to {:g} times", called_, -ends[1], ends[0]));
  return world_.one_clock() ? from_a_moment(repetitions) : from_a_barrier(repetitions);
}

Timing MpiJob::from_a_moment(int repetitions) {
  Timing sum;
  std::array<double, 1> latest{now()};
  world_.max(latest);
  for (int i = 0, again = 0; i < repetitions;) {
    const double moment = latest[0] + lead_;
    const double late = std::max(0.0, now() - moment);
    wait_until(moment, world_.crowded());
    const double wall = MPI_Wtime(), begin = now();
    {
      const Watched watched(world_.watch());
      transfer_->run();
    }
    const double end = now();
    // the end of the last process by either clock; whether any was late; the earliest next start
    std::array<double, 4> max{end, MPI_Wtime() - wall + (begin - moment), late, now()};
    world_.max(max);
    latest[0] = max[3];
    if (max[2] > 0 && ++again < tries) {
      lead_ = std::min(2 * lead_, max_lead);
      continue;
    }
    sum.device += max[0] - moment;
    sum.host += max[1];
    again = 0;
    ++i;
  }
  const double each = transfer_->share() / repetitions;
  return {sum.device * each, sum.host * each};
}

Timing MpiJob::from_a_barrier(int repetitions) {
  Timing sum;
  for (int i = 0; i < repetitions; ++i) {
    world_.meet();
    const double wall = MPI_Wtime(), begin = now();
    {
      const Watched watched(world_.watch());
      transfer_->run();
    }
    const double end = now();
    std::array<double, 2> max{end - begin, MPI_Wtime() - wall};
    world_.max(max);
    sum.device += max[0];
    sum.host += max[1];
  }
  const double each = transfer_->share() / repetitions;
  return {sum.device * each, sum.host * each};
}

}  // namespace fabricost::probes::measure::mpi
