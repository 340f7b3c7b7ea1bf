/// \file clock.cpp
/// CLOCK_MONOTONIC, and its identity from /proc.

#include "measure/mpi/host/clock.hpp"

#include <ctime>

#include <array>
#include <fstream>

#include <sys/prctl.h>
#include <unistd.h>

namespace fabricost::probes::measure::mpi {

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void wait_until(double moment, bool patient) {
  const double asleep = patient ? moment : moment - 200e-6;
  if (asleep > now()) {
    const auto whole = static_cast<time_t>(asleep);
    const timespec t{whole, static_cast<long>((asleep - static_cast<double>(whole)) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) != 0) {}
  }
  while (now() < moment) {}
}

void sharpen_timers() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

std::string clock_identity() {
  std::string boot;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot;
  std::array<char, 64> space{};
  const ssize_t length = readlink("/proc/self/ns/time", space.data(), space.size() - 1);
  return boot.empty() ? "" : boot + (length > 0 ? space.data() : "");
}

}  // namespace fabricost::probes::measure::mpi
