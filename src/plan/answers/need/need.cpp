/// Asks the forward question over the unknown's values, and picks the least that meets the goal.

#include "answers/need/beyond.hpp"
#include "answers/need/goal.hpp"
#include "answers/need/runs.hpp"
#include "answers/need/search.hpp"
#include "answers/need/usual.hpp"
#include "answers/searched.hpp"
#include "answers/stack_note.hpp"
#include "answers/varied/varied.hpp"
#include "text/amounts.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/plan/economics/unmet.hpp>
#include <fabricost/plan/serving/arrivals/loaded.hpp>
#include <fabricost/progress.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <exception>
#include <memory>
#include <type_traits>

namespace fabricost::plan {

namespace field {
template <class R>
inline constexpr auto ask_most = asks(&R::most, "most", "--most", "", "Find the largest value that is enough, not the least");
}  // namespace field

RequestTable<NeedRequest> NeedRequest::fields() {
  using R = NeedRequest;
  using enum Amount;
  return {asks(&R::unknown, "unknown", "UNKNOWN", " ",
               "The quantity to find: gpus, nodes, batch, sequence, domain,\nnic.bandwidth, nic.count, scale_up.bandwidth, "
               "hbm.bandwidth,\nhbm.size, "
               "arithmetic; a parameter or a path of the machine's\nfile; an option that takes a number",
               true),
          PlanRequest::fields_of_search().not_needing({"gpus", "global_batch"}),
          asks(&R::over, "over", "--over", "VALUES",
               "Values to choose from: \"25:400:x2GB/s per direction\", 8,16,36,72;\ndefault a wide range"),
          field::ask_most<R>,
          asks(&R::within, "within", "--within", "SHARE", "Goal: a step within 3% of the one with no limit on the quantity"),
          asks(&R::step, "step_seconds", "--step", seconds, some_time, "TIME", "Goal: the longest step, as in 8s"),
          asks(&R::mfu, "mfu", "--mfu", share, some_share, "X", "Goal: the least model FLOPs utilization, as in 0.4"),
          asks(&R::scaling, "scaling", "--scaling", share, some_share, "SHARE",
               "Goal: the least share of the tokens per GPU that the smallest\nvalue gives, as in 50%"),
          asks(&R::share_of, "share_of", "--for", "TERM below X%", "Goal: a term's largest share of the step, as in \"expert below 10%\""),
          asks(&R::tokens, "tokens", "--tokens", large_count, {1, 1e18}, "N", "Goal, with <in_seconds>: tokens to train on, as in 15T"),
          asks(&R::in, "in_seconds", "--in", seconds, some_time, "TIME", "Goal, with <tokens>: the longest run, as in 60d"),
          asks(&R::goodput, "goodput", "--goodput", "", "Count failures and checkpoints; needs <in_seconds>")};
}

RequestTable<NeedServeRequest> NeedServeRequest::fields() {
  using R = NeedServeRequest;
  using enum Amount;
  return {asks(&R::unknown, "unknown", "UNKNOWN", " ", "The quantity to find: as for training, without batch and sequence", true),
          ServeRequest::fields().without(detail::not_of_a_service).not_needing({"gpus"}),
          asks(&R::over, "over", "--over", "VALUES",
               "Values to choose from: \"25:400:x2GB/s per direction\", 8,16,36,72;\ndefault a wide range"),
          field::ask_most<R>,
          asks(&R::tokens_per_second, "tokens_per_second", "--tokens-per-second", large_count, {1e-6, 1e18}, "X",
               "Goal: answered tokens per second of all GPUs together; with\n<request_rate> or <requests> the goal is to serve those")};
}

AnswerTable<NeedTried> NeedTried::fields() {
  using A = NeedTried;
  return {gives(&A::value, "value", "value", "Of the unknown, in the answer's unit."),
          gives(&A::holds, "holds", "holds", "Whether it meets the goal as predicted."),
          gives(&A::measure, "measure", "measure", "What the goal is about, in the goal's unit; None: nothing can run.", 1, true),
          gives(&A::binds, "binds", "binds",
                "What takes most besides computing, in words; where nothing can run, whether memory or the limits forbid it.", 1, true),
          names_fields(gives(&A::trouble, "trouble", "trouble", "Why nothing can run; empty: something can.", 1, true))};
}

AnswerTable<NeedAnswer> NeedAnswer::fields() {
  using A = NeedAnswer;
  return {gives(&A::unknown, "unknown", "unknown", "What was asked for."),
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
          gives(&A::days_with_failures, "days_with_failures", "days_with_failures",
                "Training of a run, where failures were left out: its days with them; None: no run, or they are counted.", 1, true),
          gives(&A::rate_apart, "requests_per_s_apart", "requests_per_second_apart",
                "GPUs for requests that arrive: requests/s that as many keep the limits at with prompts on GPUs of their own, where it is a tenth "
                "more; None: it is not.", 1, true),
          gives(&A::layout, "at", "layout", "Training: the forward answer there, a TrainingPlan.", 1, true),
          gives(&A::deployment, "at", "deployment", "Serving: the forward answer there, a ServingPlan.", 1, true),
          gives(&A::satisfied, "satisfied", "satisfied", "Whether a value meets the goal."),
          names_fields(gives(&A::reason, "reason", "reason", "Why none does, and what comes nearest; empty: one does.")),
          field::give_stack_note<A>,
          gives(&A::beyond, "beyond", "beyond", "What else of the machine would have to be faster for the value; empty: nothing."),
          gives(&A::tried, "tried", "tried", "Every value at which the forward question was asked, ascending.")};
}

RequestTable<NeedMachineRequest> NeedMachineRequest::fields() {
  using R = NeedMachineRequest;
  using enum Amount;
  return {asks(&R::unknown, "", "UNKNOWN", " ", "The word machine"),
          ProjectRequest::fields(),
          asks(&R::by, "by", "--by", "WORD",
               "Choice among machines within the limits: cheapest (default),\nlowest_power, fewest_gpus or soonest"),
          asks(&R::budget, "budget_dollars", "--budget", large_count, {1, 1e15}, "N", "Limit: USD of the run, as in 100M; of owned machines what they\nlose in worth and use in that time"),
          asks(&R::capital, "capital_dollars", "--capital", large_count, {1, 1e15}, "N",
               "Limit: USD to buy servers, network and storage, as in 600M"),
          asks(&R::megawatts, "megawatts", "--megawatts", number, {1e-6, 1e6}, "X", "Limit: MW of the site"),
          asks(&R::racks, "racks", "--racks", count, any_count, "N", "Limit: racks of servers"),
          asks(&R::delivered_by, "delivered_by", "--delivered-by", "DAY", "Limit: when the machine can be had, as in 2027-Q1")};
}

AnswerTable<NeedMachineTried> NeedMachineTried::fields() {
  using A = NeedMachineTried;
  return {gives(&A::value, "value", "value", "The machine."),
          gives(&A::holds, "holds", "holds", "Whether its run meets every limit."),
          gives(&A::sure, "sure", "sure", "Whether it does, or does not, at both ends of the ranges."),
          gives(&A::ranked, "ranked", "ranked", "Whether it can be ranked beside the others, of which what kernels reach was measured."),
          gives(&A::measure, "measure", "measure", "What machines are chosen by; None: not known.", 1, true),
          gives(&A::gpus, "gpus", "gpus", "GPUs of its best run that meets the limits, else of the one nearest to them.", 1, true),
          gives(&A::capital, "capital_usd", "capital_dollars", "To buy servers, network and storage, USD; None: not known.", 1, true),
          gives(&A::binds, "binds", "binds", "The limits that its run breaks, in words; empty: none.", 1, true),
          gives(&A::trouble, "trouble", "trouble", "Why it cannot do the job; empty: it can.", 1, true)};
}

AnswerTable<NeedMachineAnswer> NeedMachineAnswer::fields() {
  using A = NeedMachineAnswer;
  return {gives(&A::unknown, "unknown", "unknown", "machine."),
          gives(&A::value, "answer.value", "value", "The best machine whose run meets every limit; None: none does."),
          gives(&A::unit, "answer.unit", "unit", "Empty."),
          gives(&A::fast_value, "interval[]", "fast_value", "The best where every run takes as little as its interval says; None: none."),
          gives(&A::slow_value, "interval[]", "slow_value", "The same where every run takes as much."),
          gives(&A::next_smaller, "next_smaller", "next_smaller",
                "The best of those that break a limit, where it would be better; None: none."),
          gives(&A::next_larger, "next_larger", "next_larger", "The next best that meets them; None: there is none."),
          gives(&A::binding, "binding", "binding", "What next_smaller breaks; else what takes most besides computing, in words."),
          gives(&A::goal, "goal", "goal", "The limits in words."),
          gives(&A::measured, "measured", "measured", "What machines are chosen by, with its unit."),
          gives(&A::measure, "measure", "measure", "The same of the answer."),
          gives(&A::price_kind, "price.kind", "price_kind",
                "By which machines are priced: on_demand, reserved or owned; None: none is known of any."),
          gives(&A::price_instead, "price.instead", "", "Why it is not an earlier kind; None: it is the first, or was asked for."),
          gives(&A::no_verdict, "why", "no_verdict", "Why no machine is chosen, where they cannot be ranked; None: they can."),
          gives(&A::run, "at", "run", "The whole run there, a ProjectedRun.", 1, true),
          gives(&A::satisfied, "satisfied", "satisfied", "Whether a machine meets every limit."),
          gives(&A::reason, "reason", "reason", "Why none does; empty: one does."),
          gives(&A::unpriced, "unpriced", "unpriced", "Machines of the catalogue that were not asked, as no such price of them is known."),
          gives(&A::tried, "tried", "tried", "Every machine, best first.")};
}

namespace need {
namespace {

using varied::Kind;
using varied::Varied;

/// "8 idle; exchange of experts, 23 %".
[[nodiscard]] std::string binds_words(const Outcome& o) {
  return (o.idle > 0 ? fmt::format("{} idle; ", o.idle) : "") + takes_most(o.terms, units::s(o.seconds));
}

template <class S>
void describe_tried(NeedAnswer& out, S& search, const Goal& goal) {
  for (const auto& [value, itself] : search.all()) {
    const auto& one = search.at(value);
    NeedTried row{.value = value, .holds = search.holds(value), .trouble = one.trouble};
    if (one.trouble.empty()) {
      row.measure = goal.of(one.outcome, End::predicted);
      row.binds = binds_words(one.outcome);
    } else if (one.unmet) {
      row.binds = *one.unmet == Unmet::memory ? "does not fit into memory" : "answers too few, or too late";
    }
    out.tried.push_back(std::move(row));
  }
}

[[nodiscard]] std::string number_text(double x) { return x == std::floor(x) ? fmt::format("{:.0f}", x) : fmt::format("{:.6g}", x); }

/// Why nothing can run at the least value, and at the largest where that is another reason: "at 8: ...; at 1048576: ...".
[[nodiscard]] std::string troubles_of(const NeedAnswer& out) {
  const NeedTried &first = out.tried.front(), &last = out.tried.back();
  const std::string at_first = fmt::format("at {}: {}", number_text(first.value), first.trouble);
  return without_numbers(first.trouble) == without_numbers(last.trouble)
             ? at_first
             : fmt::format("{}; at {}: {}", at_first, number_text(last.value), last.trouble);
}

/// The reason where no value holds.
void say_why(NeedAnswer& out, const Goal& goal) {
  const NeedTried* nearest = nullptr;
  for (const NeedTried& one : out.tried)
    if (one.measure && (nearest == nullptr || (goal.at_least ? *one.measure > *nearest->measure : *one.measure < *nearest->measure)))
      nearest = &one;
  if (nearest == nullptr) {
    out.reason = out.tried.empty() ? "there is no value to try" : "nothing can run: " + troubles_of(out);
    return;
  }
  out.reason = fmt::format("none from {} to {} {} is enough; {} comes nearest, with {:.4g} ({}; wanted {} {:.4g}); there takes most: {}",
                           number_text(out.tried.front().value), number_text(out.tried.back().value), out.unit.empty() ? out.unknown : out.unit,
                           number_text(nearest->value), *nearest->measure, goal.measured, goal.at_least ? "at least" : "at most", goal.limit,
                           nearest->binds);
  out.binding = nearest->binds;
}

/// The fields of a question beyond those of the forward one.
struct NeedQuestion {
  Varied unknown;
  Goal goal;
  std::vector<double> values;  ///< in the unknown's unit
  bool refine = false;         ///< they are a range of ours, not the user's
  bool most = false;
  double unit = 1;           ///< between counts of the range multiples of it are asked for
  bool least_alone = false;  ///< of larger values nothing is asked
  bool edge_alone = false;   ///< of the values tried only the edge is wanted
  double above = 0;          ///< no value below it can hold
  double without_bound = 0;
};

/// The forward answer that ratios are of: with infinitely much of the unknown, or at the least value at which anything can run. Why there
/// is none; empty: there is.
template <class Plan, class Ask>
[[nodiscard]] std::string take_reference(NeedQuestion& q, Search<Plan, Ask>& search, const Ask& ask) {
  if (q.goal.against == Against::unbounded) {
    const At<Plan> reference = ask(q.without_bound);
    if (!reference.trouble.empty()) return "even with no limit on it nothing can run: " + reference.trouble;
    q.goal.reference = reference.outcome;
  } else if (q.goal.against == Against::least) {
    const auto runs = std::find_if(q.values.begin(), q.values.end(), [&](double value) { return search.at(value).trouble.empty(); });
    if (runs == q.values.end()) return fmt::format("nothing can run: at {}: {}", number_text(q.values.front()), search.at(q.values.front()).trouble);
    q.goal.reference = search.at(*runs).outcome;
  }
  return "";
}

/// \throws the RequestError by which every value of the unknown is refused alike: a wrong value of another field
template <class S>
void refuse_what_no_value_changes(S& search) {
  const auto& first = search.at(search.all().begin()->first);
  if (!first.refused) return;
  for (const auto& [value, itself] : search.all())
    if (!search.at(value).refused || search.at(value).trouble != first.trouble) return;
  std::rethrow_exception(first.refused);
}

template <class Plan, class Ask>
[[nodiscard]] NeedAnswer found(NeedQuestion q, std::optional<Plan> NeedAnswer::*at, const Ask& ask) {
  NeedAnswer out;
  out.unknown = q.unknown.name;
  out.unit = q.unknown.unit;
  out.worth = q.unknown.worth;
  out.most = q.most;
  out.goal = q.goal.words;
  out.measured = q.goal.measured;
  out.limit = q.goal.limit;
  const bool steps = (q.unknown.kind == Kind::option && !q.unknown.whole) || q.unknown.parameter == DesignParameter::domain ||
                     q.unknown.parameter == DesignParameter::nic_count || !q.unknown.values.empty();
  Search<Plan, Ask> search{q.unknown, q.goal, q.most, q.refine && !steps, q.unit, q.least_alone, q.edge_alone, q.above, ask};
  const auto ask_for_all = [&] { search.ask_at(q.values, true); };  // all of them: it need not be monotone
  if (q.goal.against == Against::least) ask_for_all();
  out.reason = take_reference(q, search, ask);
  if (!out.reason.empty()) {
    if (!search.all().empty()) refuse_what_no_value_changes(search);
    return out;
  }
  if (!q.least_alone) ask_for_all();
  out.value = search.edge(q.values, End::predicted);
  refuse_what_no_value_changes(search);
  out.fast_value = search.edge(q.values, End::fast);
  out.slow_value = search.edge(q.values, End::slow);
  out.satisfied = out.value.has_value();
  for (const auto& [value, itself] : search.all())  // refining may have come across a better one
    if (out.satisfied && search.holds(value) && search.better(value, *out.value)) out.value = value;
  if (q.edge_alone && out.satisfied) return out;
  if (q.least_alone && out.value)  // what one more of it gives
    if (const auto next = std::upper_bound(q.values.begin(), q.values.end(), *out.value); next != q.values.end()) static_cast<void>(search.at(*next));
  describe_tried(out, search, q.goal);
  if (!out.satisfied) {
    say_why(out, q.goal);
    return out;
  }
  const auto here = search.all().find(*out.value), after = std::next(here);
  const auto& found_there = search.at(*out.value);
  const auto binds = [](const At<Plan>& one) { return one.trouble.empty() ? binds_words(one.outcome) : one.trouble; };
  if (here != search.all().begin()) out.next_smaller = std::prev(here)->first;
  if (after != search.all().end()) out.next_larger = after->first;
  if (q.most ? out.next_larger.has_value() : out.next_smaller.has_value())
    out.binding = binds(search.at(q.most ? after->first : std::prev(here)->first));
  else
    out.binding = binds(found_there);
  out.measure = q.goal.of(found_there.outcome, End::predicted);
  out.*at = found_there.plan;
  out.stack_note = found_there.stack_note;
  return out;
}

/// A machine with no parameter changed, and its request: to turn it, it is read again with the parameter among its overrides. A System that
/// was not read from a file keeps its constants; only its parameters can be turned.
struct Unturned {
  Machine origin;
  KernelSets kernels;
  std::shared_ptr<const System> system;

