/// A library to preload if there are more processes than processors on purpose: simulated networks, tests.
///
///   mpirun -x LD_PRELOAD=/usr/lib/fabricost/probes/libfabricost_idle_nap.so --mca mpi_yield_when_idle 1 -n 16 fabricost measure --mpi
///
/// An idle Open MPI process then calls sched_yield in a loop and competes with the processes that carry
/// packets. A sleep of 50 us instead leaves them the processor, at the price of ending waits up to 50 us
/// late. It is harmful where every process has its own processor.

#include <ctime>

extern "C" __attribute__((visibility("default"))) int sched_yield() noexcept {
  const timespec nap{0, 50'000};
  nanosleep(&nap, nullptr);
  return 0;
}
