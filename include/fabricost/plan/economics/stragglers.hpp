#pragma once
/// Effect of slow ranks on a synchronous step, which waits for the slowest one: the expected maximum of n
/// times from one distribution, a few slow hosts or links, a lost rail, a flapping link. Times may be in any
/// unit; results have the same unit.
///
///   E[max of n] = int x d F(x)^n                                      F: distribution of one rank's time, ranks independent
///   exponential   m H_n,  H_n = 1 + 1/2 + ... + 1/n                    exact (Renyi 1953)
///   one in 1/q    P(at least one is late) = 1 - (1 - q)^n
///
/// Limits: ranks that are slow together (a hot row of racks, a congested spine) are not independent, and the
/// maximum is then overestimated. A rank that is slow permanently is a SlowKind and not jitter.

#include <fabricost/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>
#include <vector>

namespace fabricost::plan {

inline constexpr double euler_gamma = 0.57721566490153286;

/// 1 - (1 - q)^n without cancellation: the share of steps with at least one late rank of n.
/// \throws RequestError for q outside [0, 1]
[[nodiscard]] double somebody_late(double share, double ranks);

/// H_n. Summed to 10,000, beyond that ln n + gamma + 1/(2n) - 1/(12 n^2) (error below 1e-17).
[[nodiscard]] double harmonic(double n);

namespace detail {

/// Upper tail of the standard normal distribution.
[[nodiscard]] inline double normal_tail(double z) { return 0.5 * std::erfc(z / std::numbers::sqrt2); }

}  // namespace detail

/// Distribution of one rank's times from step to step.
enum class JitterShape : unsigned char { normal, lognormal, exponential };
inline constexpr std::array<std::string_view, 3> jitter_shape_names{"normal", "lognormal", "exponential"};

/// One rank's time: a distribution given by its mean and standard deviation. `exponential` is shifted: never below mean - deviation.
struct Jitter {
  JitterShape shape = JitterShape::normal;
  double mean = 0, deviation = 0;

  /// Standard deviation of the logarithm, for `lognormal`: sigma^2 = ln(1 + (deviation/mean)^2).
  [[nodiscard]] double log_deviation() const { return std::sqrt(std::log1p(deviation / mean * deviation / mean)); }

  /// The quantile at Phi(z): exceeded with the probability that a standard normal exceeds z.
  [[nodiscard]] double at(double z) const;
};

/// The distribution with this median and 99th percentile, the figures that benchmarks print.
///   normal       sigma = (p99 - p50) / 2.3263                lognormal   sigma_ln = ln(p99/p50) / 2.3263
///   exponential  m = (p99 - p50) / ln 50, shifted to p50 - m ln 2
/// \throws RequestError unless 0 < p50 <= p99
[[nodiscard]] Jitter jitter_of_percentiles(double p50, double p99, JitterShape shape = JitterShape::lognormal);

/// Expected maximum over `ranks` independent draws: the exact order statistic int q(z) n phi(z) Phi(z)^(n-1)
/// dz over the standard normal z, with q the distribution's quantile. Trapezoidal rule, whose error falls
/// exponentially for such integrands (1e-9 here). Exponential times in closed form: mean - m + m H_n.
/// \throws RequestError for fewer than 1 rank, a negative deviation, or a lognormal without a mean above 0
[[nodiscard]] double expected_maximum(const Jitter& one, double ranks);

/// Measured times of one rank, or of identical ranks, and their expected maximum. All measured times are
/// equally likely; above the (N - k)-th, with k a tenth of them, the tail is exponential with their mean
/// excess b. This extrapolates to more ranks than there are times:
///   E[max] = sum_i x_i (F_i^n - F_(i-1)^n)  +  u (1 - (1 - p)^n) + b sum_j (1 - (1 - p)^j) / j,    p = k/N, u = x_(N-k)
/// With fewer than 20 times there is no tail, so the result is at most the largest one.
class MeasuredTimes {
 public:
  /// \throws RequestError for no times, or a time that is not finite and positive
  explicit MeasuredTimes(std::vector<double> times) : times_(std::move(times)) {
    if (times_.empty()) throw RequestError("no times were measured");
    for (const double t : times_)
      if (!(std::isfinite(t) && t > 0)) throw RequestError("a measured time is a finite number above 0");
    std::sort(times_.begin(), times_.end());
    tail_ = times_.size() >= 20 ? times_.size() / 10 : 0;
  }

