#include <fabricost/plan/economics/stragglers.hpp>

namespace fabricost::plan {

double somebody_late(double share, double ranks) {
  if (!(share >= 0 && share <= 1)) throw RequestError("a share of slow ranks is a number from 0 to 1");
  return share >= 1 ? 1 : -std::expm1(ranks * std::log1p(-share));
}

double harmonic(double n) {
  if (n > 10000) return std::log(n) + euler_gamma + 1 / (2 * n) - 1 / (12 * n * n);
  double sum = 0;
  for (int i = static_cast<int>(n); i >= 1; --i) sum += 1.0 / i;
  return sum;
}

}  // namespace fabricost::plan

namespace fabricost::plan::detail {

/// ln Phi(z), accurate in both tails.
double log_normal_cdf(double z) { return z < 0 ? std::log(normal_tail(-z)) : std::log1p(-normal_tail(z)); }

/// int_0^inf (1 - (1 - p0 e^-y)^n) dy = sum_1^n (1 - (1 - p0)^j) / j: what an exponential tail of weight p0
/// adds to a maximum, in its scale.
double exponential_tail_gain(double weight, double ranks) {
  double sum = 0, kept = 1;
  for (double j = 1; j <= ranks; ++j) {
    kept *= 1 - weight;
    sum += (1 - kept) / j;
    if (kept < 1e-18) return sum + harmonic(ranks) - harmonic(j);  // all further terms are 1/j
  }
  return sum;
}

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

double Jitter::at(double z) const {
  switch (shape) {
    case JitterShape::normal: return mean + deviation * z;
    case JitterShape::lognormal: {
      const double s = log_deviation();
      return mean * std::exp(s * z - s * s / 2);
    }
    case JitterShape::exponential: return mean - deviation - deviation * std::log(detail::normal_tail(z));
  }
  return mean;
}

Jitter jitter_of_percentiles(double p50, double p99, JitterShape shape) {
  if (!(p50 > 0 && p99 >= p50 && std::isfinite(p99))) throw RequestError("P50 is above 0 and P99 is at least as large");
  constexpr double z99 = 2.3263478740408408;
  switch (shape) {
    case JitterShape::normal: return {shape, p50, (p99 - p50) / z99};
    case JitterShape::lognormal: {
      const double s = std::log(p99 / p50) / z99, mean = p50 * std::exp(s * s / 2);
      return {shape, mean, mean * std::sqrt(std::expm1(s * s))};
    }
    case JitterShape::exponential: {
      const double m = (p99 - p50) / std::log(50.0);
      return {shape, p50 - m * std::numbers::ln2 + m, m};
    }
  }
  return {};
}

double expected_maximum(const Jitter& one, double ranks) {
  if (!(ranks >= 1 && ranks <= 1e9)) throw RequestError("a number of ranks is from 1 to 10^9");
  if (!(one.deviation >= 0 && std::isfinite(one.deviation) && std::isfinite(one.mean)))
    throw RequestError("a standard deviation is 0 or more");
  if (one.deviation <= 0) return one.mean;
  if (one.shape == JitterShape::lognormal && !(one.mean > 0)) throw RequestError("a lognormal time has a mean above 0");
  if (one.shape == JitterShape::exponential) return one.mean + one.deviation * (harmonic(ranks) - 1);
  // e^(s z) moves the weight of a lognormal to the right by s
  const double s = one.shape == JitterShape::lognormal ? one.log_deviation() : 0;
  constexpr double step = 1.0 / 64;
  const double last = 9 + std::max(0.0, s) + std::sqrt(2 * std::log(ranks));
  double sum = 0, weight = 0;
  for (double z = -9; z <= last; z += step) {
    const double density = ranks * std::exp(-z * z / 2 + (ranks - 1) * detail::log_normal_cdf(z));
    sum += density * one.at(z);
    weight += density;
  }
  return std::max(one.mean, sum / weight);  // the sum may round below the mean, which no maximum is
}

double MeasuredTimes::quantile(double share) const {
  const double at = share * static_cast<double>(times_.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(std::max(0.0, at)), times_.size() - 1);
  const std::size_t next = std::min(i + 1, times_.size() - 1);
  return times_[i] + (at - static_cast<double>(i)) * (times_[next] - times_[i]);
}

double MeasuredTimes::expected_maximum(double ranks) const {
  if (!(ranks >= 1 && ranks <= 1e9)) throw RequestError("a number of ranks is from 1 to 10^9");
  const auto n = static_cast<double>(times_.size());
  const std::size_t body = times_.size() - tail_;
  double out = 0, below = 0;
  for (std::size_t i = 0; i < body; ++i) {
    const double upto = std::pow(static_cast<double>(i + 1) / n, ranks);
    out += times_[i] * (upto - below);
    below = upto;
  }
  if (tail_ == 0) return out;
  const double threshold = times_[body - 1], weight = static_cast<double>(tail_) / n;
  const double excess = over(tail_, body, [threshold](double t) { return t - threshold; });
  return out + threshold * somebody_late(weight, ranks) + excess * detail::exponential_tail_gain(weight, ranks);
}

double expected_step(const Jitter& step, double ranks, int barriers) {
  if (barriers < 1) throw RequestError("a step has at least one barrier");
  const double k = barriers;
  return k * expected_maximum({step.shape, step.mean / k, step.deviation / std::sqrt(k)}, ranks);
}

double slow_factor(std::vector<SlowKind> kinds, double ranks) {
  double shares = 0;
  for (const SlowKind& k : kinds) {
    if (!(k.factor >= 1 && std::isfinite(k.factor))) throw RequestError("a slow factor is 1 or more");
    if (!(k.share >= 0)) throw RequestError("a share of slow ranks is a number from 0 to 1");
    shares += k.share;
  }
  if (shares > 1) throw RequestError("shares of slow ranks add up to more than 1");
  std::stable_sort(kinds.begin(), kinds.end(), [](const SlowKind& a, const SlowKind& b) { return a.factor > b.factor; });
  double out = 1, upto = 0, before = 0;
  for (const SlowKind& k : kinds) {
    upto = std::min(1.0, upto + k.share);
    const double late = somebody_late(upto, ranks);
    out += (k.factor - 1) * (late - before);
    before = late;
  }
  return out;
}

double lost_rail_factor(int rails, int lost, LostRail how) {
  if (rails < 1 || lost < 0 || lost >= rails)
    throw RequestError(std::to_string(lost) + " of " + std::to_string(rails) + " rails are lost: at least one must be left; take at most " +
                       std::to_string(std::max(0, rails - 1)));
  if (lost == 0) return 1;
  if (how == LostRail::spread) return static_cast<double>(rails) / (rails - lost);
  return 1 + std::ceil(static_cast<double>(lost) / (rails - lost));
}

}  // namespace fabricost::plan
