/// \file watch.cpp
/// The thread of Watch.

#include "measure/mpi/watch.hpp"

#include "measure/mpi/host/clock.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace fabricost::probes::measure::mpi {

Watch::Watch(double limit) : limit_(limit), thread_([this] { look(); }) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Watch::name(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
}

void Watch::start() { deadline_.store(now() + limit_, std::memory_order_relaxed); }

void Watch::look() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, std::chrono::milliseconds{200}, [this] { return end_; })) {
    const double deadline = deadline_.load(std::memory_order_relaxed);
    if (deadline <= 0 || now() < deadline) continue;
    fmt::print(stderr, "fabricost: {} is not done after {:g} s: a process died, stands still or does something else\n",
               what_.empty() ? "a call of MPI" : what_, limit_);
    std::fflush(stderr);
    std::_Exit(2);  // without clean-up, since the thread that would do it is inside MPI
  }
}

}  // namespace fabricost::probes::measure::mpi
