#pragma once
/// \file need.hpp
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
/// A machine with a dial turned is priced as `dial.` among its overrides prices it: with constants that are no longer measured on it.

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

namespace field {
template <class R>
inline constexpr auto ask_most = asks(&R::most, "most", "--most", "", "Find the largest value that is enough, not the least");
}  // namespace field

struct NeedRequest : PlanRequest {
  std::string unknown, over, within, share_of;
  std::optional<Time> step;
  std::optional<double> mfu, scaling, tokens;
  std::optional<Time> in;
  bool goodput = false, most = false;
  GoodputRequest failures{};  ///< the request for goodput, without GPUs
  static constexpr std::array<std::string_view, 3> by_place{"system", "model", "unknown"};

  static constexpr auto fields() {
    using R = NeedRequest;
    using enum Amount;
    return tables(
        Table{asks(&R::unknown, "unknown", "UNKNOWN", " ",
                   "The quantity to find: gpus, nodes, batch, sequence, domain,\nnic.bandwidth, nic.count, scale_up.bandwidth, hbm.bandwidth,\nhbm.size, "
                   "arithmetic; a parameter or a path of the machine's\nfile; an option that takes a number",
                   true)},
        fields_without<PlanRequest, not_of_a_search>(),
        Table{asks(&R::over, "over", "--over", "VALUES", "Values to choose from: \"25:400:x2GB/s per direction\", 8,16,36,72;\ndefault a wide range"),
              field::ask_most<R>,
              asks(&R::within, "within", "--within", "SHARE", "Goal: a step within 3% of the one with no limit on the quantity"),
              asks(&R::step, "step_seconds", "--step", seconds, some_time, "TIME", "Goal: the longest step, as in 8s"),
              asks(&R::mfu, "mfu", "--mfu", share, some_share, "X", "Goal: the least model FLOPs utilization, as in 0.4"),
              asks(&R::scaling, "scaling", "--scaling", share, some_share, "SHARE",
                   "Goal: the least share of the tokens per GPU that the smallest\nvalue gives, as in 50%"),
              asks(&R::share_of, "share_of", "--for", "TERM below X%",
                   "Goal: a term's largest share of the step, as in \"expert below 10%\""),
              asks(&R::tokens, "tokens", "--tokens", large_count, {1, 1e18}, "N", "Goal, with <in_seconds>: tokens to train on, as in 15T"),
              asks(&R::in, "in_seconds", "--in", seconds, some_time, "TIME", "Goal, with <tokens>: the longest run, as in 60d"),
              asks(&R::goodput, "goodput", "--goodput", "", "Count failures and checkpoints; needs <in_seconds>")});
  }
};

namespace detail {
/// --goodput is a run's in the command: a share of requests is a percentile here.
inline constexpr std::array<std::string_view, 3> not_of_a_service{"--top,-k", "--pareto", "--goodput"};
}  // namespace detail

struct NeedServeRequest : ServeRequest {
  std::string unknown, over;
  bool most = false;
  std::optional<double> tokens_per_second;
  static constexpr std::array<std::string_view, 3> by_place{"system", "model", "unknown"};

  static constexpr auto fields() {
    using R = NeedServeRequest;
    using enum Amount;
    return tables(
        Table{asks(&R::unknown, "unknown", "UNKNOWN", " ", "The quantity to find: as for training, without batch and sequence", true)},
        fields_without<ServeRequest, detail::not_of_a_service>(),
        Table{asks(&R::over, "over", "--over", "VALUES", "Values to choose from: \"25:400:x2GB/s per direction\", 8,16,36,72;\ndefault a wide range"),
              field::ask_most<R>,
              asks(&R::tokens_per_second, "tokens_per_second", "--tokens-per-second", number, {1e-6, 1e18}, "X",
                   "Goal: answered tokens per second of all GPUs together; with\n<request_rate> or <requests> the goal is to serve those")});
  }
};

/// One value of the unknown at which the forward question was asked.
struct NeedTried {
  double value = 0;
  bool holds = false;
  std::optional<double> measure{};
  std::string binds{}, trouble{};
  bool operator==(const NeedTried&) const = default;

