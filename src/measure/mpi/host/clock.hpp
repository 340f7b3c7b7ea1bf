#pragma once
/// \file clock.hpp
/// The monotonic clock of this kernel, waiting for a moment on it, and who else reads the same one.

#include <string>

namespace fabricost::measure::mpi {

/// Seconds of CLOCK_MONOTONIC.
[[nodiscard]] double now();

/// Returns at `moment`. Patient: sleeps all the way, because others need the processor; else spins over the last 200 us.
void wait_until(double moment, bool patient);

/// Wakes up on time: the kernel otherwise adds up to 50 us to a sleep.
void sharpen_timers();

/// Equal in two processes where they read one clock: the kernel's boot and the time namespace. Empty: this system does not say.
[[nodiscard]] std::string clock_identity();

}  // namespace fabricost::measure::mpi
