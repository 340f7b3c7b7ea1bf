/// \file need.cpp
/// Asks the forward question over the unknown's values, and picks the least that meets the goal.

#include "answers/need/goal.hpp"
#include "answers/need/unknown.hpp"
#include "text/term_words.hpp"

#include <fabricost/economics/unmet.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

namespace fabricost {
namespace need {
namespace {

/// "exchange of experts, 23 %": the largest term besides arithmetic and the factor of the software around it.
[[nodiscard]] std::string binds_words(const Outcome& o) {
  StepTerm max;
  for (const StepTerm& t : o.terms)
    if (t.name != "compute" && t.name != "stack" && t.seconds > max.seconds) max = t;
  if (max.name.empty()) return "computing";
  return fmt::format("{}, {:.0f} %", io::term_words(max.name), 100 * max.seconds / o.seconds);
}

/// The forward answer at a value.
template <class Plan>
struct At {
  Outcome outcome;
  Plan plan{};
  std::string trouble{};  ///< why nothing can run; then the rest is empty
};

/// Rounded up to three digits, as a person would write it.
[[nodiscard]] double written(double value) {
  const double scale = std::pow(10.0, 2 - std::floor(std::log10(value)));
  return std::ceil(value * scale - 1e-9) / scale;
}

/// Every value that was asked at, with its answer. \tparam Ask At<Plan>(double value)
template <class Plan, class Ask>
class Search {
 public:
  Search(const Unknown& unknown, const Goal& goal, Ask ask) : unknown_(unknown), goal_(goal), ask_(std::move(ask)) {}

  const At<Plan>& at(double value) {
    const auto found = all_.find(value);
    return found != all_.end() ? found->second : all_.emplace(value, ask_(value)).first->second;
  }
  [[nodiscard]] bool holds(double value, End end = End::predicted) {
    const At<Plan>& one = at(value);
    return one.trouble.empty() && goal_.holds(one.outcome, end);
  }
  /// The least of `values` that holds, refined between it and the one before where `refine`; none: nothing.
  [[nodiscard]] std::optional<double> least(const std::vector<double>& values, End end, bool refine) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (holds(values[i], end)) return i > 0 && refine ? between(values[i - 1], values[i], end) : values[i];
    return std::nullopt;
  }
  [[nodiscard]] const std::map<double, At<Plan>>& all() const { return all_; }

 private:
  /// `low` fails, `high` holds.
  double between(double low, double high, End end) {
    if (unknown_.whole) return between_whole(low, high, end);
    while (high / low > 1.01) {
      const double middle = written(std::sqrt(low * high));
      if (!(middle > low && middle < high)) break;
      (holds(middle, end) ? high : low) = middle;
    }
    if (const double round = written(high); round > low && holds(round, end)) return round;
    return high;
  }
  /// Counts between two hold or fail by what divides them: seven of them, evenly apart, are all asked at, and again below the least that
  /// holds, until they are 1 % apart.
  double between_whole(double low, double high, End end) {
    constexpr int parts = 8;
    const double unit = all_.begin()->first;  // values come in multiples of the smallest
    for (;;) {
      const double step = std::max(1.0, std::floor((high - low) / parts / unit)) * unit, from = high;
      double least = high;
      for (double at = from - step; at > low; at -= step)
        if (holds(at, end)) least = at;
      low = std::max(low, least - step), high = least;
      if (step <= unit || step <= 0.01 * high) return high;
    }
  }

