/// Asks for the whole run on every machine with many numbers of GPUs, and picks the best that keeps the limits.

#include "answers/need/goal.hpp"
#include "answers/need/runs.hpp"
#include "answers/need/usual.hpp"
#include "answers/typed/own_machines.hpp"
#include "text/amounts.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/specs/prices.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace fabricost::plan {
namespace need {
namespace {

enum class RunEnd : unsigned char { fast, predicted, slow };

template <class Pair>
[[nodiscard]] std::optional<double> end_of(const std::optional<double>& value, const std::optional<Pair>& ends, RunEnd end) {
  if (end == RunEnd::predicted || !ends) return value;
  return end == RunEnd::fast ? ends->first : ends->second;
}

/// How long the run takes, in s.
[[nodiscard]] double time_of(const ProjectedRun& r, RunEnd end) {
  return *end_of(std::optional{r.time.value()}, std::optional{numbers_in(r.interval)}, end);
}

/// The measure by which machines are chosen; less is better.
[[nodiscard]] std::optional<double> measure_of(const ProjectedRun& r, BestMachine by, RunEnd end) {
  switch (by) {
    case BestMachine::cheapest: return end_of(numbers_in(r.price), numbers_in(r.interval_price), end);
    case BestMachine::lowest_power: return numbers_in(r.site_power);
    case BestMachine::fewest_gpus: return end_of(std::optional<double>{r.gpus}, r.gpus_interval, end);
    case BestMachine::soonest: return r.wait.value() + time_of(r, end);
  }
  return std::nullopt;
}

/// What is measured, and what is wanted, in the order of BestMachine.
struct BestWords {
  std::string_view measure, goal;
};
[[nodiscard]] BestWords words_for(BestMachine by) {
  static constexpr std::array<BestWords, 4> words{
      {{"run, USD", "the cheapest"}, {"site, W", "the lowest power"}, {"GPUs", "the fewest GPUs"}, {"wait and run, s", "the soonest"}}};
  return words[static_cast<std::size_t>(by)];
}

[[nodiscard]] std::optional<std::string> end_day_of(const ProjectedRun& r, RunEnd end) {
  if (end == RunEnd::predicted || !r.interval_ends) return r.ends;
  return end == RunEnd::fast ? r.interval_ends->first : r.interval_ends->second;
}

/// The limits that a run breaks: in words, and the sum of value over limit for those broken. Empty: none.
struct Broken {
  std::string words{};
  double far = 0;

  void add(std::string_view what, const std::string& value, const std::string& limit, double over) {
    words += fmt::format("{}{} {}, at most {}", words.empty() ? "" : "; ", what, value, limit);
    far += over;
  }
};

/// The limits that a run breaks; a value that is not known breaks its limit.
[[nodiscard]] Broken broken(const NeedMachineRequest& q, const ProjectedRun& r, RunEnd end) {
  constexpr double unknown = 1e300;
  Broken out;
  const auto limit = [&out](std::string_view what, const std::optional<double>& value, double most, const auto& text) {
    if (!value || *value > most) out.add(what, value ? text(*value) : "not known", text(most), value ? *value / most : unknown);
  };
  const auto plain = [](double x) { return fmt::format("{:.4g}", x); };
  if (q.in) limit("time", time_of(r, end), q.in->value(), [](double seconds) { return duration_text(seconds); });
  if (q.budget) limit("money", measure_of(r, BestMachine::cheapest, end), q.budget->value(), [](double dollars) { return dollars_text(dollars); });
  if (q.capital) limit("to buy", numbers_in(r.capital), q.capital->value(), [](double dollars) { return dollars_text(dollars); });
  if (q.megawatts) limit("MW", r.site_power ? std::optional{in(*r.site_power, units::MW).value()} : std::nullopt, *q.megawatts, plain);
  if (q.racks) limit("racks", r.racks, *q.racks, plain);
  const auto day_limit = [&](std::string_view what, const std::optional<std::string>& day, const std::string& last) {
    if (day && *day <= last) return;  // as they are written, days compare like texts
    const std::optional<Day> at = day ? parse_day(*day) : std::nullopt;  // none beyond 2199, where few GPUs may end
    const double late = at ? std::chrono::duration<double>(*at - *parse_day(last)).count() : unknown;
    out.add(what, day.value_or("not known"), last, 1 + late / (3600 * hours_of_a_year));
  };
  if (!q.done_by.empty()) day_limit("end", end_day_of(r, end), day_text(*parse_day(q.done_by)));
  if (!q.delivered_by.empty()) day_limit("delivery", r.delivery, day_text(*parse_day(q.delivered_by)));
  return out;
}

/// The best run of a machine that keeps the limits, else the run that is nearest to them.
struct BestRun {
  const ProjectedRun* run = nullptr;  ///< none: no run is possible, or what machines are chosen by is not known
  Broken breaks{};
  double measure = 0;
  bool ranked = true;  ///< beside the other machines (ranking_of)

