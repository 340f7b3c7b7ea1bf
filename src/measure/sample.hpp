#pragma once
/// \file sample.hpp
/// The time of one prepared case: warm-up, how many repetitions make a batch, how many batches are enough, and whether the two clocks
/// agree.
///
/// Warm-up lasts at least 20 ms, for clocks that fell while memory was allocated, and until two successive batches agree within 2 % or its
/// limit is reached. A batch holds so many repetitions (a power of two) that it lasts long against the grain of a GPU's events (0.5 us;
/// CUDA Runtime API, cudaEventElapsedTime). Batches follow until the median is known well enough, or the time of this point is spent. The
/// value is the device's time per repetition; of kernel_sync, whose subject is the host's wait, the host's.
///
/// The clocks are held against each other batch by batch: work between two events cannot last longer than the host waited for it, and the
/// host waits no longer than the work, a launch for each repetition and one synchronisation take.

#include "measure/device.hpp"

#include <functional>
#include <limits>
#include <optional>
#include <string>

namespace fabricost::measure {

struct SampleRules {
  double min_batch = 2e-3;   ///< seconds: 4,000 grains of an event
  double max_batch = 50e-3;  ///< seconds by the host, where flushes between repetitions make them long
  int max_repetitions = 4096;
  double steady = 0.02;        ///< two warm-up batches agree
  double min_warm_up = 20e-3;  ///< seconds
  int max_warm_up = 20;        ///< batches, beyond the least
  int min_batches = 5, max_batches = 25;
  double enough = 0.002;                                  ///< relative standard error of the median
  double time = std::numeric_limits<double>::infinity();  ///< seconds of this point; three batches are taken in any case
};

inline constexpr double device_over_host = 0.01;   ///< rates of two quartz clocks and rounding; beyond it one of them is wrong
inline constexpr double clock_grain = 5e-6;        ///< seconds, of a whole batch
inline constexpr double synchronisation = 200e-6;  ///< seconds the host may wait beyond the work of a batch
inline constexpr double host_over_device = 0.05;   ///< of the work
inline constexpr double launch_each = 20e-6;       ///< seconds of the host for every repetition that is launched one by one
inline constexpr double launch_in_graph = 3e-6;

/// What was seen of one case.
struct Sample {
  double seconds = 0;  ///< of one repetition
  double spread = 0;
  int batches = 0, repetitions = 0, outliers = 0;
  bool steady = true;            ///< warm-up ended because two batches agreed
  std::optional<double> host{};  ///< seconds by the host, where they disagree with the device's by more than launches explain
  std::string refused{};         ///< why it is no measurement; empty when it is one
};

/// Seconds since some moment, never going back.
using Clock = std::function<double()>;

/// Every process of a run takes part. \throws as Job::run
[[nodiscard]] Sample take_sample(Device& device, Job& job, const Case& what, const SampleRules& rules, const Clock& now);

}  // namespace fabricost::measure
