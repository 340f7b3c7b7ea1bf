#pragma once
/// \file compare.hpp
/// The best plan of each of several machines for one job: time with its interval, tokens, money, power and
/// the terms of the time; which machine is better, by how much, and how certain that is.
///
/// A machine's rate R is its tokens/s per GPU; its interval follows from that of the time: R t / t_high to R
/// t / t_low. The order of two machines is certain if their intervals, each of which contains nine of ten
/// measurements, do not overlap. No order is given if kernel efficiencies were measured for one machine's
/// processors and are assumed for the other's. Costs are of the same kind for all machines, or left out.

#include <fabricost/economics/cost.hpp>
#include <fabricost/economics/paid.hpp>
#include <fabricost/economics/terms.hpp>
#include <fabricost/kernels/interval.hpp>
#include <fabricost/refusal.hpp>
#include <fabricost/training/figures.hpp>
#include <fabricost/training/idle_gpus.hpp>
#include <fabricost/training/plan.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace fabricost {

/// The best plan of one machine.
struct Compared {
  std::string system;
  std::string gpu{};
  std::string_view precision{};               ///< of matrix products; of a serving job that of the weights
  std::string trouble{};                      ///< the reason why it has none, with fields in angle brackets (Refusal)
  std::optional<PricedLayout> training{};     ///< the layout, for a training job
  std::optional<PricedServing> serving{};     ///< the deployment, for a serving job
  double seconds = 0, low = 0, high = 0;      ///< of a step, or of a token: a further one, or the only one; the 5-95 % interval
  double tokens_per_gpu = 0;                  ///< tokens per second and GPU
  std::vector<TimeTerm> terms{};              ///< the terms of `seconds`, which sum to it
  std::optional<double> dollars{}, joules{};  ///< per million tokens; empty if unknown
  int idle_gpus = 0;                          ///< in the scale-up domains or racks of the job; in the dollars, joules and megawatts
  bool part_of_domain = false;                ///< the job rents some nodes of a rack
  double megawatts = 0;                       ///< of the site with all GPUs busy; 0 if unknown
  std::string_view kernels = "measured";      ///< what their efficiencies rest on, as kernels_known says
  std::optional<PriceKind> price_kind{};      ///< of the dollars; empty if they are unknown
  double gpu_hour = 0;                        ///< USD per GPU-hour; 0 if owned or unknown

  [[nodiscard]] double slowest_rate() const { return tokens_per_gpu * seconds / high; }
  [[nodiscard]] double fastest_rate() const { return tokens_per_gpu * seconds / low; }

  [[nodiscard]] bool assumed_kernels() const { return kernels == "assumed"; }
};

namespace detail {
inline void add_dollars(Compared& c, const System& system, const Money& money, const Prices& prices) {
  c.dollars.reset(), c.price_kind.reset(), c.gpu_hour = 0;
  if (!money.paid_known()) return;
  const Rent rent = rent_of(system, prices);
  c.dollars = money.paid().value();
  c.price_kind = money.rent_known ? rent.kind : PriceKind::owned;
  c.gpu_hour = in(rent.value, units::USD_per_h).value();
}
/// GPUs that a job pays for beside its own: those that its groups leave idle, and the rest of what is sold whole.
[[nodiscard]] inline double idle_in_bill(const Compared& c, const System& system, double gpus, const Prices& prices) {
  return paid_gpus(system, gpus, prices, c.training ? idle_gpus(c.training->layout, system.domain) : 0) - gpus;
}
inline void add_money(Compared& c, const System& system, double gpus, const Prices& prices) {
  c.idle_gpus = static_cast<int>(idle_in_bill(c, system, gpus, prices));
  c.part_of_domain = rents_part(system, gpus, prices);
  const Money money = money_per_million_tokens(system, gpus + c.idle_gpus, c.tokens_per_gpu * gpus, prices);
  add_dollars(c, system, money, prices);
  if (!money.power_known) return;
  c.joules = money.energy.value();
  c.megawatts = power_of(system, gpus + c.idle_gpus, prices.power).site.value() * 1e-6;
}
}  // namespace detail