  [[nodiscard]] std::shared_ptr<const System> with(const Varied& unknown, double value) const {
    if (origin.name.empty()) {
      if (unknown.parameter) return std::make_shared<const System>(with_parameter(*system, *unknown.parameter, value * unknown.worth));
      throw Refusal(fmt::format("<unknown>: {} needs a machine by name, this one is made already", unknown.name));
    }
    std::vector<std::string> overrides = origin.overrides;
    overrides.push_back(varied::override_of(unknown, value));
    return std::make_shared<const System>(load_system(origin.name, overrides, origin.calibration, kernels));
  }
};

/// The question that is asked at each value.
template <class Request>
using Forward = std::conditional_t<std::same_as<Request, NeedRequest>, PlanRequest, ServeRequest>;

/// Puts a value into a request.
template <class Request>
void put(Request& r, const Varied& unknown, const Unturned& machine, double value) {
  const int count = static_cast<int>(value);
  switch (unknown.kind) {
    case Kind::gpus: r.gpus = count; break;
    case Kind::nodes: r.gpus = count * machine.system->gpus_per_node; break;
    case Kind::batch:  // NOLINT(bugprone-branch-clone): a request without either field has the same empty branch
      if constexpr (requires { r.global_batch; }) r.global_batch = count;
      break;
    case Kind::sequence:
      if constexpr (requires { r.sequence; }) r.sequence = count;
      break;
    case Kind::option: varied::put_option<Forward<Request>>(r, unknown.name, varied::written(unknown, value), "over"); break;
    default: r.system.value = machine.with(unknown, value);
  }
}

template <class Request>
[[nodiscard]] std::vector<double> candidates(const Request& r, Varied& unknown, const System& machine, bool parts) {
  std::vector<double> out =
      r.over.empty() ? usual_values(unknown, machine, r.gpus, parts) : varied::values_of(r.over, unknown, "over").numbers;
  if (unknown.words) throw Refusal(fmt::format("<unknown>: {} takes names, and names have no least; vary it in explore", unknown.name));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// The value beyond which more changes nothing. \throws Refusal where there is no such value
template <class Request>
[[nodiscard]] double without_bound(const Request& r, const Varied& unknown, const System& machine) {
  constexpr double much = 1e4, max_value = 9e14;  // below the limit of quantities in files, 10^15
  if (!unknown.parameter)
    throw Refusal(
        fmt::format("<within> compares with infinitely much of a part of the machine, which {} is not; give another goal", unknown.name));
  if (!unknown.whole) return std::min(much * value_of(machine, *unknown.parameter), max_value) / unknown.worth;
  return unknown.parameter == DesignParameter::domain ? r.gpus.value_or(0) : 1024;
}

/// The request's own counts may not be given beside the unknown.
template <class Request>
void refuse_given(const Request& r, const Varied& unknown) {
  const bool gpus = unknown.kind == Kind::gpus || unknown.kind == Kind::nodes;
  if (gpus && r.gpus) throw Refusal("<gpus> are asked for; leave them out");
  if constexpr (requires { r.global_batch; })
    if (unknown.kind == Kind::batch && r.global_batch) throw Refusal("<global_batch> is asked for; leave it out");
}

/// Machine and model are read once. \param kernels that the forward question needs
template <class Request>
[[nodiscard]] Unturned loaded(KernelSets kernels, Request& r) {
  if (!r.system) throw Refusal("on which machine? Name it with <system> (fabricost machine lists them)", true);
  if (!r.model) throw Refusal("which model? Name it with <model> (fabricost model lists them)", true);
  Unturned out{r.system, kernels, r.system.get(r.overrides, kernels, r.calibration)};
  if (!r.system.value) {  // else it contains its own, and no others are taken
    out.origin.overrides.insert(out.origin.overrides.end(), r.overrides.begin(), r.overrides.end());
    if (!r.calibration.empty()) out.origin.calibration = r.calibration;
  }
  r.system.value = out.system;
  r.overrides.clear();
  r.calibration.clear();
  r.model.value = std::make_shared<const Model>(r.model.load());
  r.top = 1;
  return out;
}

/// \param asked the forward question with a value put in
template <class Plan, class Request, class Answered>
[[nodiscard]] At<Plan> asked_at(const Request& r, const Varied& unknown, const Unturned& machine, double value, Answered&& answered) {
  At<Plan> out;
  Request one = r;
  try {
    put(one, unknown, machine, value);
    answered(one, out);
  } catch (const UnmetError& error) {
    out.trouble = error.text();
    out.unmet = error.why();
  } catch (const Refusal& error) {
    out.trouble = error.text();
    out.refused = std::current_exception();
  } catch (const RequestError& error) {
    out.trouble = error.what();
    out.refused = std::current_exception();
  }
  if (const auto line = out.trouble.find('\n'); line != std::string::npos) out.trouble.resize(line);
  return out;
}

/// The least value: steps common to both questions. \param prepare (request, machine) reads fields of one question only \param answered
/// (request with a value put in, At<Plan>& out) \param above no value up to this one can hold, and the least alone is wanted
template <class Plan, class Request, class Prepare, class Answered>
[[nodiscard]] NeedAnswer least_of(const Request& request, bool serving, KernelSets kernels, std::optional<Plan> NeedAnswer::*at,
                                  const Prepare& prepare, const Answered& answered, std::optional<double> above = {}) {
  const std::vector<std::string> machines = request.system.name.empty() ? std::vector<std::string>{} : std::vector{request.system.name};
  NeedQuestion q{
      .unknown = varied::named(
          request.unknown,
          {.serving = serving, .options = varied::options_of(fields_of<Forward<Request>>()), .declared = varied::declared_by(machines)},
          "unknown"),
      .goal = goal_of(request),
      .values = {},
      .refine = request.over.empty(),
      .most = request.most};
  refuse_given(request, q.unknown);
  check_ranges(request);
  Request r = request;
  const Unturned unturned = loaded(kernels, r);
  const auto& machine = unturned.system;
  prepare(r, *machine);
  if (!r.gpus && q.unknown.kind != Kind::gpus && q.unknown.kind != Kind::nodes) throw Refusal("on how many GPUs? Give <gpus>", true);
  if constexpr (requires { r.global_batch; })
    if (!r.global_batch && q.unknown.kind != Kind::batch) throw Refusal("how many sequences a step? Give <global_batch>", true);
  if (q.goal.against == Against::unbounded) q.without_bound = without_bound(r, q.unknown, *machine);
  q.values = candidates(r, q.unknown, *machine, !above);
  if (q.unknown.kind == Kind::gpus && !serving) q.unit = machine->gpus_per_node;  // above a node: a service may leave some of a node idle
  if (q.unknown.kind == Kind::sequence) q.unit = q.values.front();
  const bool simulated = [&] {
    if constexpr (requires { r.request_rate; }) return (r.request_rate || !r.requests.empty()) && !q.most;
    return false;
  }();
  q.least_alone = simulated || above.has_value();
  q.edge_alone = above.has_value();
  q.above = above.value_or(0);
  if (q.unknown.read_anew() && q.unknown.kind != Kind::option)
    static_cast<void>(unturned.with(q.unknown, q.values.front()));  // refuses what cannot stand there
  const auto ask = [&, unknown = q.unknown](double value) {
    return asked_at<Plan>(r, unknown, unturned, value, [&](const Request& one, At<Plan>& out) { answered(one, *machine, out); });
  };
  const Varied unknown = q.unknown;
  NeedAnswer out = found<Plan>(std::move(q), at, ask);
  if (out.value && unknown.parameter) out.beyond = beyond_of(*machine, unknown.parameter, *out.value * unknown.worth);
  out.title = fmt::format("{} on {}", r.model.value->name, machine->name);
  return out;
}

}  // namespace
}  // namespace need

namespace {

/// The share of its time that failures and checkpoints leave a run.
[[nodiscard]] double goodput_of(const NeedRequest& r, const PlannedLayout& layout, const System& machine) {
  GoodputRequest failing = r.failures;
  failing.gpus = layout.used_gpus;
  failing.gpus_per_node = machine.gpus_per_node;
  return answer(failing).goodput;
}

[[nodiscard]] NeedAnswer trained(const NeedRequest& request, std::optional<double> above) {
  const auto with_stack = [](NeedRequest& r, const System& machine) {
    r.stack = stack_on(r.stack, machine);
    r.plain_within = 0;
    r.wanted.within_given = r.unknown == "gpus" || r.unknown == "nodes";
  };
  const auto train = [](const NeedRequest& r, const System& machine, need::At<PlannedLayout>& out) {
    const PlanAnswer plan = searched(r);
    out.stack_note = stack_note(plan.found->question.stack, plan.found->system);
    const PlannedLayout& best = plan.layouts.front();
    if (!best.fits) throw UnmetError(Unmet::memory, plan.advice);
    out.outcome = {.seconds = best.step.value(),
                   .low = best.interval.first.value(),
                   .high = best.interval.second.value(),
                   .exposed = best.exposed_communication.value(),
                   .rate = best.mfu,
                   .per_gpu = best.tokens_per_second_per_gpu,
                   .idle = best.gpus - best.used_gpus,
                   .needed = machine.pod > 0 ? best.gpus : best.needed_gpus,  // fewer chips get a slice with other links
                   .terms = best.terms};
    if (r.tokens) out.outcome.steps = *r.tokens / (static_cast<double>(best.global_batch) * best.sequence);
    if (r.goodput) out.outcome.kept = goodput_of(r, best, machine);
    out.plan = best;
  };
  return need::least_of<PlannedLayout>(request, false, {.compute = true, .custom = request.symmetric, .moe = false}, &NeedAnswer::layout,
                                       with_stack, train, above);
}

}  // namespace

NeedAnswer answer(const NeedRequest& request) {
  NeedAnswer out = trained(request, {});
  out.one_batch = !(request.batch_within > 0) && (out.unknown == "gpus" || out.unknown == "nodes");
  if (request.in && !request.goodput && out.measure && out.layout)
    out.days_with_failures =
        *out.measure / goodput_of(request, *out.layout, *request.system.get(request.overrides, KernelSets::none(), request.calibration));
  return out;
}

NeedAnswer least_above(const NeedRequest& request, double above) { return trained(request, above); }

namespace {

/// ", prompts of 4096 and answers of 512 tokens, TTFT 1 s TPOT 30 ms at the 99th percentile, vllm", as far as they are given.
[[nodiscard]] std::string asked_of(const NeedServeRequest& r) {
  std::string out = r.requests.empty() ? fmt::format(", prompts of {} and answers of {} tokens", r.isl, r.osl) : "";
  if (r.ttft || r.tpot) out += ",";
  if (r.ttft) out += " TTFT " + given_time_text(*r.ttft);
  if (r.tpot) out += " TPOT " + given_time_text(*r.tpot);
  if ((r.ttft || r.tpot) && (r.request_rate || !r.requests.empty()))
    out += r.goodput ? fmt::format(" for {:.4g} % of requests", 100 * *r.goodput) : fmt::format(" at the {:g}th percentile", r.percentile.value_or(LoadQuestion{}.percentile));
  return out + ", " + r.stack;
}

/// Requests per second that keep the limits on as many GPUs with prompts on GPUs of their own; none where that is no tenth more.
[[nodiscard]] std::optional<double> rate_apart(const NeedServeRequest& r, int gpus, const PlannedDeployment& together) {
  constexpr double worth_saying = 1.1;
  ServeRequest apart = r;
  apart.gpus = gpus;
  apart.disaggregated = true;
  apart.top = 1;
  try {
    const PlannedDeployment best = nearest_served(apart).layouts.front();
    if (best.arrivals && best.arrivals->rate_within && together.arrivals->rate_within &&
        *best.arrivals->rate_within > worth_saying * *together.arrivals->rate_within)
      return best.arrivals->rate_within;
  } catch (const RequestError&) {  // two kinds of workers do not fit
  }
  return {};
}

}  // namespace

NeedAnswer answer(const NeedServeRequest& request) {
  const auto serve = [](const NeedServeRequest& r, const System& machine, need::At<PlannedDeployment>& out) {
    check_size(machine, *r.gpus);
    const PlannedDeployment best = nearest_served(r).layouts.front();
    const bool one_token = !(best.tpot > Time{});
    const auto& [low, high] = one_token ? best.interval_ttft : best.interval_tpot;
    out.outcome = {.seconds = (one_token ? best.ttft : best.tpot).value(),
                   .low = low.value(),
                   .high = high.value(),
                   .rate = best.tokens_per_second,
                   .idle = best.idle_gpus,
                   .terms = best.terms};
    if (const auto& a = best.arrivals) {  // of a trace that keeps the limits at any speed, how much longer times may be
      const double spare = std::min(r.ttft && a->ttft.at_percentile > Time{} ? *r.ttft / a->ttft.at_percentile : 2.0,
                                    r.tpot && a->tpot.at_percentile > Time{} ? *r.tpot / a->tpot.at_percentile : 2.0);
      out.outcome.rate = a->rate_within ? *a->rate_within / a->asked : spare;
      if (a->keeps) out.outcome.rate = std::max(1.0, out.outcome.rate);
    }
    out.plan = best;
  };
  NeedAnswer out = need::least_of<PlannedDeployment>(
      request, true, {}, &NeedAnswer::deployment, [](const NeedServeRequest&, const System&) {}, serve);
  out.title += asked_of(request);
  if (out.unknown == "gpus" && out.satisfied && out.deployment && request.request_rate && !request.disaggregated)
    out.rate_apart = rate_apart(request, static_cast<int>(*out.value), *out.deployment);
  return out;
}

}  // namespace fabricost::plan