  [[nodiscard]] bool keeps() const { return run != nullptr && breaks.words.empty(); }
  [[nodiscard]] bool better_than(const BestRun& other) const {
    if (other.run == nullptr || breaks.far != other.breaks.far) return other.run == nullptr || breaks.far < other.breaks.far;
    return measure < other.measure;
  }
};

/// The best run of each machine, in the order of the request.
[[nodiscard]] std::vector<BestRun> best_runs(const NeedMachineRequest& q, const Runs& runs, std::size_t machines, RunEnd end) {
  std::vector<BestRun> out(machines);
  for (std::size_t i = 0; i < runs.machine.size(); ++i) {
    const ProjectedRun& row = runs.all.rows[i];
    const auto measure = row.trouble.empty() ? measure_of(row, q.by, end) : std::nullopt;
    if (!measure) continue;
    const BestRun one{&row, broken(q, row, end), *measure};
    if (BestRun& best = out[runs.machine[i]]; one.better_than(best)) best = one;
  }
  return out;
}

/// Marks those of the machines that keep the limits which cannot be ranked beside the others. \return why none can; empty: some can
std::string mark_unranked(std::vector<BestRun>& all) {
  std::vector<Contender> contenders;
  std::vector<BestRun*> kept;
  for (BestRun& one : all)
    if (one.keeps()) kept.push_back(&one), contenders.push_back({one.run->system, one.run->kernels == "assumed"});
  const Ranking ranking = ranking_of(contenders);
  for (const std::size_t i : ranking.left_out) kept[i]->ranked = false;
  if (!ranking.why.empty())
    for (BestRun* one : kept) one->ranked = false;
  return ranking.why;
}

/// The best of the machines that keep the limits, or of those that cannot. \param without not this one
[[nodiscard]] const BestRun* best_of(const std::vector<BestRun>& all, bool keeps = true, const BestRun* without = nullptr) {
  const BestRun* best = nullptr;
  for (const BestRun& one : all)
    if (&one != without && one.run != nullptr && one.ranked && one.keeps() == keeps && (best == nullptr || one.measure < best->measure)) best = &one;
  return best;
}

/// With fewer GPUs none ends in time; with more, the servers alone draw more than is allowed.
[[nodiscard]] Sizes sizes_for(const NeedMachineRequest& q, const ProjectRequest& r, const System& system, const Prices& prices) {
  if (q.gpus) return {q.gpus};
  constexpr double any = 1e300;
  const double least = q.in ? too_few_gpus(r, system, *q.in * r.use) : 0;
  const double watts =
      rated_power_per_gpu(system, prices.power).value.value() * prices.power.load.value * r.pue.value_or(prices.power.pue.value);
  const double most = q.megawatts && watts > 0 ? *q.megawatts * 1e6 / watts : any;
  Sizes out;
  for (const int size : sizes_of_run(system, *r.global_batch, least, most)) out.emplace_back(size);
  if (q.by == BestMachine::fewest_gpus || q.by == BestMachine::lowest_power) out.emplace_back(std::nullopt);  // between these sizes
  return out;
}

[[nodiscard]] std::string goal_words(const NeedMachineRequest& q) {
  std::string out{words_for(q.by).goal};
  const auto say = [&out](const std::string& words) { out += ", " + words; };
  if (q.in) say("in at most " + given_time_text(*q.in));
  if (!q.done_by.empty()) say("by " + day_text(*parse_day(q.done_by)));
  if (!q.delivered_by.empty()) say("delivered by " + day_text(*parse_day(q.delivered_by)));
  if (q.budget)
    say(fmt::format("{} at most {}", q.price_kind == PriceKind::owned ? "owned in that time for" : "for", dollars_text(*q.budget)));
  if (q.capital) say("bought for at most " + dollars_text(*q.capital));
  if (q.megawatts) say(fmt::format("at most {:.4g} MW", *q.megawatts));
  if (q.racks) say(fmt::format("at most {} racks", *q.racks));
  return out;
}

/// Machines of the catalogue, without clusters, and, where they are bought, without what a cloud rents out, for which the measure of choice
/// can be known. \param unpriced is given the others
[[nodiscard]] Machines catalogue(const NeedMachineRequest& q, std::vector<std::string>& unpriced) {
  Machines out;
  Prices prices = load_prices(q.prices);
  prices.kind = q.price_kind.value_or(PriceKind::on_demand);
  for (const SystemName& one : system_names()) {
    if (one.cluster) continue;
    const System system = load_system(one.name, {}, "none", KernelSets::none());
    if (prices.kind == PriceKind::owned && !system.seller.empty()) continue;
    const bool paid = q.by == BestMachine::cheapest || q.budget || q.capital;
    if (paid ? price_known(system, prices) : rated_power_per_gpu(system, prices.power).value > Watts{})
      out.all.emplace_back(one.name);
    else if (paid)
      unpriced.push_back(one.name);
  }
  return out;
}

/// Why no number of GPUs can do it: the reason of the fewest, and that of the most where it is another.
void add_trouble(const NeedMachineRequest& q, const Runs& runs, std::size_t machine, const std::string& name, NeedMachineTried& out) {
  std::vector<std::string> all;
  bool unknown = false;
  for (std::size_t i = 0; i < runs.machine.size(); ++i) {
    if (runs.machine[i] != machine) continue;
    std::string trouble = with_fields(runs.all.rows[i].trouble, as_member);
    if (const std::size_t named = trouble.rfind(name + ": "); named != std::string::npos) trouble.erase(0, named + name.size() + 2);
    if (trouble.empty())
      unknown = true;
    else if (all.empty() || trouble != all.back())
      all.push_back(trouble);
  }
  out.unpriced = unknown && q.by == BestMachine::cheapest;
  if (unknown)
    out.trouble = out.unpriced ? "its price is not known" : "its power is not known";
  else if (all.empty())
    out.trouble = "it has no number of GPUs to try";
  else
    out.trouble = without_numbers(all.back()) != without_numbers(all.front()) ? all.front() + "; with more: " + all.back() : all.front();
}

void add_tried(const NeedMachineRequest& q, NeedMachineAnswer& out, const std::vector<BestRun>& best, const Runs& runs,
               const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < best.size(); ++i) {
    NeedMachineTried one{.value = names[i]};
    if (const BestRun& b = best[i]; b.run != nullptr) {
      one.gpus = b.run->gpus;
      one.capital = b.run->capital;
      one.measure = b.measure;
      one.binds = b.breaks.words;
      one.holds = b.keeps();
      one.sure = broken(q, *b.run, RunEnd::fast).words.empty() == broken(q, *b.run, RunEnd::slow).words.empty();
      one.ranked = b.ranked;
    } else {
      add_trouble(q, runs, i, names[i], one);
    }
    out.tried.push_back(std::move(one));
  }
  const auto rank = [](const NeedMachineTried& t) { return t.holds && t.ranked ? 0 : t.holds ? 1 : t.measure ? 2 : 3; };
  std::stable_sort(out.tried.begin(), out.tried.end(), [&](const NeedMachineTried& a, const NeedMachineTried& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.measure.value_or(0) < b.measure.value_or(0);
  });
}

void say_why(NeedMachineAnswer& out) {
  const NeedMachineTried& first = out.tried.front();
  if (out.no_verdict) {
    out.reason = *out.no_verdict;
  } else if (!first.measure) {
    out.reason = fmt::format("no machine can be chosen; {}: {}", first.value, first.trouble);
  } else {
    out.reason = "no machine is within the limits";
    for (const NeedMachineTried& one : out.tried)
      if (!one.binds.empty()) {
        out.reason += fmt::format("; {} comes nearest: {}", one.value, one.binds);
        out.binding = one.binds;
        return;
      }
  }
}

}  // namespace
}  // namespace need

