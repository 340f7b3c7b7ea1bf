/// Computes the step that waits for the slowest rank.

#include "text/quantile.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/plan/answers/stragglers.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace fabricost::plan {

RequestTable<StragglersRequest> StragglersRequest::fields() {
  using R = StragglersRequest;
  using enum Amount;
  return {asks(&R::times, "times", "FILE", " ",
               "Measured seconds, one a line; or a CSV with a column time_s,\ntime_ms or time_us, with iteration and rank if you like"),
          asks(&R::ranks, "ranks", "--ranks,-r", count, any_count, "N", "Ranks that wait for each other", true),
          asks(&R::mean, "mean_seconds", "--mean", seconds, some_time, "TIME", "Mean time of one rank, as in 10ms"),
          asks(&R::deviation, "deviation_seconds", "--deviation", seconds, any_time, "TIME", "Standard deviation of one rank's time"),
          asks(&R::p50, "p50_seconds", "--p50", seconds, any_time, "TIME", "Median of a collective or a step, as benchmarks print it"),
          asks(&R::p99, "p99_seconds", "--p99", seconds, any_time, "TIME", "99th percentile of the same"),
          asks(&R::shape, "shape", "--shape", "NAME",
               "Distribution: normal (default with <mean_seconds>), lognormal\n(with <p50_seconds>) or exponential"),
          asks(&R::barriers, "barriers", "--barriers", count, any_count, "K", "Number of times a step waits for all ranks; default 1"),
          asks(&R::slow, "slow", "--slow", "SHARE:FACTOR...", "Share of ranks that are slow by chance, and their factor, as in 1%:1.1"),
          asks(&R::rails, "rails", "--rails", count, any_count, "N", "NICs of a node"),
          asks(&R::rails_lost, "rails_lost", "--rails-lost", count, any_count, "N", "NICs of the node that are down; default 1"),
          asks(&R::reroute, "reroute", "--reroute", "HOW", "Reroute of their traffic: spread (default) or neighbour"),
          asks(&R::network_share, "network_share", "--network-share", share, any_share, "X", "Share of a step that waits for the network")};
}

AnswerTable<StragglersAtRanks> StragglersAtRanks::fields() {
  using A = StragglersAtRanks;
  return {gives(&A::ranks, "ranks", "ranks", "Ranks that wait for each other."),
          gives(&A::step, "step_s", "step_seconds", "Expected time of the slowest, s."),
          gives(&A::efficiency, "efficiency", "efficiency", "Mean over that."),
          gives(&A::slow_factor, "slow_factor", "slow_factor", "What slow kinds add to it, a factor.")};
}

AnswerTable<SlowRank> SlowRank::fields() {
  using A = SlowRank;
  return {gives(&A::rank, "rank", "rank", "Its name."), gives(&A::mean, "mean_s", "mean_seconds", "Its mean, s.")};
}