/// The fastest layout of a training job on one machine; where that leaves GPUs of its domains idle, the one of the fastest that pays for
/// the fewest GPU-seconds. \throws RequestError when none fits or is possible
[[nodiscard]] inline Compared compared(TrainingQuestion question, const System& system, const Prices& prices) {
  if (system.pod > 0) return compared(std::move(question), sliced(system, question.gpus), prices);
  question.top = 1;
  TrainingPlan plan = plan_training(question, system);
  const bool whole = !rents_part(system, question.gpus, prices);  // otherwise all layouts pay for the same nodes
  if (whole && plan.fits && !plan.layouts.empty() && idle_gpus(plan.layouts.front().layout, system.domain) > 0) {
    question.top = near_fastest;
    plan = plan_training(question, system);
    std::swap(plan.layouts.front(), plan.layouts[cheapest_of(plan.layouts, [&](const PricedLayout& one) {
      return one.time.seconds * paid_gpus(system, question.gpus, prices, idle_gpus(one.layout, system.domain));
    })]);
  }
  if (plan.layouts.empty() || !plan.fits) {  // `nearest` is set in this case
    const auto gibi = [](double bytes) { return std::to_string(static_cast<long long>(std::ceil(bytes / gibibyte))); };
    throw RequestError("does not fit in any layout: the nearest needs " + gibi(plan.nearest->memory.total()) + " GiB a GPU of " +
                       gibi(Processor::of(system).memory * (1 - headroom_of(question))) + "; take more GPUs");
  }
  Compared c{.system = system.name, .gpu = system.gpu.name};
  c.precision = precision_names[static_cast<std::size_t>(question.precision)];
  c.training = plan.layouts.front();
  const StepTime& t = c.training->time;
  c.seconds = t.seconds;
  const TrainingFigures f = figures_of(question, system, t.seconds);
  c.low = f.low, c.high = f.high;
  c.kernels = kernels_known(system);
  c.tokens_per_gpu = f.tokens_per_gpu;
  c.terms = terms_of(t);
  detail::add_money(c, system, question.gpus, prices);
  return c;
}

/// A deployment found by plan_serving. \throws RequestError for one with a throughput of 0
[[nodiscard]] inline Compared compared(const ServingQuestion& question, const PricedServing& best, const System& system,
                                       const Prices& prices) {
  Compared c{.system = system.name, .gpu = system.gpu.name};
  c.serving = best;
  c.precision = name(question.format.weights);
  const bool one_token = question.osl < 2;  // nothing follows the first
  c.seconds = one_token ? best.time.ttft : best.time.tpot;
  std::tie(c.low, c.high) = interval_around(c.seconds, one_token ? question.stack.spread_ttft : question.stack.spread_tpot);
  if (question.stack.assumed_kernels) c.kernels = "assumed";
  c.tokens_per_gpu = best.tokens_per_s_per_gpu;
  c.terms = one_token ? first_token_terms(best.time) : terms_of(question, best);
  detail::add_money(c, system, question.gpus, prices);
  return c;
}
/// The deployment with the highest throughput within the limits. \throws RequestError when there is none
[[nodiscard]] inline Compared compared(ServingQuestion question, const System& system, const Prices& prices) {
  question.top = 1;
  const ServingPlan plan = plan_serving(question, system);
  if (plan.layouts.empty()) throw RequestError("fits in no deployment that keeps the limits");
  return compared(question, plan.layouts.front(), system, prices);
}

/// Prices every machine with `price(system)`. A machine that cannot do the job is listed with the reason.
/// \throws Refusal when no machine can, with the reason of the first
template <class Price>
[[nodiscard]] std::vector<Compared> compare(std::span<const System> systems, Price&& price) {
  std::vector<Compared> out;
  for (const System& system : systems) {
    try {
      out.push_back(price(system));
    } catch (const Refusal& error) {
      out.push_back({.system = system.name, .trouble = error.text()});
    } catch (const RequestError& error) {
      out.push_back({.system = system.name, .trouble = error.what()});
    }
  }
  const bool any = std::any_of(out.begin(), out.end(), [](const Compared& c) { return c.trouble.empty(); });
  if (!any && !out.empty()) throw Refusal(out.front().system + ": " + out.front().trouble);
  return out;
}

/// The kind of price that all machines have, else the one that most have; none where no machine has any.
struct PricedBy {
  std::optional<PriceKind> kind{};
  std::string why{};  ///< the reason why not all have it
};
/// A user's own prices, and the requested kind.
struct OwnMachinePrices {
  std::vector<double> gpu_hours{};  ///< USD per GPU-hour of each machine in order, 0: not given; empty: none given
  std::optional<PriceKind> kind{};  ///< empty: on demand, else reserved, else owned, whichever is known for all
};

/// Prices of machine `i` by `kind`, the user's own first.
[[nodiscard]] inline Prices priced_as(Prices prices, PriceKind kind, const OwnMachinePrices& own, std::size_t i) {
  prices.kind = kind;
  if (i < own.gpu_hours.size() && own.gpu_hours[i] > 0)
    prices.gpu_hour = {units::USD_per_h(own.gpu_hours[i]), {"as given", Confidence::assumed}};
  return prices;
}

