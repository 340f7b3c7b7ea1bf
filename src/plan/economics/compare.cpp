#include <fabricost/plan/economics/compare.hpp>

namespace fabricost::plan::detail {

void add_dollars(Compared& c, const System& system, const Money& money, const Prices& prices) {
  c.dollars.reset();
  c.price_kind.reset();
  c.gpu_hour = 0;
  if (!money.paid_known()) return;
  const Rent rent = rent_of(system, prices);
  c.dollars = money.paid().value();
  c.price_kind = money.rents() ? rent.kind : PriceKind::owned;
  c.gpu_hour = money.rents() ? in(rent.value, units::USD_per_h).value() : 0;
}

/// GPUs of the domains that a layout takes, beyond the job's.
double idle_of(const PricedLayout& one, const System& system, double gpus) {
  return std::max(0.0, one.layout.gpus() + idle_gpus(one.layout, system.domain) - gpus);
}

/// GPUs that a job pays for beside its own: those that its groups leave idle, and the rest of what is sold whole.
double idle_in_bill(const Compared& c, const System& system, double gpus, const Prices& prices) {
  return paid_gpus(system, gpus, prices, c.training ? idle_of(*c.training, system, gpus) : 0) - gpus;
}

void add_money(Compared& c, const System& system, double gpus, const Prices& prices) {
  c.idle_gpus = static_cast<int>(idle_in_bill(c, system, gpus, prices));
  c.part_of_domain = rents_part(system, gpus, prices);
  const Money money = money_per_million_tokens(system, {gpus + c.idle_gpus, gpus + c.idle_gpus}, c.tokens_per_gpu * c.more * gpus, prices);
  add_dollars(c, system, money, prices);
  if (!money.power_known) return;
  c.joules = money.energy.value();
  c.megawatts = power_of(system, gpus + c.idle_gpus, prices.power).site.value() * 1e-6;
}

/// With the first kind of price that is known of both machines, or owning.
Prices priced_alike(Prices prices, const System& a, const System& b) {
  if (prices.kind) return prices;
  for (const PriceKind kind : {PriceKind::on_demand, PriceKind::reserved, PriceKind::owned}) {
    prices.kind = kind;
    if (price_known(a, prices) && price_known(b, prices)) break;
  }
  return prices;
}

/// The money and energy of both machines of a deployment whose prompts are read on another kind.
double add_money(Compared& c, const ServingQuestion& q, const System& system, const Prices& prices) {
  const PricedServing& p = *c.serving;
  const double of_gpus = static_cast<double>(p.prefill_workers * p.prefill.gpus()) / p.used();
  if (!q.pool) {
    add_money(c, system, q.gpus, prices);
    return of_gpus;
  }
  const Prices alike = priced_alike(prices, system, *q.pool->system);
  const double tokens = c.tokens_per_gpu * q.all_gpus();
  Compared other = c;
  c.tokens_per_gpu = tokens / q.gpus;
  other.tokens_per_gpu = tokens / q.pool->gpus;
  add_money(c, system, q.gpus, alike);
  add_money(other, *q.pool->system, q.pool->gpus, alike);
  c.tokens_per_gpu = tokens / q.all_gpus();
  c.idle_gpus += other.idle_gpus;
  const bool known = c.dollars && other.dollars;
  const double reads = known ? *other.dollars / (*c.dollars + *other.dollars) : of_gpus;
  c.dollars = known ? std::optional{*c.dollars + *other.dollars} : std::nullopt;
  c.gpu_hour = (c.gpu_hour * q.gpus + other.gpu_hour * q.pool->gpus) / q.all_gpus();
  c.joules = c.joules && other.joules ? std::optional{*c.joules + *other.joules} : std::nullopt;
  c.megawatts += other.megawatts;
  return reads;
}

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

Compared compared(TrainingQuestion question, const System& described, const Prices& prices, LayoutBy by) {
  question.top = 1;
  std::pair<System, TrainingPlan> on_slices = plan_on_slices(described, question);
  const System& system = on_slices.first;
  TrainingPlan& plan = on_slices.second;
  const bool whole = !rents_part(system, question.gpus, prices);  // otherwise all layouts pay for the same nodes
  if (by == LayoutBy::paid && whole && plan.fits && !plan.layouts.empty())
    plan = cheapest_plan(
        std::move(plan), question.plain_within,
        [&](const PricedLayout& one) { return static_cast<int>(detail::idle_of(one, system, question.gpus)); }, seconds_a_sequence,
        [&](int idle) { return paid_gpus(system, question.gpus, prices, idle); },
        [&](const WantedLayouts& wanted) {
          question.wanted = wanted;
          return plan_training(system, question);
        });
  if (plan.layouts.empty() || !plan.fits) {  // `nearest` is set in this case
    const auto gibi = [](double bytes) { return std::to_string(static_cast<long long>(std::ceil(bytes / gibibyte))); };
    const double needed = plan.nearest->memory.total(), room = Processor::of(system).memory * (1 - headroom_of(question));
    throw RequestError("does not fit in any layout: the nearest needs " + gibi(needed) + " GiB a GPU of " +
                       gibi(room) + "; take more GPUs: memory alone needs about " +
                       std::to_string(static_cast<long long>(std::ceil(needed / room * question.gpus))) +
                       ", and need finds the number that layouts divide");
  }
  Compared c{.system = system.name, .gpu = system.gpu.name};
  c.precision = precision_names[static_cast<std::size_t>(question.precision)];
  c.training = plan.layouts.front();
  const StepTime& t = c.training->time;
  c.seconds = t.seconds;
  const TrainingFigures f = figures_of(system, question, *c.training);
  c.low = f.low;
  c.high = f.high;
  c.kernels = kernels_known(system);
  c.tokens_per_gpu = f.tokens_per_gpu;
  c.rate = {c.tokens_per_gpu * c.seconds / c.high, c.tokens_per_gpu * c.seconds / c.low};
  c.terms = terms_of(t);
  detail::add_money(c, system, question.gpus, prices);
  return c;
}

Compared compared(const ServingQuestion& question, const PricedServing& best, const System& system, const Prices& prices, double more) {
  Compared c{.system = system.name, .gpu = system.gpu.name};
  c.more = more;
  c.serving = best;
  c.precision = name(question.format.weights);
  const bool one_token = question.osl < 2;  // nothing follows the first
  c.seconds = one_token ? best.time.ttft : best.time.tpot;
  const ServingCertainty certain = certainty_of(question, best);
  std::tie(c.low, c.high) = one_token ? certain.ttft : certain.tpot;
  c.rate = certain.rate;
  if (question.stack.assumed_kernels) c.kernels = "assumed";
  c.tokens_per_gpu = best.tokens_per_s_per_gpu;
  c.terms = one_token ? first_token_terms(best.time) : terms_of(question, best);
  const double reads = detail::add_money(c, question, system, prices);
  c.tokens = token_shares(system, question, best, reads);
  return c;
}

Compared compared(ServingQuestion question, const System& system, const Prices& prices) {
  question.top = 1;
  const ServingPlan plan = plan_serving(system, question);
  if (plan.layouts.empty()) throw RequestError("no deployment that fits meets the limits");
  return compared(question, plan.layouts.front(), system, prices);
}

Prices priced_as(Prices prices, PriceKind kind, const OwnMachinePrices& own, std::size_t i) {
  prices.kind = kind;
  if (i < own.gpu_hours.size() && own.gpu_hours[i] > 0)
    prices.gpu_hour = {units::USD_per_h(own.gpu_hours[i]), {"as given", Confidence::assumed}};
  return prices;
}

PricedBy price_alike(std::vector<Compared>& all, std::span<const System> systems, double gpus, const Prices& prices,
                     const OwnMachinePrices& own) {
  const auto able = [&](std::size_t i) { return all[i].trouble.empty(); };
  PricedBy by = common_kind(systems, able, prices, own);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!by.kind) {
      all[i].dollars.reset();
      all[i].price_kind.reset();
      all[i].gpu_hour = 0;
    } else if (able(i)) {
      const Prices as = priced_as(prices, *by.kind, own, i);
      detail::add_money(all[i], systems[i].pod > 0 ? slice_for(systems[i], static_cast<int>(gpus)) : systems[i], gpus, as);
      const bool rented = all[i].price_kind == PriceKind::stated && by.kind != PriceKind::owned;  // an own rent, never what owning costs
      if (all[i].price_kind != by.kind && !rented) {
        all[i].dollars.reset();
        all[i].price_kind.reset();
        all[i].gpu_hour = 0;
      }
    }
  }
  return by;
}