AnswerTable<StragglersAnswer> StragglersAnswer::fields() {
  using A = StragglersAnswer;
  constexpr bool left_out = true, beside = true;
  return {gives(&A::ranks, "ranks", "ranks", "Ranks that wait for each other."),
          gives(&A::mean, "mean_s", "mean_seconds", "Of one rank's time, s."),
          gives(&A::deviation, "deviation_s", "deviation_seconds", "Its standard deviation, s."),
          gives(&A::times, "measured.times", "times", "How many times were measured; None: a distribution was given.", 1, left_out),
          gives(&A::p50, "measured.p50_s", "p50_seconds", "Their median, s.", 1, left_out),
          gives(&A::p99, "measured.p99_s", "p99_seconds", "Their 99th percentile, s.", 1, left_out),
          gives(&A::measured_ranks, "measured.ranks", "measured_ranks", "Ranks whose times are known one by one.", 1, false, beside),
          gives(&A::slowest, "measured.slowest_s", "slowest_seconds",
                "Mean of the slowest rank of each iteration, s; None: the times do not say their ranks.", 1, left_out),
          gives(&A::slow_ranks, "measured.slow_ranks", "slow_ranks", "Those slow all the time, a list of SlowRank.", 1, false, beside),
          gives(&A::shape, "shape", "shape", "normal, lognormal or exponential; None: measured.", 1, left_out),
          gives(&A::barriers, "barriers", "barriers", "Waits a step; None: measured.", 1, left_out),
          gives(&A::step, "step_s", "step_seconds", "Expected time of the slowest, s: int x d F(x)^n."),
          gives(&A::efficiency, "efficiency", "efficiency", "mean_seconds / step_seconds."),
          gives(&A::somebody_late, "slow.somebody_late", "somebody_late",
                "Share of steps with a slow one: 1 - (1 - q)^n; None: no slow kinds.", 1, left_out),
          gives(&A::slow_factor, "slow.factor", "slow_factor", "Expected factor of slow kinds on a step.", 1, left_out),
          gives(&A::slow_step, "slow.step_s", "slow_step_seconds", "step_seconds x slow_factor.", 1, left_out),
          gives(&A::rails, "rails.rails", "", "NICs of a node.", 1, left_out),
          gives(&A::rails_lost, "rails.lost", "", "Of those, how many are down.", 1, left_out),
          gives(&A::network_factor, "rails.network_factor", "network_factor",
                "Factor of lost rails on the network's part; None: no rails were given.", 1, left_out),
          gives(&A::rails_step, "rails.step_s", "rails_step_seconds", "A step with them, s.", 1, left_out),
          gives(&A::by_ranks, "by_ranks", "by_ranks", "Other numbers of ranks, a list of StragglersAtRanks.")};
}

namespace {

/// One rank's time: a distribution or measurements.
struct RankTimes {
  Jitter jitter;
  int barriers = 1;
  IterationTimes times;
  std::optional<MeasuredTimes> measured;

