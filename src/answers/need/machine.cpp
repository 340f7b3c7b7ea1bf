/// \file machine.cpp
/// Asks for the whole run on every machine, and picks the best that keeps the limits.

#include "answers/typed/own_machines.hpp"
#include "text/amounts.hpp"
#include "text/term_words.hpp"

#include <fabricost/answers/design/need.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/specs/prices.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace fabricost {
namespace need {
namespace {

enum class RunEnd : unsigned char { fast, predicted, slow };

template <class Pair>
[[nodiscard]] std::optional<double> end_of(const std::optional<double>& value, const std::optional<Pair>& ends, RunEnd end) {
  if (end == RunEnd::predicted || !ends) return value;
  return end == RunEnd::fast ? ends->first : ends->second;
}

/// What machines are chosen by; less is better.
[[nodiscard]] std::optional<double> measure_of(const ProjectedRun& r, BestMachine by, RunEnd end) {
  switch (by) {
    case BestMachine::cheapest: return end_of(r.dollars, r.interval_dollars, end);
    case BestMachine::lowest_power: return r.site_watts;
    case BestMachine::fewest_gpus: return end_of(std::optional<double>{r.gpus}, r.gpus_interval, end);
    case BestMachine::soonest: return r.wait_seconds + *end_of(std::optional{r.seconds}, std::optional{r.interval_seconds}, end);
  }
  return std::nullopt;
}

[[nodiscard]] std::string words_for(BestMachine by) {
  switch (by) {
    case BestMachine::cheapest: return "run, USD";
    case BestMachine::lowest_power: return "site, W";
    case BestMachine::fewest_gpus: return "GPUs";
    case BestMachine::soonest: return "wait and run, s";
  }
  return "";
}

[[nodiscard]] std::optional<std::string> end_day_of(const ProjectedRun& r, RunEnd end) {
  if (end == RunEnd::predicted || !r.interval_ends) return r.ends;
  return end == RunEnd::fast ? r.interval_ends->first : r.interval_ends->second;
}

/// The limits that a run breaks, in words; empty: none. What is not known breaks its limit.
[[nodiscard]] std::string broken(const NeedMachineRequest& q, const ProjectedRun& r, RunEnd end) {
  std::string out;
  const auto limit = [&out](std::string_view what, const std::optional<double>& value, double most, const auto& text) {
    if (value && *value <= most) return;
    out += fmt::format("{}{} {}, at most {}", out.empty() ? "" : "; ", what, value ? text(*value) : "not known", text(most));
  };
  const auto plain = [](double x) { return fmt::format("{:.4g}", x); };
  const bool moves = !r.gpus_found;  // GPUs that were found end in time; their own interval says the rest
  if (q.in_seconds)
    limit("time", end_of(std::optional{r.seconds}, std::optional{r.interval_seconds}, moves ? end : RunEnd::predicted), *q.in_seconds,
          io::duration_text);
  if (q.budget_dollars) limit("money", measure_of(r, BestMachine::cheapest, end), *q.budget_dollars, io::dollars_text);
  if (q.megawatts) limit("MW", r.site_watts ? std::optional{*r.site_watts / 1e6} : std::nullopt, *q.megawatts, plain);
  if (q.racks) limit("racks", r.racks, *q.racks, plain);
  const auto day_limit = [&out](std::string_view what, const std::optional<std::string>& day, const std::string& last) {
    if (day && *day <= last) return;  // as they are written, days compare like texts
    out += fmt::format("{}{} {}, at most {}", out.empty() ? "" : "; ", what, day.value_or("not known"), last);
  };
  if (!q.done_by.empty()) day_limit("end", end_day_of(r, moves ? end : RunEnd::predicted), day_text(*parse_day(q.done_by)));
  if (!q.delivered_by.empty()) day_limit("delivery", r.delivery, day_text(*parse_day(q.delivered_by)));
  return out;
}

/// The best of those that keep the limits, or of those that do not. \param than to be better than this
[[nodiscard]] const ProjectedRun* best_of(const NeedMachineRequest& q, const std::vector<ProjectedRun>& rows, RunEnd end, bool keeps = true,
                                          const ProjectedRun* without = nullptr) {
  const ProjectedRun* best = nullptr;
  for (const ProjectedRun& row : rows) {
    const auto measure = measure_of(row, q.by, end);
    if (&row == without || !row.trouble.empty() || !measure || broken(q, row, end).empty() != keeps) continue;
    if (best == nullptr || *measure < *measure_of(*best, q.by, end)) best = &row;
  }
  return best;
}

[[nodiscard]] std::string goal_words(const NeedMachineRequest& q) {
  std::string out = q.by == BestMachine::cheapest       ? "the cheapest"
                    : q.by == BestMachine::lowest_power ? "the lowest power"
                    : q.by == BestMachine::fewest_gpus  ? "the fewest GPUs"
                                                        : "the soonest";
  const auto say = [&out](const std::string& words) { out += ", " + words; };
  if (q.in_seconds) say("in at most " + io::duration_text(*q.in_seconds));
  if (!q.done_by.empty()) say("by " + day_text(*parse_day(q.done_by)));
  if (!q.delivered_by.empty()) say("delivered by " + day_text(*parse_day(q.delivered_by)));
  if (q.budget_dollars) say("for at most " + io::dollars_text(*q.budget_dollars));
  if (q.megawatts) say(fmt::format("at most {:.4g} MW", *q.megawatts));
  if (q.racks) say(fmt::format("at most {} racks", *q.racks));
  return out;
}

/// "exchange of experts, 23 %": the largest term of a step besides arithmetic and the factor of the software around it.
[[nodiscard]] std::string takes_most(const ProjectedRun& r) {
  StepTerm max;
  for (const StepTerm& t : r.layout->terms)
    if (t.name != "compute" && t.name != "stack" && t.seconds > max.seconds) max = t;
  return max.name.empty() ? "computing" : fmt::format("{}, {:.0f} %", io::term_words(max.name), 100 * max.seconds / r.step_seconds);
}

/// Machines of the catalogue, no clusters, of which what they are chosen by can be known.
[[nodiscard]] Machines catalogue(const NeedMachineRequest& q) {
  Machines out;
  Prices prices = load_prices(q.prices);
  prices.kind = q.price_kind.value_or(PriceKind::on_demand);
  for (const SystemName& one : system_names()) {
    if (one.cluster) continue;
    const System system = load_system(one.name, {}, "none", KernelSets::none());
    const bool owned = server_price_of(system, prices).value > Dollars{},
               powered = rated_power_per_gpu(system, prices.power).value > Watts{};
    const bool priced = prices.kind == PriceKind::owned ? owned && powered : rent_of(system, prices).value > DollarRate{};
    if (q.by == BestMachine::cheapest || q.budget_dollars ? priced : powered) out.all.push_back({.name = one.name, .value = nullptr});
  }
  return out;
}

void add_tried(NeedMachineAnswer& out, const NeedMachineRequest& q, const std::vector<ProjectedRun>& rows) {
  for (const ProjectedRun& row : rows) {
    NeedMachineTried one{.value = row.system, .trouble = row.trouble};
    if (one.trouble.empty()) {
      one.measure = measure_of(row, q.by, RunEnd::predicted), one.binds = broken(q, row, RunEnd::predicted);
      one.holds = one.measure && one.binds.empty();
    }
    out.tried.push_back(std::move(one));
  }
  const auto rank = [](const NeedMachineTried& t) { return t.holds ? 0 : t.measure ? 1 : t.trouble.empty() ? 2 : 3; };
  std::stable_sort(out.tried.begin(), out.tried.end(), [&](const NeedMachineTried& a, const NeedMachineTried& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.measure.value_or(0) < b.measure.value_or(0);
  });
}

void say_why(NeedMachineAnswer& out, const ProjectAnswer& all) {
  out.reason = "none of the machines keeps the limits";
  for (const NeedMachineTried& one : out.tried)
    if (!one.binds.empty()) {
      out.reason += fmt::format("; {} comes nearest: {}", one.value, one.binds);
      out.binding = one.binds;
      return;
    }
  if (all.no_price) out.reason += "; " + *all.no_price;
}

}  // namespace
}  // namespace need

