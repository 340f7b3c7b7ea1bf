#pragma once
/// \file sample.hpp
/// The time of one prepared case: warm-up, repetitions per batch, number of batches, comparison of two
/// clocks.
///
/// Warm-up lasts at least 20 ms, since clocks drop while memory is allocated, and until two successive
/// batches agree within 2 % or a limit is reached. A batch has a power of two of repetitions such that it is
/// long compared with the resolution of GPU events (0.5 us; CUDA Runtime API, cudaEventElapsedTime). Batches
/// follow until the median is known well enough, or the time of this point is used up. The value is the
/// device time per repetition, except for kernel_sync, which measures the host's wait.
///
/// The clocks are compared batch by batch: work between two events cannot last longer than the host waited
/// for it, and the host waits at most for the work, a launch per repetition and one synchronisation.

#include "measure/device.hpp"

#include <functional>
#include <limits>
#include <optional>
#include <string>

namespace fabricost::probes::measure {

struct SampleRules {
  double min_batch = 2e-3;   ///< seconds: 4,000 times the resolution of an event
  double max_batch = 50e-3;  ///< seconds by the host, where flushes between repetitions take time
  int max_repetitions = 4096;
  double steady = 0.02;        ///< relative difference at which two warm-up batches agree
  double min_warm_up = 20e-3;  ///< seconds
  int max_warm_up = 20;        ///< batches, beyond the minimum time
  int min_batches = 5, max_batches = 25;
  double enough = 0.002;                                  ///< relative standard error of the median
  double time = std::numeric_limits<double>::infinity();  ///< seconds of this point; three batches are taken in any case
};

inline constexpr double device_over_host = 0.01;   ///< difference of two quartz clocks and rounding; beyond it one of them is wrong
inline constexpr double clock_grain = 5e-6;        ///< seconds, of a whole batch
inline constexpr double synchronisation = 200e-6;  ///< maximum seconds that the host waits beyond the work of a batch
inline constexpr double host_over_device = 0.05;   ///< of the work
inline constexpr double launch_each = 20e-6;       ///< seconds of the host per repetition that is launched one by one
inline constexpr double launch_in_graph = 3e-6;

/// The result for one case.
struct Sample {
  double seconds = 0;  ///< of one repetition
  double spread = 0;
  int batches = 0, repetitions = 0, outliers = 0;
  bool steady = true;            ///< warm-up ended with two batches that agreed
  std::optional<double> host{};  ///< seconds by the host, if they differ from the device's by more than launches explain
  std::string refused{};         ///< the reason why it is not a valid measurement; empty if it is
};

/// Monotonic seconds.
using Clock = std::function<double()>;

/// Takes a sample, in all processes of a run together. \throws as Job::run
[[nodiscard]] Sample take_sample(Device& device, Job& job, const Case& what, const SampleRules& rules, const Clock& now);

}  // namespace fabricost::probes::measure
