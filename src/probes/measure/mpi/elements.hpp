#pragma once
/// \file elements.hpp
/// Element types of MPI.

#include "measure/mpi/calls.hpp"

#include <fabricost/collective.hpp>

namespace fabricost::probes::measure::mpi {

/// The MPI type of the same width. Sums need one that MPI can add. \throws Unsupported for sums of 16-bit and 8-bit floats
[[nodiscard]] MPI_Datatype mpi_type(DataType type, bool summed);

}  // namespace fabricost::probes::measure::mpi
