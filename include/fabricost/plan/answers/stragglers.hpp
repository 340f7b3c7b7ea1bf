#pragma once
/// The time a step waits for its slowest rank, from a distribution of one rank's time or from measured times,
/// and the time that slow hosts and lost rails add.
///
///   step        E[max of n] = int x d F(x)^n, ranks independent (economics/stragglers.hpp)
///   slow rank   mean more than 5 % above the median rank's: slow permanently, not occasionally

#include <fabricost/fields/fields.hpp>
#include <fabricost/plan/economics/stragglers.hpp>
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

  static RequestTable<StragglersRequest> fields();
};

/// The step with another number of ranks.
struct StragglersAtRanks {
  double ranks = 0;
  Time step{};
  double efficiency = 0, slow_factor = 1;
  bool operator==(const StragglersAtRanks&) const = default;

  static AnswerTable<StragglersAtRanks> fields();
};
struct SlowRank {
  std::string rank;
  Time mean{};
  bool operator==(const SlowRank&) const = default;

  static AnswerTable<SlowRank> fields();
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

  static AnswerTable<StragglersAnswer> fields();
};

/// \throws Refusal for two sources of times or an incomplete one, incomplete rails; RequestError for shares
/// and factors out of range; SpecError as read_iteration_times
[[nodiscard]] StragglersAnswer answer(const StragglersRequest& request);

}  // namespace fabricost::plan