  [[nodiscard]] std::size_t count() const { return times_.size(); }
  [[nodiscard]] double mean() const {
    return over(times_.size(), 0, [](double t) { return t; });
  }
  [[nodiscard]] double deviation() const {
    const double m = mean();
    return std::sqrt(over(times_.size(), 0, [m](double t) { return (t - m) * (t - m); }));
  }
  /// The quantile of the measured times, interpolated linearly. \param share 0 to 1
  [[nodiscard]] double quantile(double share) const;
  [[nodiscard]] double expected_maximum(double ranks) const;

 private:
  /// Mean of f over `many` sorted times, starting with the `from`-th.
  template <class F>
  [[nodiscard]] double over(std::size_t many, std::size_t from, F&& f) const {
    double sum = 0;
    for (std::size_t i = from; i < from + many; ++i) sum += f(times_[i]);
    return sum / static_cast<double>(many);
  }

  std::vector<double> times_;
  std::size_t tail_ = 0;
};

/// Expected time of a step of k = `barriers` equal parts, each of which waits for all ranks, with independent
/// jitter. Each part has mean/k and deviation/sqrt(k), so the excess over the mean grows with sqrt(k). With
/// one barrier: expected_maximum. \throws as expected_maximum
[[nodiscard]] double expected_step(const Jitter& step, double ranks, int barriers);

/// A kind of slow host or link: its share of all, and the factor on its time.
struct SlowKind {
  double share = 0;
  double factor = 1;
};

/// Expected factor on a step over `ranks` when each is slow by chance. The slowest kind present decides:
///   E = 1 + sum over kinds, slowest first, (factor_i - 1) (P(no slower kind) - P(neither it nor a slower one))
/// One kind: 1 + (r - 1)(1 - (1 - q)^n). \throws RequestError for shares outside [0, 1] or above 1 together, factors below 1
[[nodiscard]] double slow_factor(std::vector<SlowKind> kinds, double ranks);

/// The NICs that carry the traffic of a lost rail.
enum class LostRail : unsigned char {
  spread,    ///< evenly over the others: each carries n/(n - lost)
  neighbour  ///< to one other NIC of the node (the next on the PCIe switch): that one carries two rails' share
};
inline constexpr std::array<std::string_view, 2> lost_rail_names{"spread", "neighbour"};

/// Factor on the NIC time of a collective that uses all `rails` evenly when `lost` of them are missing on
/// some node, for which all nodes wait. One of eight: 8/7 spread, 2 to a neighbour. \throws RequestError
/// unless 0 <= lost < rails
[[nodiscard]] double lost_rail_factor(int rails, int lost, LostRail how);

/// Time of a step whose network part takes `factor` times as long. \param network share of the step, 0 to 1
[[nodiscard]] inline double network_slowed(double step, double network, double factor) { return step * (1 + network * (factor - 1)); }

/// Links that drop out and come back: their rate, and the time for which the job stands still.
struct LinkFlaps {
  double links = 0;
  double per_link_hour = 0;  ///< flaps of one link
  double stall_seconds = 0;  ///< until the transport has retransmitted
  double fatal_share = 0;    ///< share of flaps that exceed the transport's timeout and end the job

  /// Share of the time the job stands still: x = links x rate x stall, overlaps counted once: 1 - e^-x.
  [[nodiscard]] double stalled() const { return -std::expm1(-links * per_link_hour / 3600 * stall_seconds * (1 - fatal_share)); }
  /// Failures of the job per hour.
  [[nodiscard]] double failures_per_hour() const { return links * per_link_hour * fatal_share; }
};

}  // namespace fabricost::plan
