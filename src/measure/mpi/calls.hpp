#pragma once
/// \file calls.hpp
/// MPI's C interface, with errors as exceptions and counts as wide as the library has them.

#define OMPI_SKIP_MPICXX 1  // the C++ bindings are gone from the standard, and warn
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <limits>

namespace fabricost::measure::mpi {

/// \throws DeviceLost when a process is gone (MPI with fault tolerance says so), DeviceFault with the library's own words otherwise
void check(int code, const char* call);

// Since MPI 4 every call has a twin whose name ends in _c and whose counts are 64 bits wide.
#if MPI_VERSION >= 4
using Count = MPI_Count;
#define FABRICOST_MPI(call) call##_c
#else
using Count = int;
#define FABRICOST_MPI(call) call
#endif
inline constexpr Count widest_count = std::numeric_limits<Count>::max();

}  // namespace fabricost::measure::mpi