/// The first kind of price that is known of all machines that can do the job, else of most. A given price of a GPU-hour
/// counts as a rent of any kind.
/// \param able (i) whether machine i can
template <class Able>
[[nodiscard]] PricedBy common_kind(std::span<const System> systems, Able&& able, const Prices& prices, const OwnMachinePrices& own = {}) {
  const auto known = [&](std::size_t i, PriceKind kind) {  // a rent of that kind, or owning if requested
    const Prices by = priced_as(prices, kind, own, i);
    if (rent_of(systems[i], by).value > DollarRate{}) return kind != PriceKind::owned;
    return kind == PriceKind::owned && server_price_of(systems[i], by).value > Dollars{} &&
           rated_power_per_gpu(systems[i], by.power).value > Watts{};
  };
  std::string missing;
  PricedBy some;  // of the kind that is known of most
  std::size_t most = 0;
  for (const PriceKind kind : {PriceKind::on_demand, PriceKind::reserved, PriceKind::owned}) {
    if (own.kind && *own.kind != kind) continue;
    std::string without;
    std::size_t with = 0;
    for (std::size_t i = 0; i < systems.size(); ++i)
      if (able(i) && known(i, kind))
        ++with;
      else if (able(i))
        without += (without.empty() ? "" : ", ") + systems[i].name;
    if (without.empty()) return {.kind = kind};
    const std::string here = std::string{kind == PriceKind::on_demand  ? "on demand"
                                         : kind == PriceKind::reserved ? "reserved"
                                                                       : "owned"} +
                             " not known of " + without;
    missing += (missing.empty() ? "" : "; ") + here;
    if (with > most) most = with, some = {.kind = kind, .why = here};
  }
  if (some.kind) return some;
  return {.why = "no kind of price is known of all: " + missing};
}

/// Prices all machines that can do the job with the same kind of price. Machines without it have no dollars.
/// \param all results for `systems`, in order
[[nodiscard]] inline PricedBy price_alike(std::vector<Compared>& all, std::span<const System> systems, double gpus, const Prices& prices,
                                          const OwnMachinePrices& own = {}) {
  const auto able = [&](std::size_t i) { return all[i].trouble.empty(); };
  const PricedBy by = common_kind(systems, able, prices, own);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!by.kind) {
      all[i].dollars.reset(), all[i].price_kind.reset(), all[i].gpu_hour = 0;
    } else if (able(i)) {
      const Prices as = priced_as(prices, *by.kind, own, i);
      detail::add_money(all[i], systems[i].pod > 0 ? sliced(systems[i], static_cast<int>(gpus)) : systems[i], gpus, as);
      const bool rented = all[i].price_kind == PriceKind::stated && by.kind != PriceKind::owned;  // an own rent, never what owning costs
      if (all[i].price_kind != by.kind && !rented) all[i].dollars.reset(), all[i].price_kind.reset(), all[i].gpu_hour = 0;
    }
  }
  return by;
}

/// The machine with the most tokens per second and GPU, compared with the next one.
struct Verdict {
  std::string why{};  ///< the reason why there is no verdict; nothing else is set then
  const Compared* best = nullptr;
  const Compared* next = nullptr;  ///< null if only one machine can do the job
  double faster = 1;               ///< rate of the best over that of the next
  bool sure = false;               ///< the intervals do not overlap
  double probability = 1;          ///< that the best is faster than the next (likely_shorter)
};

/// Points into `all`. Gives no verdict if kernel efficiencies were measured for some machines and are assumed
/// for others. \throws RequestError when no machine can do the job
[[nodiscard]] inline Verdict verdict_of(std::span<const Compared> all) {
  std::vector<const Compared*> able;
  for (const Compared& c : all)
    if (c.trouble.empty()) able.push_back(&c);
  if (able.empty()) throw RequestError("no machine can do the job");
  std::string measured, assumed;
  for (const Compared* c : able) {
    std::string& names = c->assumed_kernels() ? assumed : measured;
    names += (names.empty() ? "" : ", ") + c->system;
  }
  if (!measured.empty() && !assumed.empty())
    return {.why = "what kernels reach was measured on processors like those of " + measured + " and on none like those of " + assumed +
                   ", where NVIDIA's shares of the peak are assumed: the figures differ in kind"};
  std::stable_sort(able.begin(), able.end(), [](const Compared* a, const Compared* b) { return a->tokens_per_gpu > b->tokens_per_gpu; });
  if (able.size() == 1) return {.best = able[0]};
  const Compared &best = *able[0], &next = *able[1];
  const double faster = best.tokens_per_gpu / next.tokens_per_gpu;
  const auto half_width = [](const Compared& c) { return std::log(c.high / c.low) / 2; };
  return {.best = &best,
          .next = &next,
          .faster = faster,
          .sure = best.slowest_rate() > next.fastest_rate(),
          .probability = likely_shorter(faster, half_width(best), half_width(next), best.gpu == next.gpu)};
}

}  // namespace fabricost