  [[nodiscard]] double step(double ranks) const {
    return measured ? measured->expected_maximum(ranks) : expected_step(jitter, ranks, barriers);
  }
  [[nodiscard]] double mean() const { return measured ? measured->mean() : jitter.mean; }
  [[nodiscard]] double deviation() const { return measured ? measured->deviation() : jitter.deviation; }
};

void refuse_contradictions(const StragglersRequest& r) {
  const bool by_mean = r.mean || r.deviation, by_percentile = r.p50 || r.p99;
  if (const int kinds = r.times.has_value() + by_mean + by_percentile; kinds != 1)
    throw Refusal(fmt::format("{} measured ones (<times>), or <mean_seconds> and <deviation_seconds>, or <p50_seconds> and <p99_seconds>",
                              kinds == 0 ? "which times? Give" : "times are given in two ways; keep one:"));
  if (!r.ranks) throw Refusal("over how many ranks? Add <ranks>, as in <ranks=1024>", true);
  if (r.times && r.shape) throw Refusal("<shape> is for <mean_seconds> or <p50_seconds>; measured times have their own");
  if (by_mean && !(r.mean && r.deviation)) throw Refusal("<mean_seconds> and <deviation_seconds> go together");
  if (by_percentile && !(r.p50 && r.p99)) throw Refusal("<p50_seconds> and <p99_seconds> go together");
  if (r.times && r.barriers) throw Refusal("<barriers> cuts a distribution in parts; measured times are cut as they were measured");
  if (!r.rails && (r.rails_lost || r.reroute || r.network_share)) throw Refusal("how many rails are there? Add <rails>, as in <rails=8>");
  if (r.rails && !r.network_share)
    throw Refusal("which share of a step waits for the network? Add <network_share>, as in <network_share=0.2>");
}

[[nodiscard]] RankTimes times_of(const StragglersRequest& r) {
  RankTimes out{.jitter = {}, .barriers = r.barriers.value_or(1), .times = {}, .measured = {}};
  if (r.mean) {
    out.jitter = {r.shape.value_or(JitterShape::normal), r.mean->value(), r.deviation->value()};
  } else if (r.p50) {
    out.jitter = jitter_of_percentiles(r.p50->value(), r.p99->value(), r.shape.value_or(JitterShape::lognormal));
  } else {
    if (r.times->file.empty())
      out.times.seconds = r.times->seconds;
    else
      out.times = read_iteration_times(r.times->file);
    try {
      out.measured.emplace(out.times.seconds);
    } catch (const RequestError& error) {
      throw Refusal(std::string{"<times>: "} + error.what());
    }
  }
  return out;
}

/// Ranks whose mean is more than 5 % above the median rank's, the slowest first.
[[nodiscard]] std::vector<SlowRank> slow_ranks(const IterationTimes& t) {
  constexpr double slow_from = 1.05;
  std::vector<SlowRank> out;
  if (t.ranks < 3) return out;
  std::vector<double> sorted = t.rank_means;
  const double middle = upper_median(sorted);
  for (std::size_t i = 0; i < t.rank_means.size(); ++i)
    if (t.rank_means[i] > slow_from * middle) out.push_back({t.rank_names[i], units::s(t.rank_means[i])});
  std::stable_sort(out.begin(), out.end(), [](const SlowRank& a, const SlowRank& b) { return a.mean > b.mean; });
  return out;
}

void add_measured(StragglersAnswer& out, const RankTimes& t) {
  out.times = static_cast<int>(t.measured->count());
  out.p50 = units::s(t.measured->quantile(0.5));
  out.p99 = units::s(t.measured->quantile(0.99));
  out.measured_ranks = t.times.ranks;
  out.slow_ranks = slow_ranks(t.times);
  const std::vector<double>& slowest = t.times.slowest;
  if (slowest.empty()) return;
  out.slowest = units::s(std::accumulate(slowest.begin(), slowest.end(), 0.0) / static_cast<double>(slowest.size()));
  out.alike = units::s(t.measured->expected_maximum(t.times.ranks));
}

/// Round numbers of ranks for the table, and the requested one.
[[nodiscard]] std::vector<double> shown_ranks(double ranks) {
  std::vector<double> out{1, 8, 64, 512, 4096, 16384, 131072};
  if (std::find(out.begin(), out.end(), ranks) == out.end()) out.push_back(ranks);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

StragglersAnswer answer(const StragglersRequest& r) {
  check_ranges(r);
  refuse_contradictions(r);
  const RankTimes t = times_of(r);
  const double ranks = *r.ranks, slow = slow_factor(r.slow, ranks), step = t.step(ranks);
  StragglersAnswer out;
  out.ranks = ranks;
  out.mean = units::s(t.mean());
  out.deviation = units::s(t.deviation());
  out.step = units::s(step);
  out.efficiency = t.mean() / step;
  if (t.measured) {
    add_measured(out, t);
  } else {
    out.shape = std::string{jitter_shape_names[static_cast<std::size_t>(t.jitter.shape)]};
    out.barriers = t.barriers;
  }
  if (!r.slow.empty()) {
    double share = 0;
    for (const SlowKind& kind : r.slow) share += kind.share;
    out.somebody_late = somebody_late(std::min(1.0, share), ranks);
    out.slow_factor = slow;
    out.slow_step = units::s(step * slow);
  }
  if (r.rails) {
    out.rails = r.rails;
    out.rails_lost = r.rails_lost.value_or(1);
    const double factor = lost_rail_factor(*out.rails, *out.rails_lost, r.reroute.value_or(LostRail::spread));
    out.network_factor = factor;
    out.rails_step_factor = network_slowed(1, *r.network_share, factor);
    out.rails_step = units::s(network_slowed(step, *r.network_share, factor));
  }
  for (const double n : shown_ranks(ranks)) out.by_ranks.push_back({n, units::s(t.step(n)), t.mean() / t.step(n), slow_factor(r.slow, n)});
  return out;
}

}  // namespace fabricost::plan
