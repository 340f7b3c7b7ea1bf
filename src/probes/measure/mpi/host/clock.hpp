#pragma once
/// \file clock.hpp
/// The monotonic clock of this kernel, waiting for a time on it, and its identity across processes.

#include <string>

namespace fabricost::probes::measure::mpi {

/// Seconds of CLOCK_MONOTONIC.
[[nodiscard]] double now();

/// Returns at `moment`. `patient`: sleeps all the time, since others need the processor; else spins during
/// the last 200 us.
void wait_until(double moment, bool patient);

/// Disables the slack of up to 50 us that the kernel adds to a sleep.
void sharpen_timers();

/// Equal in two processes with the same clock: the kernel's boot id and the time namespace. Empty: unknown.
[[nodiscard]] std::string clock_identity();

}  // namespace fabricost::probes::measure::mpi