  const Unknown& unknown_;
  const Goal& goal_;
  Ask ask_;
  std::map<double, At<Plan>> all_;
};

template <class S>
void describe_tried(NeedAnswer& out, S& search, const Goal& goal) {
  for (const auto& [value, one] : search.all()) {
    NeedTried row{.value = value, .holds = search.holds(value), .trouble = one.trouble};
    if (one.trouble.empty()) row.measure = goal.of(one.outcome, End::predicted), row.binds = binds_words(one.outcome);
    out.tried.push_back(std::move(row));
  }
}

/// Where no value holds.
void say_why(NeedAnswer& out, const Goal& goal) {
  const NeedTried* nearest = nullptr;
  for (const NeedTried& one : out.tried)
    if (one.measure && (nearest == nullptr || (goal.at_least ? *one.measure > *nearest->measure : *one.measure < *nearest->measure)))
      nearest = &one;
  if (nearest == nullptr) {
    out.reason = out.tried.empty() ? "there is no value to try" : "nothing can run at any of the values: " + out.tried.back().trouble;
    return;
  }
  const auto number = [](double x) { return x == std::floor(x) ? fmt::format("{:.0f}", x) : fmt::format("{:.6g}", x); };
  out.reason = fmt::format("none from {} to {} {} is enough; {} comes nearest, with {:.4g} ({}; wanted {} {:.4g}); there takes most: {}",
                           number(out.tried.front().value), number(out.tried.back().value), out.unit.empty() ? out.unknown : out.unit,
                           number(nearest->value), *nearest->measure, goal.measured, goal.at_least ? "at least" : "at most", goal.limit,
                           nearest->binds);
  out.binding = nearest->binds;
}

/// \param values in the unknown's unit \param refine they are a range of ours, not the user's
template <class Plan, class Ask>
[[nodiscard]] NeedAnswer found(const Unknown& unknown, Goal goal, const std::vector<double>& values, bool refine, double without_bound,
                               std::optional<Plan> NeedAnswer::*at, Ask ask) {
  NeedAnswer out;
  out.unknown = unknown.name, out.unit = unknown.unit;
  out.goal = goal.words, out.measured = goal.measured, out.limit = goal.limit;
  if (goal.against_unbounded) {
    const At<Plan> reference = ask(without_bound);
    if (!reference.trouble.empty()) {
      out.reason = "with infinitely much of it nothing can run: " + reference.trouble;
      return out;
    }
    goal.reference = reference.outcome;
  }
  Search<Plan, Ask> search{unknown, goal, ask};
  for (const double value : values) static_cast<void>(search.at(value));  // all of them: it need not be monotone
  refine = refine && unknown.dial != Dial::domain && unknown.dial != Dial::nic_count;
  out.value = search.least(values, End::predicted, refine);
  out.fast_value = search.least(values, End::fast, refine);
  out.slow_value = search.least(values, End::slow, refine);
  describe_tried(out, search, goal);
  for (const NeedTried& one : out.tried)  // refining may have come across a smaller one
    if (one.holds && one.value < *out.value) out.value = one.value;
  out.satisfied = out.value.has_value();
  if (!out.satisfied) {
    say_why(out, goal);
    return out;
  }
  const auto here = search.all().find(*out.value);
  if (here != search.all().begin()) {
    const auto before = std::prev(here);
    out.next_smaller = before->first;
    out.binding = before->second.trouble.empty() ? binds_words(before->second.outcome) : before->second.trouble;
  } else {
    out.binding = binds_words(here->second.outcome);
  }
  if (const auto after = std::next(here); after != search.all().end()) out.next_larger = after->first;
  out.measure = goal.of(here->second.outcome, End::predicted);
  out.*at = here->second.plan;
  return out;
}

constexpr double most_gpus = 1 << 20, most_batch = 1 << 17, most_sequence = 1 << 20;

/// A machine with nothing turned, and how it was asked for: turned, it is read again, as with `dial.` among its overrides. A System that
/// was not read from a file keeps its constants.
struct Unturned {
  Machine origin;
  KernelSets kernels;
  std::shared_ptr<const System> system;

