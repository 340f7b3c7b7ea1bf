#pragma once
/// The least of one quantity that meets a goal: NIC bandwidth, GPUs, the domain's size, sequences a step. A question asked backwards: the
/// forward one (plan) is asked at every value of a grid, so that an unknown need not be monotone, and a continuous unknown is bisected
/// between the last value that fails and the first that holds.
///
///   holds       the step, or the rate, meets the goal as predicted
///   interval    the least value where the prediction's fast end meets it, and where its slow end does. Goals that are ratios (of a term,
///               of a step to another) vary only the communication: all other errors are in both parts of the ratio.
///   within      step <= (1 + x) x step with the unknown so large that more of it changes nothing
///   scaling     tokens per GPU >= x times those at the least value that can run: of GPUs at one batch, strong scaling
///   gpus        of a service at most so many: idle ones are allowed, so that more of them never give less; engines share those in use
///               evenly
///   arrivals    of a service with a rate or a trace of requests: these are served within the limits
///   most        the largest value that meets the goal: how long a sequence, how many GPUs
///   in_seconds  tokens / (global_batch x sequence) steps, over goodput if that is requested (goodput.hpp)
///   machine     of several, the best by money, power, GPUs or time whose whole run (project.hpp) keeps every limit
///
/// A machine with a parameter changed is priced as `design.` among its overrides prices it: with constants that are no longer measured on
/// it.

#include <fabricost/plan/answers/design/project.hpp>
#include <fabricost/plan/answers/goodput.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/serve.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

struct NeedRequest : PlanRequest {
  std::string unknown, over, within, share_of;
  std::optional<Time> step;
  std::optional<double> mfu, scaling, tokens;
  std::optional<Time> in;
  bool goodput = false, most = false;
  GoodputRequest failures{};  ///< the request for goodput, without GPUs
  static constexpr std::array<std::string_view, 3> by_place{"system", "model", "unknown"};

  static RequestTable<NeedRequest> fields();
};

namespace detail {
/// --goodput is a run's in the command: a share of requests is a percentile here.
inline constexpr std::array<std::string_view, 4> not_of_a_service{"--top,-k", "--pareto", "--goodput", "--measured-tpot"};
}  // namespace detail

struct NeedServeRequest : ServeRequest {
  std::string unknown, over;
  bool most = false;
  std::optional<double> tokens_per_second;
  static constexpr std::array<std::string_view, 3> by_place{"system", "model", "unknown"};

  static RequestTable<NeedServeRequest> fields();
};

/// One value of the unknown at which the forward question was asked.
struct NeedTried {
  double value = 0;
  bool holds = false;
  std::optional<double> measure{};
  std::string binds{}, trouble{};
  bool operator==(const NeedTried&) const = default;

  static AnswerTable<NeedTried> fields();
};

struct NeedAnswer {
  std::string unknown;
  std::optional<double> value;
  std::string unit;
  double worth = 1;  ///< SI units of one of the unit; 1: a count, or a parameter that a file declares
  std::optional<double> fast_value, slow_value, next_smaller, next_larger;
  std::string binding, goal, measured;
  std::optional<double> limit, measure, days_with_failures, rate_apart;
  bool satisfied = false, most = false;
  std::string reason;
  std::vector<NeedTried> tried;
  std::optional<PlannedLayout> layout;
  std::optional<PlannedDeployment> deployment;
  std::string beyond, stack_note;
  std::string title;       ///< the question in one line
  bool one_batch = false;  ///< training: of no other batch than the one given

  static AnswerTable<NeedAnswer> fields();
};

enum class BestMachine : unsigned char { cheapest, lowest_power, fewest_gpus, soonest };
inline constexpr std::array<std::string_view, 4> best_machine_names{"cheapest", "lowest_power", "fewest_gpus", "soonest"};
[[nodiscard]] constexpr std::string_view name(BestMachine b) { return best_machine_names[static_cast<std::size_t>(b)]; }
[[nodiscard]] constexpr auto words_of(BestMachine) { return EnumWords{best_machine_names, "a way to be best"}; }

struct NeedMachineRequest : ProjectRequest {
  std::string unknown = "machine";
  BestMachine by = BestMachine::cheapest;
  std::optional<Dollars> budget, capital;
  std::optional<double> megawatts;
  std::optional<int> racks;
  std::string delivered_by;

  static RequestTable<NeedMachineRequest> fields();
};

/// One machine of a choice.
struct NeedMachineTried {
  std::string value{};
  bool holds = false;
  std::optional<double> measure{};
  std::optional<int> gpus{};
  std::optional<Dollars> capital{};
  std::string binds{}, trouble{};
  bool unpriced = false;  ///< the trouble is that no price of it is known
  bool sure = true, ranked = true;
  bool operator==(const NeedMachineTried&) const = default;

  static AnswerTable<NeedMachineTried> fields();
};

struct NeedMachineAnswer {
  std::string unknown = "machine";
  std::optional<std::string> value;
  std::string unit;
  std::optional<std::string> fast_value, slow_value, next_smaller, next_larger;
  std::string binding, goal, measured;
  std::optional<double> measure;
  std::optional<ProjectedRun> run;
  bool satisfied = false;
  std::string reason;
  std::vector<NeedMachineTried> tried;
  std::optional<std::string> price_kind, price_instead, no_verdict;
  std::vector<std::string> unpriced;  ///< machines of the catalogue that were not asked, as no such price of them is known
  std::string title;  ///< the question in one line

  static AnswerTable<NeedMachineAnswer> fields();
};

/// \throws Refusal for a goal or an unknown that is missing or does not go with the rest; SpecError, RequestError as plan. Values at which
/// nothing can run are part of the answer.
[[nodiscard]] NeedAnswer answer(const NeedRequest& request);
[[nodiscard]] NeedAnswer answer(const NeedServeRequest& request);
/// If none is named, over all machines of the catalogue with a known price (by power, GPUs or time: with known power). \throws as a
/// project
[[nodiscard]] NeedMachineAnswer answer(const NeedMachineRequest& request);

}  // namespace fabricost::plan
