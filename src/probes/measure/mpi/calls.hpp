#pragma once
/// \file calls.hpp
/// MPI's C interface, with errors as exceptions and the widest counts that the library supports.

#define OMPI_SKIP_MPICXX 1  // the C++ bindings were removed from the standard and give warnings
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <limits>

namespace fabricost::probes::measure::mpi {

/// \throws DeviceLost for a lost process (reported by fault-tolerant MPI), DeviceFault with the library's
/// message otherwise
void check(int code, const char* call);

// From MPI 4 on, every call has a variant with suffix _c and 64-bit counts.
#if MPI_VERSION >= 4
using Count = MPI_Count;
#define FABRICOST_MPI(call) call##_c
#else
using Count = int;
#define FABRICOST_MPI(call) call
#endif
inline constexpr Count widest_count = std::numeric_limits<Count>::max();

}  // namespace fabricost::probes::measure::mpi