  [[nodiscard]] std::shared_ptr<const System> with(Dial dial, double value) const {
    if (origin.name.empty()) return std::make_shared<const System>(turned(*system, dial, value));
    std::vector<std::string> overrides = origin.overrides;
    overrides.push_back(override_of(dial, value));
    return std::make_shared<const System>(load_system(origin.name, overrides, origin.calibration, kernels));
  }
};

/// Puts a value into a request.
template <class Request>
void put(Request& r, const Unknown& unknown, const Unturned& machine, double value) {
  if (unknown.dial) {
    r.system.value = machine.with(*unknown.dial, value * unknown.worth);
    return;
  }
  const int count = static_cast<int>(value);
  switch (*unknown.count) {
    case JobCount::gpus: r.gpus = count; break;
    case JobCount::nodes: r.gpus = count * machine.system->gpus_per_node; break;
    case JobCount::batch:
      if constexpr (requires { r.global_batch; }) r.global_batch = count;
      break;
    case JobCount::sequence:
      if constexpr (requires { r.sequence; }) r.sequence = count;
      break;
  }
}

template <class Request>
[[nodiscard]] std::vector<double> candidates(const Request& r, const Unknown& unknown, const System& machine) {
  if (!r.over.empty()) return values_of(r.over, unknown);
  if (unknown.count == JobCount::gpus) return range_of(unknown, machine, most_gpus, machine.gpus_per_node);
  if (unknown.count == JobCount::nodes) return range_of(unknown, machine, most_gpus / machine.gpus_per_node, 1);
  if (unknown.count == JobCount::batch) return range_of(unknown, machine, most_batch, 1);
  if (unknown.count == JobCount::sequence) return range_of(unknown, machine, most_sequence, 256);
  if (unknown.dial == Dial::domain)
    return range_of(unknown, machine, std::min(4096.0, static_cast<double>(r.gpus.value_or(4096))),
                    machine.domain == machine.gpus_per_node ? 1 : machine.gpus_per_node);
  return range_of(unknown, machine, 128, 1);
}

/// So much that more of it changes nothing. \throws Refusal where there is no such value
template <class Request>
[[nodiscard]] double without_bound(const Request& r, const Unknown& unknown, const System& machine) {
  if (unknown.count) throw Refusal("<within> compares with infinitely much of a part of the machine; of a count, give another goal");
  return unbounded(unknown, machine, unknown.dial == Dial::domain ? r.gpus.value_or(0) : 1024);
}

/// The request's own counts may not be given beside the unknown.
template <class Request>
void refuse_given(const Request& r, const Unknown& unknown) {
  const bool gpus = unknown.count == JobCount::gpus || unknown.count == JobCount::nodes;
  if (gpus && r.gpus) throw Refusal("<gpus> are asked for; leave them out");
  if constexpr (requires { r.global_batch; })
    if (unknown.count == JobCount::batch && r.global_batch) throw Refusal("<global_batch> is asked for; leave it out");
}

/// Machine and model are read once. \param kernels that the forward question needs
template <class Request>
[[nodiscard]] Unturned loaded(Request& r, KernelSets kernels) {
  if (!r.system) throw Refusal("on which machine? Name it with <system> (fabricost systems lists them)", true);
  if (!r.model) throw Refusal("which model? Name it with <model> (fabricost models lists them)", true);
  Unturned out{r.system, kernels, r.system.get(r.overrides, kernels, r.calibration)};
  if (!r.system.value) {  // else it contains its own, and no others are taken
    out.origin.overrides.insert(out.origin.overrides.end(), r.overrides.begin(), r.overrides.end());
    if (!r.calibration.empty()) out.origin.calibration = r.calibration;
  }
  r.system.value = out.system;
  r.overrides.clear(), r.calibration.clear();
  r.model.value = std::make_shared<const Model>(r.model.load());
  r.top = 1;
  return out;
}

/// \param asked the forward question with a value put in
template <class Plan, class Request, class Answered>
[[nodiscard]] At<Plan> asked_at(const Request& r, const Unknown& unknown, const Unturned& machine, double value, Answered&& answered) {
  At<Plan> out;
  Request one = r;
  try {
    put(one, unknown, machine, value);
    answered(one, out);
  } catch (const RequestError& error) {
    out.trouble = error.what();
  }
  if (const auto line = out.trouble.find('\n'); line != std::string::npos) out.trouble.resize(line);
  return out;
}

/// The least value: what both questions share. \param prepare (request) reads what only one of them has \param answered
/// (request with a value put in, At<Plan>& out)
template <class Plan, class Request, class Prepare, class Answered>
[[nodiscard]] NeedAnswer least_of(const Request& request, bool serving, KernelSets kernels, std::optional<Plan> NeedAnswer::*at,
                                  const Prepare& prepare, const Answered& answered) {
  const Unknown& unknown = unknown_named(request.unknown, serving);
  refuse_given(request, unknown);
  check_ranges(request);
  const Goal goal = goal_of(request);
  Request r = request;
  const Unturned unturned = loaded(r, kernels);
  const auto& machine = unturned.system;
  prepare(r);
  if (!r.gpus && unknown.count != JobCount::gpus && unknown.count != JobCount::nodes)
    throw Refusal("on how many GPUs? Say it with <gpus>", true);
  if constexpr (requires { r.global_batch; })
    if (!r.global_batch && unknown.count != JobCount::batch) throw Refusal("how many sequences a step? Say it with <global_batch>", true);
  const double infinite = goal.against_unbounded ? without_bound(r, unknown, *machine) : 0;
  const auto ask = [&](double value) {
    return asked_at<Plan>(r, unknown, unturned, value, [&](const Request& one, At<Plan>& out) { answered(one, *machine, out); });
  };
  NeedAnswer out = found<Plan>(unknown, goal, candidates(r, unknown, *machine), r.over.empty(), infinite, at, ask);
  out.title = fmt::format("{} on {}", r.model.value->name, machine->name);
  return out;
}

}  // namespace
}  // namespace need

