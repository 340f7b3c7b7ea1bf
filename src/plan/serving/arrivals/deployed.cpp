#include "serving/arrivals/deployed.hpp"

#include <fabricost/plan/serving/offload.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

namespace fabricost::plan::detail {

namespace {

constexpr int most_engines = 16;         ///< simulated; of more, each still gets its share of the requests, and of what prompts find
constexpr double turnovers = 4;          ///< of the requests in flight
constexpr double most_steady = 32'000;   ///< requests that are drawn for them
constexpr double fillings = 12;          ///< times that engines fill and empty where more arrives than they answer
constexpr double most_saturating = 100'000;  ///< requests that are drawn for them
constexpr double settled = 0.98;         ///< share of the arriving requests that a service answers which does not fall behind

/// As answers print it, so that a rate can be asked for as it was printed.
[[nodiscard]] double in_four_digits(double rate) {
  const double scale = std::pow(10, std::max(0.0, 3 - std::floor(std::log10(rate))));
  return std::round(rate * scale) / scale;
}

/// Tokens of a replica's cache when requests are answered.
struct Held {
  double each = 1;  ///< of the mean request, for itself
  double once = 0;  ///< of all together
  /// Requests that it has room for.
  [[nodiscard]] double fit(double cache) const { return std::max(1.0, std::floor((cache - once) / each)); }
};

/// \param whole every request holds all of its prompt, as on decode workers
[[nodiscard]] Held held_of(const LoadQuestion& load, const ServingQuestion& q, bool whole) {
  const double all = q.isl + q.osl;
  if (whole) return {all};
  if (!load.trace) return {all - load.drawn.shared, static_cast<double>(load.drawn.shared)};
  const RequestLoad& trace = *load.trace;
  const std::unordered_set<std::uint32_t> blocks(trace.hashes.begin(), trace.hashes.end());
  return {std::max(1.0, all - static_cast<double>((trace.hashes.size() - blocks.size()) * static_cast<std::size_t>(trace.block)) /
                                  static_cast<double>(trace.requests.size()))};
}

}  // namespace

/// Counts late requests until limits cannot be kept any more.
class Lateness {
 public:
  Lateness(const ServingQuestion& q, const LoadQuestion& load, std::size_t from, std::size_t count) : q_(q), from_(from) {
    const auto counted = static_cast<double>(count - from);
    goodput_ = load.goodput > 0;
    most_ = goodput_ ? (1 - load.goodput) * counted + 1 : counted - std::floor((counted - 1) * load.percentile / 100) - 1;
  }
  /// \param first s to the first token \param rest s of the others, and their number
  void add(std::size_t request, double first, double rest = 0, double further = 0) {
    if (request < from_) return;
    const bool late_first = q_.ttft > 0 && first > q_.ttft, late_rest = q_.tpot > 0 && further > 0 && rest / further > q_.tpot;
    first_ += late_first ? 1 : 0;
    rest_ += late_rest ? 1 : 0;
    any_ += late_first || late_rest ? 1 : 0;
  }
  [[nodiscard]] bool broken() const { return goodput_ ? any_ > most_ : std::max(first_, rest_) > most_; }