NeedMachineAnswer answer(const NeedMachineRequest& request) {
  using need::RunEnd;
  check_ranges(request);
  NeedMachineRequest q = request;
  if (!q.delivered_by.empty()) static_cast<void>(day_of(q.delivered_by, "delivered_by"));
  if (q.systems.all.empty()) q.systems = need::catalogue(q);
  if (q.by == BestMachine::cheapest && request.systems.all.empty() && !q.price_kind) q.price_kind = PriceKind::on_demand;
  const ProjectAnswer all = answer(static_cast<const ProjectRequest&>(q));
  NeedMachineAnswer out;
  out.goal = need::goal_words(q), out.measured = need::words_for(q.by);
  out.title = fmt::format("{}, {} tokens", all.model, io::count_text(all.tokens));
  need::add_tried(out, q, all.rows);
  const auto named = [](const ProjectedRun* r) { return r == nullptr ? std::nullopt : std::optional{r->system}; };
  const ProjectedRun* best = need::best_of(q, all.rows, RunEnd::predicted);
  out.value = named(best), out.satisfied = best != nullptr;
  out.fast_value = named(need::best_of(q, all.rows, RunEnd::fast)), out.slow_value = named(need::best_of(q, all.rows, RunEnd::slow));
  if (best == nullptr) {
    need::say_why(out, all);
    return out;
  }
  out.run = *best;
  out.measure = need::measure_of(*best, q.by, RunEnd::predicted);
  out.next_larger = named(need::best_of(q, all.rows, RunEnd::predicted, true, best));
  out.binding = need::takes_most(*best);
  const ProjectedRun* breaks = need::best_of(q, all.rows, RunEnd::predicted, false);
  if (breaks != nullptr && need::measure_of(*breaks, q.by, RunEnd::predicted) < out.measure) {
    out.next_smaller = breaks->system;
    out.binding = need::broken(q, *breaks, RunEnd::predicted);
  }
  return out;
}

}  // namespace fabricost