  static constexpr auto fields() {
    using A = NeedTried;
    return Table{gives(&A::value, "value", "value", "Of the unknown, in the answer's unit."),
                 gives(&A::holds, "holds", "holds", "Whether it meets the goal as predicted."),
                 gives(&A::measure, "measure", "measure", "What the goal is about, in the goal's unit; None: nothing can run.", 1, true),
                 gives(&A::binds, "binds", "binds", "What takes most besides computing, in words; where nothing can run, whether memory or the limits forbid it.", 1, true),
                 names_fields(gives(&A::trouble, "trouble", "trouble", "Why nothing can run; empty: something can.", 1, true))};
  }
};

struct NeedAnswer {
  std::string unknown;
  std::optional<double> value;
  std::string unit;
  double worth = 1;  ///< SI units of one of the unit; 1: a count, or a dial that a file declares
  std::optional<double> fast_value, slow_value, next_smaller, next_larger;
  std::string binding, goal, measured;
  std::optional<double> limit, measure;
  bool satisfied = false, most = false;
  std::string reason;
  std::vector<NeedTried> tried;
  std::optional<PlannedLayout> layout;
  std::optional<PlannedDeployment> deployment;
  std::string beyond;  ///< what else of the machine the value asks for
  std::string title;   ///< the question in one line

  static constexpr auto fields() {
    using A = NeedAnswer;
    return Table{gives(&A::unknown, "unknown", "unknown", "What was asked for."),
                 gives(&A::value, "answer.value", "value", "The least value that meets the goal, or the largest; None: none does."),
                 gives(&A::unit, "answer.unit", "unit", "Of the values; empty: a count."),
                 gives(&A::fast_value, "interval[]", "fast_value", "The value where the prediction's fast end meets the goal; None: none."),
                 gives(&A::slow_value, "interval[]", "slow_value", "The same for its slow end."),
                 gives(&A::next_smaller, "next_smaller", "next_smaller", "The next smaller value that was tried; None: there is none."),
                 gives(&A::next_larger, "next_larger", "next_larger", "The next larger one."),
                 names_fields(gives(&A::binding, "binding", "binding", "What takes most besides computing where the goal just fails, in words.")),
                 gives(&A::most, "most", "most", "Whether the largest value was asked for, not the least.", 1, true),
                 gives(&A::goal, "goal", "goal", "The goal in words."),
                 gives(&A::measured, "measured", "measured", "What the goal is about, with its unit."),
                 gives(&A::limit, "limit", "limit", "The goal's number, in that unit."),
                 gives(&A::measure, "measure", "measure", "The same as predicted at the answer."),
                 gives(&A::layout, "at", "layout", "Training: the forward answer there, a TrainingPlan.", 1, true),
                 gives(&A::deployment, "at", "deployment", "Serving: the forward answer there, a ServingPlan.", 1, true),
                 gives(&A::satisfied, "satisfied", "satisfied", "Whether a value meets the goal."),
                 names_fields(gives(&A::reason, "reason", "reason", "Why none does, and what comes nearest; empty: one does.")),
                 gives(&A::beyond, "beyond", "beyond", "What else of the machine would have to be faster for the value; empty: nothing."),
                 gives(&A::tried, "tried", "tried", "Every value at which the forward question was asked, ascending.")};
  }
};

enum class BestMachine : unsigned char { cheapest, lowest_power, fewest_gpus, soonest };
inline constexpr std::array<std::string_view, 4> best_machine_names{"cheapest", "lowest_power", "fewest_gpus", "soonest"};
[[nodiscard]] constexpr std::string_view name(BestMachine b) { return best_machine_names[static_cast<std::size_t>(b)]; }
[[nodiscard]] constexpr auto words_of(BestMachine) { return EnumWords{best_machine_names, "a way to be best"}; }

struct NeedMachineRequest : ProjectRequest {
  std::string unknown = "machine";
  BestMachine by = BestMachine::cheapest;
  std::optional<Dollars> budget;
  std::optional<double> megawatts;
  std::optional<int> racks;
  std::string delivered_by;

