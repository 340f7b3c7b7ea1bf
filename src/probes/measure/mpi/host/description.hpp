#pragma once
/// \file description.hpp
/// The processes of an MPI run as a Machine: one unit per process, with notes for readers of the times.

#include "measure/mpi/host/environment.hpp"
#include "measure/mpi/world.hpp"

#include "measure/device.hpp"

#include <vector>

namespace fabricost::probes::measure::mpi {

/// The result is the same in every process. \throws DeviceLost, DeviceFault
[[nodiscard]] Machine describe(World& world, const std::vector<Forced>& forced);

/// The clock of the processor that runs this process, where Linux shows it.
[[nodiscard]] State state_here();

}  // namespace fabricost::probes::measure::mpi