NeedAnswer answer(const NeedRequest& request) {
  const auto with_stack = [](NeedRequest& r) { r.stack.value = std::make_shared<const Stack>(r.stack.load()); };
  const auto train = [](const NeedRequest& r, const System& machine, need::At<PlannedLayout>& out) {
    const PlanAnswer plan = answer(static_cast<const PlanRequest&>(r));
    const PlannedLayout& best = plan.layouts.front();
    if (!best.fits) throw UnmetError(Unmet::memory, plan.advice);
    out.outcome = {.seconds = best.step_seconds,
                   .low = best.interval_seconds.first,
                   .high = best.interval_seconds.second,
                   .exposed = best.exposed_communication_seconds,
                   .rate = best.mfu,
                   .terms = best.terms};
    if (r.tokens) out.outcome.steps = *r.tokens / (static_cast<double>(best.global_batch) * best.sequence);
    if (r.goodput) {
      GoodputRequest failing = r.failures;
      failing.gpus = best.gpus, failing.gpus_per_node = machine.gpus_per_node;
      out.outcome.kept = answer(failing).goodput;
    }
    out.plan = best;
  };
  return need::least_of<PlannedLayout>(request, false, {.compute = true, .custom = request.symmetric, .moe = false}, &NeedAnswer::layout,
                                       with_stack, train);
}

NeedAnswer answer(const NeedServeRequest& request) {
  const auto serve = [](const NeedServeRequest& r, const System&, need::At<PlannedDeployment>& out) {
    const PlannedDeployment best = answer(static_cast<const ServeRequest&>(r)).layouts.front();
    const bool one_token = !(best.tpot_seconds > 0);
    const auto& [low, high] = one_token ? best.interval_ttft_seconds : best.interval_tpot_seconds;
    out.outcome = {.seconds = one_token ? best.ttft_seconds : best.tpot_seconds,
                   .low = low,
                   .high = high,
                   .rate = best.tokens_per_second,
                   .terms = best.terms};
    out.plan = best;
  };
  return need::least_of<PlannedDeployment>(
      request, true, {}, &NeedAnswer::deployment, [](const NeedServeRequest&) {}, serve);
}

}  // namespace fabricost