  static constexpr auto fields() {
    using R = NeedMachineRequest;
    using enum Amount;
    return tables(
        Table{asks(&R::unknown, "", "UNKNOWN", " ", "The word machine")}, ProjectRequest::fields(),
        Table{
            asks(&R::by, "by", "--by", "WORD", "Choice among machines within the limits: cheapest (default),\nlowest_power, fewest_gpus or soonest"),
            asks(&R::budget, "budget_dollars", "--budget", large_count, {1, 1e15}, "N", "Limit: USD of the run, as in 100M"),
            asks(&R::megawatts, "megawatts", "--megawatts", number, {1e-6, 1e6}, "X", "Limit: MW of the site"),
            asks(&R::racks, "racks", "--racks", count, any_count, "N", "Limit: racks of servers"),
            asks(&R::delivered_by, "delivered_by", "--delivered-by", "DAY", "Limit: when the machine can be had, as in 2027-Q1")});
  }
};

/// One machine of a choice.
struct NeedMachineTried {
  std::string value{};
  bool holds = false;
  std::optional<double> measure{};
  std::optional<int> gpus{};
  std::string binds{}, trouble{};
  bool operator==(const NeedMachineTried&) const = default;

  static constexpr auto fields() {
    using A = NeedMachineTried;
    return Table{gives(&A::value, "value", "value", "The machine."),
                 gives(&A::holds, "holds", "holds", "Whether its run keeps every limit."),
                 gives(&A::measure, "measure", "measure", "What machines are chosen by; None: not known.", 1, true),
                 gives(&A::gpus, "gpus", "gpus", "GPUs of its best run that keeps the limits, else of the one nearest to them.", 1, true),
                 gives(&A::binds, "binds", "binds", "The limits that its run breaks, in words; empty: none.", 1, true),
                 gives(&A::trouble, "trouble", "trouble", "Why it cannot do the job; empty: it can.", 1, true)};
  }
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
  std::string title;  ///< the question in one line

  static constexpr auto fields() {
    using A = NeedMachineAnswer;
    return Table{
        gives(&A::unknown, "unknown", "unknown", "machine."),
        gives(&A::value, "answer.value", "value", "The best machine whose run keeps every limit; None: none does."),
        gives(&A::unit, "answer.unit", "unit", "Empty."),
        gives(&A::fast_value, "interval[]", "fast_value", "The best where every run takes as little as its interval says; None: none."),
        gives(&A::slow_value, "interval[]", "slow_value", "The same where every run takes as much."),
        gives(&A::next_smaller, "next_smaller", "next_smaller",
              "The best of those that break a limit, where it would be better; None: none."),
        gives(&A::next_larger, "next_larger", "next_larger", "The next best that keeps them; None: there is none."),
        gives(&A::binding, "binding", "binding", "What next_smaller breaks; else what takes most besides computing, in words."),
        gives(&A::goal, "goal", "goal", "The limits in words."),
        gives(&A::measured, "measured", "measured", "What machines are chosen by, with its unit."),
        gives(&A::measure, "measure", "measure", "The same of the answer."),
        gives(&A::run, "at", "run", "The whole run there, a ProjectedRun.", 1, true),
        gives(&A::satisfied, "satisfied", "satisfied", "Whether a machine keeps every limit."),
        gives(&A::reason, "reason", "reason", "Why none does; empty: one does."),
        gives(&A::tried, "tried", "tried", "Every machine, best first.")};
  }
};

/// \throws Refusal for a goal or an unknown that is missing or does not go with the rest; SpecError, RequestError as plan. Values at which
/// nothing can run are part of the answer.
[[nodiscard]] NeedAnswer answer(const NeedRequest& request);
[[nodiscard]] NeedAnswer answer(const NeedServeRequest& request);
/// If none is named, over all machines of the catalogue with a known price (by power, GPUs or time: with known power). \throws as a
/// project
[[nodiscard]] NeedMachineAnswer answer(const NeedMachineRequest& request);

}  // namespace fabricost::plan
