#pragma once
/// The time of one prepared case: warm-up, repetitions per batch, number of batches, comparison of two
/// clocks; and one try at a case with the same outcome in all processes.
///
/// Warm-up lasts at least 20 ms, since clocks drop while memory is allocated, and until two successive
/// batches agree within 2 % or a limit is reached. A batch has a power of two of repetitions such that it is
/// long compared with the resolution of GPU events (0.5 us; CUDA Runtime API, cudaEventElapsedTime). Batches
/// follow until the median is known well enough, or the time of this point is used up. The value is the
/// device time per repetition, except for kernel_sync, which measures the host's wait.
///
/// The clocks are compared batch by batch: work between two events cannot last longer than the host waited
/// for it, and the host waits at most for the work, a launch per repetition and one synchronisation.
///
/// A batch is an outlier when it is more than 5 times 1.4826 MAD from the median (MAD: median absolute
/// deviation; 1.4826 MAD is the standard deviation of normal noise, for which 6 in 10 million batches would
/// be rejected). Deviations below a thousandth of the median are never outliers, since coarse clocks would
/// produce some. Outliers are counted and reported.
///
/// A failure in one process counts for all; otherwise the others would wait for it in the next collective.

#include "measure/device.hpp"

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace fabricost::probes::measure {

inline constexpr double outlier_deviations = 5;
inline constexpr double normal_deviation = 1.4826;  ///< standard deviation / MAD of normal noise: 1 / the 3/4 quantile of N(0, 1)
inline constexpr double min_deviation = 1e-3;       ///< of the median

/// Seconds, from the batches that were kept.
struct Statistics {
  double median = 0;
  double spread = 0;  ///< (p75 - p25) / median
  int kept = 0, outliers = 0;

  /// Standard error of the median over the median, for normal noise: 1.2533 x (p75 - p25) / 1.349 / sqrt(kept).
  [[nodiscard]] double relative_error() const;
};

[[nodiscard]] Statistics statistics_of(const std::vector<double>& batches);

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

struct Attempt {
  enum class Kind : unsigned char { measured, unsupported, out_of_memory, wrong_result, fault, refused, lost };
  Kind kind = Kind::measured;
  Sample sample{};
  bool in_graphs = true;  ///< as Job::in_graphs
  std::string reason{};
};

/// Device exceptions become outcomes; anything else that is thrown is an internal error.
[[nodiscard]] Attempt attempt(Device& device, const Case& what, const SampleRules& rules, const Clock& now);

/// States of the units that can still be queried; none for a lost machine.
[[nodiscard]] std::vector<State> states_of(Device& device, const Machine& machine);

}  // namespace fabricost::probes::measure