 private:
  const ServingQuestion& q_;
  std::size_t from_;
  bool goodput_ = false;
  double most_ = 0, first_ = 0, rest_ = 0, any_ = 0;
};

Deployed::Deployed(const ServingQuestion& q, const LoadQuestion& load, const System& system, ServingMachine& machine, ServingMachine& reads,
                   const PricedServing& p, double most)
    : q_(q),
      load_(load),
      p_(p),
      engine_(with_host(engine_of(q, p, machine))),
      times_(engine_, q.stack),
      scheduler_(scheduler_of(engine_, system)),
      start_(most > 0 ? std::exp2(std::floor(std::log2(most))) : 0) {
  engines_ = p.replicas * joined(p.engine);
  prefills_ = p.prefill_workers * joined(p.prefill);
  if (p.apart) read_apart(system, reads);
  if (load.trace) return;
  const int parts = equal_parts();
  double share = 1;
  for (int d = parts; d > 1 && share == 1; --d)
    if (parts % d == 0 && engines_ / d >= std::min(engines_, most_engines)) share = d;
  if (!p.apart && engines_ > most_engines) share = static_cast<double>(engines_) / most_engines;
  take_share(share);
}

void Deployed::read_apart(const System& system, ServingMachine& reads) {
  const Engine prefill = Engine{q_.model, p_.prefill, q_.format, reads, q_.pool ? HostMemory{} : q_.host}.sharing(q_.common());
  prefill_.emplace(q_.pool ? prefill : with_host(prefill));
  prefill_times_.emplace(*prefill_, q_.prefill_stack());
  prefill_scheduler_ = scheduler_of(*prefill_, q_.pool ? *q_.pool->system : system);
  prefill_scheduler_.elsewhere = p_.time.tpot;
  scheduler_.behind.clear();  // prefixes come back to where prompts are read
  scheduler_.route = RequestRoute::fewest;
  alone_ = prefill_prompt(*prefill_, q_.prefill_stack(), q_.isl).alone / q_.isl;
}

void Deployed::take_share(double share) {
  share_ *= share;
  engines_ = static_cast<int>(std::lround(engines_ / share));
  prefills_ = static_cast<int>(std::lround(prefills_ / share));
  for (Scheduler* const one : {&scheduler_, &prefill_scheduler_})
    for (CacheTier& tier : one->behind)
      if (tier.common) tier.tokens /= share;
}

std::pair<LoadFigures, Simulated> Deployed::at(double rate, bool judged) {
  judged_ = judged && limited();
  RequestLoad load = load_.trace ? faster(*load_.trace, rate / load_.trace->rate) : drawn(rate);
  Simulated served = simulated(load);
  LoadFigures figures = figures_of(load, served, load_.percentile, q_.ttft, q_.tpot);
  // those in flight come and go `turnovers` times, half of them before what counts, as in a service that has run for long
  while (!load_.trace && load_.drawn.turns == 1 && !broken_early_ && within(figures)) {
    const double in_flight = rate / share_ * figures.e2e.mean, all = std::floor(std::min(turnovers * in_flight, most_steady));
    const double drawn_already = static_cast<double>(load.requests.size());
    const auto before = static_cast<std::size_t>(all / 2);
    if (all >= 1.1 * drawn_already) {
      load = drawn(rate, static_cast<int>(all));
      served = simulated(load);
    } else if (all / 2 <= 1.1 * std::max(static_cast<double>(load.warm_up), warm_up * drawn_already)) {
      break;
    }
    load.warm_up = before;
    figures = figures_of(load, served, load_.percentile, q_.ttft, q_.tpot);
  }
  figures.rate *= share_;
  figures.tokens *= share_;
  figures.in_flight *= share_;
  return {figures, std::move(served)};
}

std::optional<LoadFigures> Deployed::kept_at(double rate) {
  const LoadFigures f = at(rate, true).first;
  return !broken_early_ && keeps(f, rate) ? std::optional{f} : std::nullopt;
}

double Deployed::saturation() {
  if (!saturation_) saturation_ = measured_saturation();
  return *saturation_;
}

double Deployed::measured_saturation() {
  judged_ = false;
  const double held_by_each = std::min(scheduler_.sequences, held_of(load_, q_, p_.apart).fit(scheduler_.cache)) * scheduler_.replicas;
  const int parts = load_.trace ? 1 : equal_parts();
  int share = 1;
  for (int d = 2; d <= parts && fillings * held_by_each * engines_ / share > most_saturating; ++d)
    if (parts % d == 0) share = d;
  take_share(share);
  const double out = measured_saturation(held_by_each * engines_);
  take_share(1.0 / share);
  return out;
}

double Deployed::measured_saturation(double held) {
  const int count = static_cast<int>(std::clamp(fillings * held, 2000.0, most_saturating));
  const auto many = [&](double rate) { return drawn(rate, count, static_cast<int>(std::min<double>(held, count)), usual_variation); };
  double last = 0;
  for (const Served& one : simulated(many(std::numeric_limits<double>::infinity())).requests) last = std::max(last, one.last);
  double sent = 2 * share_ * count / last;
  RequestLoad load = many(sent);
  Simulated served = simulated(load);
  const auto rate = [&] { return share_ * figures_of(load, served, load_.percentile, q_.ttft, q_.tpot).rate; };
  for (int i = 0; i < 6 && load_.drawn.turns > 1 && rate() > settled * sent; ++i) {  // what comes at once has no prefixes to find
    sent *= 2;
    load = many(sent);
    served = simulated(load);
  }
  std::vector<double> ends;
  for (const Served& one : served.requests) ends.push_back(one.last);
  const double end = served.end, middle = end / 2;
  const auto ended = std::count_if(ends.begin(), ends.end(), [&](double at) { return at > middle && at <= end; });
  if (ended * 10 > count) return share_ * static_cast<double>(ended) / (end - middle);
  // places for more than arrive: between the first and the last quarter of the answers
  std::sort(ends.begin(), ends.end());
  const std::size_t quarter = ends.size() / 4;
  return share_ * static_cast<double>(ends.size() - 2 * quarter) / (ends[ends.size() - 1 - quarter] - ends[quarter]);
}

bool Deployed::within(const LoadFigures& f) const {
  return load_.goodput > 0 ? f.within >= load_.goodput : (q_.ttft <= 0 || f.ttft.at <= q_.ttft) && (q_.tpot <= 0 || f.tpot.at <= q_.tpot);
}

bool Deployed::narrow() {
  constexpr double least = 1e-4, most = 1e6;
  if (!limited()) {
    if (load_.trace) kept_ = std::numeric_limits<double>::infinity();
    else static_cast<void>(saturation());
  }
  if (std::isinf(kept_) || !(start_ > 0) || broken_ <= closer * kept_ || broken_ < least * start_ || kept_ > most * start_) {
    // what was simulated ends before a queue is seen to grow; sessions that pile up lose their prefixes, and saturate at less than is kept
    if (kept_ > 0 && !load_.trace && load_.drawn.turns == 1) kept_ = std::min(kept_, in_four_digits(saturation()));
    return false;
  }
  if (load_.trace && !tried_at_once_) {
    tried_at_once_ = true;
    const auto f = kept_at(std::numeric_limits<double>::infinity());
    if (f) kept_ = std::numeric_limits<double>::infinity(), answered_ = f->rate;
    return true;
  }
  const double rate = in_four_digits(kept_ <= 0              ? std::isinf(broken_) ? start_ : broken_ / 2
                                     : std::isinf(broken_) ? 2 * kept_
                                                           : std::sqrt(kept_ * broken_));
  const bool known = !limited() && saturation_ && rate <= *saturation_;
  const std::optional<LoadFigures> f = known ? std::nullopt : kept_at(rate);
  if (known || f)
    kept_ = rate, answered_ = known ? rate : f->rate;
  else
    broken_ = rate;
  return true;
}

PricedServing Deployed::priced(const LoadFigures& f, const Simulated& served) const {
  PricedServing out = p_;
  const double replicas = p_.engine.attention_dp, running = std::max(1.0, served.running * replicas),
               context = std::max(1.0, served.context);
  const DecodeStep step = decode_step(engine_, q_.stack, running, context);
  ServingTime& t = out.time;
  t = {};
  t.decode = step.forward;
  t.step = step.seconds;
  t.running = running;
  t.ttft = f.ttft.mean;
  t.tpot = f.tpot.mean;
  t.host = t.tpot > 0 ? step.host / q_.stack.tokens_per_step() : 0;
  t.interference = t.tpot > 0 ? std::max(0.0, t.tpot - step.per_token) : 0;
  t.queue = std::min(f.queue, t.ttft);
  t.reload = std::min(served.reload, t.ttft - t.queue);
  if (prefill_) {
    const KvTransfer sent = sent_of(q_.isl);
    t.transfer = std::min(sent.waited, t.ttft - t.queue - t.reload);
    const double links = static_cast<double>(p_.prefill_workers) * p_.prefill.attention_dp, servers = links * p_.prefill.pp;
    t.link_use = std::min(1.0, f.rate * sent.taken / std::min(links, p_.replicas * replicas));
    t.prefill_use =
        std::min(1.0, f.rate * (1 - served.hit_rate) * prompt_of_many(prefill_prompt(*prefill_, q_.prefill_stack(), q_.isl)) / servers);
  }
  const double fixed = q_.stack.first + (prefill_ ? q_.stack.handover : 0);  // a step that runs already is in the queue
  t.prompt = std::max(0.0, t.ttft - t.queue - t.reload - t.transfer - fixed);
  t.prompts = prefill_ ? 0 : q_.osl > 1 ? served.prompts : 1;
  t.rate = f.rate;
  out.cached = served.hit_rate * q_.isl;
  out.moving = served.moving;
  out.batch = std::max(1.0, std::round(running));
  out.requests = f.in_flight;
  out.tokens_per_s_per_gpu = f.tokens / q_.all_gpus();
  out.tokens_per_s_per_user = 1 / (t.tpot > 0 ? t.tpot : t.ttft);
  out.cache = engine_.cache(out.batch, context);
  out.on_host = engine_.host().weights + engine_.cache_on_host(out.batch, context, q_.stack.memory_share, q_.stack.cache_share);
  out.memory = out.weights + out.cache - out.on_host;
  return out;
}

Engine Deployed::with_host(Engine engine) const {
  if (q_.host.weights + q_.host.cache <= 0) return engine;
  return engine.with(min_host(engine, q_.stack, p_.batch, q_.isl + q_.osl, q_.host));
}

Scheduler Deployed::scheduler_of(const Engine& engine, const System& system) const {
  const double context = q_.isl + q_.osl, each = engine.kv(context) / context;
  const double bytes = std::max(0.0, engine.room(q_.stack.memory_share, q_.stack.cache_share)) + engine.host().cache;
  Scheduler out;
  out.replicas = engine.layout().attention_dp / joined(engine.layout());
  out.cache = each > 0 ? bytes / each : std::numeric_limits<double>::infinity();
  const double fit = held_of(load_, q_, p_.apart).fit(out.cache);  // as many as a closed loop has clients at most
  out.sequences = q_.batch ? std::max(1.0, std::ceil(static_cast<double>(*q_.batch) / engine.layout().attention_dp))
                           : std::min(most_sequences, fit);
  out.chunk = q_.stack.chunk;
  out.poll = q_.stack.poll;
  out.together = static_cast<int>(q_.stack.together);
  out.first = q_.stack.first;
  out.ahead = q_.stack.first_steps > 1 ? 1 : 0;
  out.route = load_.route;
  for (const PrefixStore& store : load_.stores) {
    const int gpus = engine.layout().cache_gpus();
    const KvLink link = link_of(store, system, gpus);
    const bool common = store.tier == PrefixTier::remote;
    if (each > 0)
      out.behind.push_back({.tokens = room_of(store, system) / each * (common ? static_cast<double>(q_.gpus) / gpus : 1),
                            .common = common,
                            .start = link.start,
                            .token = each * gpus / link.rate});
  }
  out.drafts = q_.stack.drafts;
  out.acceptance = q_.stack.acceptance;
  return out;
}

RequestLoad Deployed::drawn(double rate, int count, int running, double of_answers) const {
  DrawnLoad out = load_.drawn;
  out.rate = rate / share_;
  out.count = count;
  out.running = running;
  out.of_answers = std::max(out.of_answers, of_answers);
  const Scheduler& reads = prefill_ ? prefill_scheduler_ : scheduler_;
  const bool found_anywhere =
      reads.route == RequestRoute::prefix || std::any_of(reads.behind.begin(), reads.behind.end(), [](const CacheTier& one) { return one.common; });
  if (!found_anywhere) out.alike = std::max(1, static_cast<int>(std::lround(std::min(share_, 1e6))));
  return drawn_load(out);
}

Simulated Deployed::simulated(const RequestLoad& load) {
  broken_early_ = false;
  Lateness late(q_, load_, first_counted(load), load.requests.size());
  if (prefill_) return apart(load, late);
  return simulate(times_, scheduler_, engines_, load, EngineRole::both, 0, judging([&](std::size_t i, const Served& one) {
    late.add(i, one.first - one.arrived, one.last - one.first, load.requests[i].answer - 1);
    return late.broken();
  }));
}

Simulated Deployed::apart(const RequestLoad& load, Lateness& late) {
  late_ = {};
  Scheduler reads = prefill_scheduler_;
  reads.drafts = 0;
  Lateness of_reading = late;
  Simulated first = simulate(*prefill_times_, reads, prefills_, load, EngineRole::prefill, 0, judging([&](std::size_t i, const Served& one) {
    of_reading.add(i, one.first - one.arrived);
    return of_reading.broken();
  }));
  if (broken_early_) {
    late_.reading = 1;
    return first;
  }
  const std::size_t count = load.requests.size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return in_order(first.requests[a].first, a) < in_order(first.requests[b].first, b); });
  // the links of all replicas that read prompts, and of those that decode, take transfers as servers of one queue take customers
  std::vector<double> sending(static_cast<std::size_t>(prefills_ * reads.replicas), 0.0);
  std::vector<double> receiving(static_cast<std::size_t>(engines_ * scheduler_.replicas), 0.0);
  RequestLoad handed;
  handed.requests.reserve(count);
  for (const std::size_t i : order) {
    const auto from = std::min_element(sending.begin(), sending.end()), to = std::min_element(receiving.begin(), receiving.end());
    const KvTransfer sent = sent_of(load.requests[i].prompt);
    *from = *to = std::max(first.requests[i].first + q_.stack.handover + sent.waited, std::max(*from, *to) + sent.taken);
    handed.requests.push_back({.at = *to, .prompt = load.requests[i].prompt, .answer = load.requests[i].answer});
  }
  std::vector<std::size_t> place(count);
  std::iota(place.begin(), place.end(), std::size_t{0});
  std::sort(place.begin(), place.end(),
            [&](std::size_t a, std::size_t b) { return in_order(handed.requests[a].at, a) < in_order(handed.requests[b].at, b); });
  RequestLoad sorted;
  for (const std::size_t k : place) sorted.requests.push_back(handed.requests[k]);
  Simulated out = simulate(times_, scheduler_, engines_, sorted, EngineRole::decode, 0, judging([&](std::size_t k, const Served& one) {
    const std::size_t i = order[place[k]];
    late.add(i, one.started - first.requests[i].arrived, one.last - one.started, load.requests[i].answer - 1);
    return late.broken();
  }));
  std::vector<Served> all(count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = order[place[k]];
    const Served& then = out.requests[k];
    const double waited = then.started - then.arrived;  // for a place beside other sequences
    all[i] = {first.requests[i].arrived, first.requests[i].started, then.first + waited, then.last};
    const double further = load.requests[i].answer - 1;
    if (q_.ttft > 0 && then.first - all[i].arrived > q_.ttft)
      ++late_.reading;
    else if ((q_.ttft > 0 && all[i].first - all[i].arrived > q_.ttft) || (q_.tpot > 0 && then.last - all[i].first > further * q_.tpot))
      ++late_.decoding;
  }
  out.requests = std::move(all);
  out.end = first.end;
  out.hit_rate = first.hit_rate;
  out.reloaded = first.reloaded;
  out.reload = first.reload;
  out.moving = first.moving;
  out.preempted += first.preempted;
  return out;
}

bool Deployed::sustains(const LoadFigures& f, double rate) {
  return load_.trace || f.rate >= settled * rate || saturation() >= rate;
}

}  // namespace fabricost::plan::detail
