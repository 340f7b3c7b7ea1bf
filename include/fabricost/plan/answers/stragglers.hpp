#pragma once
/// \file stragglers.hpp
/// The time a step waits for its slowest rank, from a distribution of one rank's time or from measured times,
/// and the time that slow hosts and lost rails add.
///
///   step        E[max of n] = int x d F(x)^n, ranks independent (economics/stragglers.hpp)
///   slow rank   mean more than 5 % above the median rank's: slow permanently, not occasionally

#include <fabricost/plan/economics/stragglers.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/plan/readings/iteration_times.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fabricost::plan {

[[nodiscard]] constexpr auto words_of(JitterShape) { return EnumWords{jitter_shape_names, "a distribution"}; }
[[nodiscard]] constexpr auto words_of(LostRail) { return EnumWords{lost_rail_names, "a way of a lost rail's traffic"}; }

/// Measured times: a file that read_iteration_times reads, or the seconds themselves.
struct TimesGiven {
  std::string file;  ///< empty: `seconds` are the times
  std::vector<double> seconds;
};
/// The file.
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, TimesGiven& out);
/// "1%:1.1": a share of the ranks and their factor. \throws RequestError
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, SlowKind& out);

struct StragglersRequest {
  std::optional<TimesGiven> times{};
  std::optional<int> ranks{};
  std::optional<Time> mean{}, deviation{}, p50{}, p99{};
  std::optional<JitterShape> shape{};
  std::optional<int> barriers{};
  std::vector<SlowKind> slow{};
  std::optional<int> rails{}, rails_lost{};
  std::optional<LostRail> reroute{};
  std::optional<double> network_share{};

  static constexpr auto fields() {
    using R = StragglersRequest;
    using enum Amount;
    return Table{
        asks(&R::times, "times", "FILE", " ",
             "Measured seconds, one a line; or a CSV with a column time_s,\ntime_ms or time_us, with iteration and rank if you like"),
        asks(&R::ranks, "ranks", "--ranks,-r", count, any_count, "N", "Ranks that wait for each other", true),
        asks(&R::mean, "mean_seconds", "--mean", seconds, some_time, "TIME", "Mean time of one rank, as in 10ms"),
        asks(&R::deviation, "deviation_seconds", "--deviation", seconds, any_time, "TIME", "Standard deviation of one rank's time"),
        asks(&R::p50, "p50_seconds", "--p50", seconds, any_time, "TIME",
             "Median of a collective or a step, as benchmarks print it"),
        asks(&R::p99, "p99_seconds", "--p99", seconds, any_time, "TIME", "99th percentile of the same"),
        asks(&R::shape, "shape", "--shape", "NAME", "Distribution: normal (default with <mean_seconds>), lognormal\n(with <p50_seconds>) or exponential"),
        asks(&R::barriers, "barriers", "--barriers", count, any_count, "K", "Number of times a step waits for all ranks; default 1"),
        asks(&R::slow, "slow", "--slow", "SHARE:FACTOR...", "Share of ranks that are slow by chance, and their factor, as in 1%:1.1"),
        asks(&R::rails, "rails", "--rails", count, any_count, "N", "NICs of a node"),
        asks(&R::rails_lost, "rails_lost", "--rails-lost", count, any_count, "N", "NICs of the node that are down; default 1"),
        asks(&R::reroute, "reroute", "--reroute", "HOW", "Reroute of their traffic: spread (default) or neighbour"),
        asks(&R::network_share, "network_share", "--network-share", share, any_share, "X", "Share of a step that waits for the network")};
  }
};

/// The step with another number of ranks.
struct StragglersAtRanks {
  double ranks = 0;
  Time step{};
  double efficiency = 0, slow_factor = 1;
  bool operator==(const StragglersAtRanks&) const = default;

  static constexpr auto fields() {
    using A = StragglersAtRanks;
    return Table{gives(&A::ranks, "ranks", "ranks", "Ranks that wait for each other."),
                 gives(&A::step, "step_s", "step_seconds", "Expected time of the slowest, s."),
                 gives(&A::efficiency, "efficiency", "efficiency", "Mean over that."),
                 gives(&A::slow_factor, "slow_factor", "slow_factor", "What slow kinds add to it, a factor.")};
  }
};
struct SlowRank {
  std::string rank;
  Time mean{};
  bool operator==(const SlowRank&) const = default;

  static constexpr auto fields() {
    using A = SlowRank;
    return Table{gives(&A::rank, "rank", "rank", "Its name."), gives(&A::mean, "mean_s", "mean_seconds", "Its mean, s.")};
  }
};

struct StragglersAnswer {
  double ranks = 0;
  Time mean{}, deviation{}, step{};
  double efficiency = 0;
  std::optional<int> times;
  std::optional<Time> p50, p99, slowest;
  int measured_ranks = 0;
  std::vector<SlowRank> slow_ranks;
  std::optional<std::string> shape;
  std::optional<int> barriers;
  std::optional<double> somebody_late, slow_factor;
  std::optional<Time> slow_step;
  std::optional<int> rails, rails_lost;
  std::optional<double> network_factor;
  std::optional<Time> rails_step;
  std::vector<StragglersAtRanks> by_ranks;
  Time alike{};                  ///< expected maximum over measured_ranks if they were identical and independent
  double rails_step_factor = 1;  ///< effect of lost rails on a step

  static constexpr auto fields() {
    using A = StragglersAnswer;
    constexpr bool left_out = true, beside = true;
    return Table{
        gives(&A::ranks, "ranks", "ranks", "Ranks that wait for each other."),
        gives(&A::mean, "mean_s", "mean_seconds", "Of one rank's time, s."),
        gives(&A::deviation, "deviation_s", "deviation_seconds", "Its standard deviation, s."),
        gives(&A::times, "measured.times", "times", "How many times were measured; None: a distribution was given.", 1, left_out),
        gives(&A::p50, "measured.p50_s", "p50_seconds", "Their median, s.", 1, left_out),
        gives(&A::p99, "measured.p99_s", "p99_seconds", "Their 99th percentile, s.", 1, left_out),
        gives(&A::measured_ranks, "measured.ranks", "measured_ranks", "Ranks that were told apart.", 1, false, beside),
        gives(&A::slowest, "measured.slowest_s", "slowest_seconds",
              "Mean of the slowest rank of each iteration, s; None: ranks were not told apart.", 1, left_out),
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
};

/// \throws Refusal for two sources of times or an incomplete one, incomplete rails; RequestError for shares
/// and factors out of range; SpecError as read_iteration_times
[[nodiscard]] StragglersAnswer answer(const StragglersRequest& request);

}  // namespace fabricost::plan
