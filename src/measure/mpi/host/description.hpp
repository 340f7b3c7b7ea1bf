#pragma once
/// \file description.hpp
/// The processes of an MPI run as a Machine: one unit a process, and what a reader of the times should know.

#include "measure/mpi/host/environment.hpp"
#include "measure/mpi/world.hpp"

#include "measure/device.hpp"

#include <vector>

namespace fabricost::measure::mpi {

/// The same in every process. \throws DeviceLost, DeviceFault
[[nodiscard]] Machine describe(World& world, const std::vector<Forced>& forced);

/// The clock of the processor this process runs on, where Linux shows it.
[[nodiscard]] State state_here();

}  // namespace fabricost::measure::mpi
