/// \file idle_nap.cpp
/// A library to preload where more processes run than there are processors, on purpose: simulated networks, tests.
///
///   mpirun -x LD_PRELOAD=/usr/lib/fabricost/probes/libfabricost_idle_nap.so --mca mpi_yield_when_idle 1 -n 16 fabricost measure --mpi
///
/// An idle Open MPI process then calls sched_yield in a loop, and so takes turns with those who carry packets. Sleeping for 50 us there
/// instead leaves them the processor; a wait ends up to 50 us late. Where every process has a processor of its own, that would only harm.

#include <ctime>

extern "C" __attribute__((visibility("default"))) int sched_yield() noexcept {
  const timespec nap{0, 50'000};
  nanosleep(&nap, nullptr);
  return 0;
}