NeedMachineAnswer answer(const NeedMachineRequest& request) {
  using need::RunEnd;
  check_ranges(request);
  NeedMachineRequest q = request;
  if (!q.delivered_by.empty()) static_cast<void>(day_of(q.delivered_by, "delivered_by"));
  if (q.capital && q.price_kind.value_or(PriceKind::owned) != PriceKind::owned)
    throw Refusal(fmt::format("<capital_dollars> limits what is bought, and <price_kind={}> rents: leave one of them out", name(*q.price_kind)));
  if (q.capital) q.price_kind = PriceKind::owned;
  std::vector<std::string> unpriced;
  if (q.systems.all.empty()) q.systems = need::catalogue(q, unpriced);
  if (q.by == BestMachine::cheapest && request.systems.all.empty() && !q.price_kind) q.price_kind = PriceKind::on_demand;
  const Prices prices = load_prices(q.prices);
  std::vector<std::string> names;
  const auto sizes = [&](const ProjectRequest& r, const System& system) {
    names.push_back(system.name);
    return need::sizes_for(q, r, system, prices);
  };
  const Runs runs = runs_of(q, sizes, false);
  const auto at = [&](RunEnd end) { return need::best_runs(q, runs, names.size(), end); };
  std::vector<need::BestRun> rows = at(RunEnd::predicted), fast = at(RunEnd::fast), slow = at(RunEnd::slow);
  NeedMachineAnswer out;
  if (const std::string why = need::mark_unranked(rows); !why.empty()) out.no_verdict = why;
  for (std::vector<need::BestRun>* end : {&fast, &slow}) static_cast<void>(need::mark_unranked(*end));
  out.goal = need::goal_words(q);
  out.measured = need::words_for(q.by).measure;
  out.price_kind = runs.all.price_kind;
  if (q.by == BestMachine::cheapest || q.budget || q.capital)
    out.price_instead = q.capital && request.price_kind != PriceKind::owned ? std::optional<std::string>{"the money to buy is limited"}
                                                                             : runs.all.price_instead;
  out.unpriced = unpriced;
  out.title = fmt::format("{}, {} tokens", runs.all.model, count_text(runs.all.tokens));
  need::add_tried(q, out, rows, runs, names);
  const auto named = [](const need::BestRun* r) { return r == nullptr ? std::nullopt : std::optional{r->run->system}; };
  const need::BestRun* best = need::best_of(rows);
  out.value = named(best);
  out.satisfied = best != nullptr;
  out.fast_value = named(need::best_of(fast));
  out.slow_value = named(need::best_of(slow));
  if (best == nullptr) {
    need::say_why(out);
    return out;
  }
  out.run = *best->run;
  out.measure = best->measure;
  out.next_larger = named(need::best_of(rows, true, best));
  out.binding = need::takes_most(best->run->layout->terms, best->run->step);
  if (const need::BestRun* breaks = need::best_of(rows, false); breaks != nullptr && breaks->measure < best->measure)
    out.next_smaller = breaks->run->system, out.binding = breaks->breaks.words;
  return out;
}

}  // namespace fabricost::plan