Ranking ranking_of(std::span<const Contender> all) {
  Ranking out;
  for (std::size_t i = 0; i < all.size(); ++i) (all[i].assumed_kernels ? out.left_out : out.ranked).push_back(i);
  const auto names = [&](const std::vector<std::size_t>& of) {
    std::string text;
    for (const std::size_t i : of) text += (text.empty() ? "" : ", ") + all[i].system;
    return text;
  };
  if (out.ranked.empty()) std::swap(out.ranked, out.left_out);  // of one kind
  if (out.ranked.size() == 1 && !out.left_out.empty())
    return {.why = "what kernels reach was measured on processors like those of " + names(out.ranked) + " and on none like those of " +
                   names(out.left_out) + ", where NVIDIA's shares of the peak are assumed: the figures differ in kind"};
  return out;
}

Verdict verdict_of(std::span<const Compared> all) {
  std::vector<Contender> contenders;
  std::vector<const Compared*> can, able, unranked;
  for (const Compared& c : all)
    if (c.trouble.empty()) can.push_back(&c), contenders.push_back({c.system, c.assumed_kernels()});
  if (can.empty()) throw RequestError("no machine can do the job");
  const Ranking ranking = ranking_of(contenders);
  if (!ranking.why.empty()) return {.why = ranking.why};
  for (const std::size_t i : ranking.ranked) able.push_back(can[i]);
  for (const std::size_t i : ranking.left_out) unranked.push_back(can[i]);
  std::stable_sort(able.begin(), able.end(), [](const Compared* a, const Compared* b) { return a->worth() > b->worth(); });
  if (able.size() == 1) return {.best = able[0]};
  const Compared &best = *able[0], &next = *able[1];
  const double faster = best.worth() / next.worth();
  const auto half_width = [](const Compared& c) { return std::log(c.rate.second / c.rate.first) / 2; };
  return {.best = &best,
          .next = &next,
          .faster = faster,
          .apart = best.rate.first > next.rate.second,
          .sure = best.rate.first > next.rate.second && !best.assumed_kernels() && !next.assumed_kernels(),
          .probability = likely_shorter(faster, half_width(best), half_width(next), best.gpu == next.gpu),
          .unranked = unranked};
}

}  // namespace fabricost::plan
