/// Simulates the deployments of a front.

#include <fabricost/in_order.hpp>
#include <fabricost/plan/serving/arrivals/loaded.hpp>
#include <fabricost/plan/serving/offload.hpp>

#include "serving/batches.hpp"
#include "serving/workers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <unordered_set>
#include <utility>

namespace fabricost::plan {

namespace {

constexpr int most_engines = 16;         ///< simulated; of more, each still gets its share of the requests
constexpr double most_sequences = 8192;  ///< of a replica, as in the search
constexpr double closer = 1.011;         ///< 2^(1/64): rates that are told apart, six between two powers of two
constexpr double turnovers = 4;          ///< of the requests in flight
constexpr double most_steady = 32'000;   ///< requests that are drawn for them
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

/// The engine that answers.
[[nodiscard]] Engine engine_of(const ServingQuestion& q, const PricedServing& p, ServingMachine& machine) {
  return Engine{q.model, p.engine, q.format, machine}.sharing(p.apart ? 0 : q.common());
}

/// Engines of one deployment, ready to be simulated.
class Deployed {
 public:
  /// \param reads the machine of prefill workers \param most requests per second of a closed loop
  Deployed(const ServingQuestion& q, const LoadQuestion& load, const System& system, ServingMachine& machine, ServingMachine& reads,
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
    share_ = 1;
    if (!load.trace) {  // equal engines under their share of the requests behave as all of them
      const int parts = std::max(1, p.apart ? std::gcd(engines_, prefills_) : engines_);
      for (int d = parts; d > 1 && share_ == 1; --d)
        if (parts % d == 0 && engines_ / d >= std::min(engines_, most_engines)) share_ = d;
      if (!p.apart && engines_ > most_engines) share_ = static_cast<double>(engines_) / most_engines;
      engines_ = static_cast<int>(std::lround(engines_ / share_));
      prefills_ = static_cast<int>(std::lround(prefills_ / share_));
    }
    const auto share = [&](Scheduler& s) {
      for (CacheTier& tier : s.behind)
        if (tier.common) tier.tokens /= share_;
    };
    share(scheduler_);
    if (!p.apart) return;
    const Engine prefill = Engine{q.model, p.prefill, q.format, reads, q.pool ? HostMemory{} : q.host}.sharing(q.common());
    prefill_.emplace(q.pool ? prefill : with_host(prefill));
    prefill_times_.emplace(*prefill_, q.prefill_stack());
    prefill_scheduler_ = scheduler_of(*prefill_, q.pool ? *q.pool->system : system);
    prefill_scheduler_.elsewhere = p.time.tpot;
    scheduler_.behind.clear();  // prefixes come back to where prompts are read
    scheduler_.route = RequestRoute::fewest;
    share(prefill_scheduler_);
    alone_ = prefill_prompt(*prefill_, q.prefill_stack(), q.isl).alone / q.isl;
  }

  /// \param rate requests per second of all engines; of a trace, its own times this over its rate
  /// \param judged what comes after limits are known to be broken is left out
  [[nodiscard]] std::pair<LoadFigures, Simulated> at(double rate, bool judged = false) {
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

  /// What is seen at a rate if limits are kept.
  [[nodiscard]] std::optional<LoadFigures> kept_at(double rate) {
    const LoadFigures f = at(rate, true).first;
    return !broken_early_ && keeps(f, rate) ? std::optional{f} : std::nullopt;
  }

  /// Whether, where prompts were read apart in the last simulation, prefill workers made more requests late than decode workers did.
  [[nodiscard]] bool reads_late() const { return late_.reading > late_.decoding; }

  /// Requests per second where more arrive than are answered: twice as many as are answered when all are there at once, so many that the
  /// engines fill and empty several times.
  [[nodiscard]] double saturation() {
    if (!saturation_) saturation_ = measured_saturation();
    return *saturation_;
  }

  [[nodiscard]] double measured_saturation() {
    judged_ = false;
    const double held = std::min(scheduler_.sequences, held_of(load_, q_, p_.apart).fit(scheduler_.cache)) * scheduler_.replicas * engines_;
    const int count = static_cast<int>(std::clamp(12 * held, 2000.0, 100'000.0));
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

  /// Whether requests are answered as they come: in what was simulated, or, where that ends before a burst is answered, in the long run.
  [[nodiscard]] bool sustains(const LoadFigures& f, double rate) { return load_.trace || f.rate >= settled * rate || saturation() >= rate; }

  [[nodiscard]] bool limited() const { return load_.goodput > 0 || q_.ttft > 0 || q_.tpot > 0; }
  [[nodiscard]] bool within(const LoadFigures& f) const {
    return load_.goodput > 0 ? f.within >= load_.goodput : (q_.ttft <= 0 || f.ttft.at <= q_.ttft) && (q_.tpot <= 0 || f.tpot.at <= q_.tpot);
  }
  [[nodiscard]] bool keeps(const LoadFigures& f, double rate) { return within(f) && sustains(f, rate); }

  /// The highest rate that is known to keep the limits, and the lowest known to break them. Percentiles near saturation are those of a draw:
  /// what is kept is therefore told by rates that are the same whatever is asked, never by the asked one alone.
  [[nodiscard]] double kept() const { return kept_; }
  [[nodiscard]] double broken() const { return broken_; }
  /// What is answered per second at the highest that is kept, and all that is seen there.
  [[nodiscard]] double answered() const { return answered_; }
  [[nodiscard]] std::pair<LoadFigures, Simulated> at_kept() { return at(kept_); }

  /// Tries the next rate: of a trace all at once, then powers of two until one is kept and the next is not, then between them.
  /// \return false: they are close
  [[nodiscard]] bool narrow() {
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

  /// The deployment with the times of its load, and the parts of the mean time of a token.
  [[nodiscard]] PricedServing priced(const LoadFigures& f, const Simulated& served) const {
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

 private:
  [[nodiscard]] Engine with_host(Engine engine) const {
    if (q_.host.weights + q_.host.cache <= 0) return engine;
    return engine.with(min_host(engine, q_.stack, p_.batch, q_.isl + q_.osl, q_.host));
  }

  /// Engines for each of a layout: without experts nothing joins replicas of attention.
  [[nodiscard]] int joined(const EngineLayout& layout) const { return q_.model.mixture() ? 1 : layout.attention_dp; }

  [[nodiscard]] Scheduler scheduler_of(const Engine& engine, const System& system) const {
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

  [[nodiscard]] KvTransfer sent_of(double prompt) const { return q_.sent(p_.link, prompt, prompt * alone_); }

  /// The engines' share of requests that are drawn. \param rate per second of all \param running of them \param of_answers the least
  /// variation of their lengths
  [[nodiscard]] RequestLoad drawn(double rate, int count = DrawnLoad{}.count, int running = 0, double of_answers = 0) const {
    DrawnLoad out = load_.drawn;
    out.rate = rate / share_;
    out.count = count;
    out.running = running;
    out.of_answers = std::max(out.of_answers, of_answers);
    return drawn_load(out);
  }

  [[nodiscard]] Simulated simulated(const RequestLoad& load) {
    broken_early_ = false;
    Lateness late(q_, load_, first_counted(load), load.requests.size());
    if (prefill_) return apart(load, late);
    return simulate(times_, scheduler_, engines_, load, EngineRole::both, 0, judging([&](std::size_t i, const Served& one) {
      late.add(i, one.first - one.arrived, one.last - one.first, load.requests[i].answer - 1);
      return late.broken();
    }));
  }

  /// Asks `broken` of each answered request, if the limits alone are asked for.
  template <class Broken>
  [[nodiscard]] EnoughKnown judging(Broken broken) {
    if (!judged_) return {};
    return [this, broken](std::size_t i, const Served& one) { return broken_early_ = broken(i, one); };
  }

  /// Prompts on some engines, answers on others.
  [[nodiscard]] Simulated apart(const RequestLoad& load, Lateness& late) {
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

  const ServingQuestion& q_;
  const LoadQuestion& load_;
  PricedServing p_;
  Engine engine_;
  StepTimes times_;
  Scheduler scheduler_, prefill_scheduler_{};
  std::optional<Engine> prefill_{};
  std::optional<StepTimes> prefill_times_{};
  double alone_ = 0;  ///< s of a token of a prompt on prefill workers without other load
  int engines_ = 1, prefills_ = 0;
  double share_ = 1;  ///< of all engines over those simulated
  std::optional<double> saturation_{};
  double start_ = 0;                                                    ///< requests per second, a power of two near what a closed loop answers
  double kept_ = 0, broken_ = std::numeric_limits<double>::infinity();  ///< requests per second
  double answered_ = 0;
  bool tried_at_once_ = false;
  bool judged_ = false, broken_early_ = false;  ///< of the last simulation: whether it ends when limits are broken, and has done so
  struct {
    long long reading = 0, decoding = 0;  ///< requests whose cache comes too late already, and those that are late after it
  } late_{};
};

[[nodiscard]] auto layout_of(const PricedServing& p) {
  return in_order(p.engine.tp, p.engine.pp, p.engine.attention_dp, p.engine.ep, p.replicas, p.prefill.tp, p.prefill.pp,
                  p.prefill.attention_dp, p.prefill.ep, p.prefill_workers);
}

[[nodiscard]] auto kinds_of(const PricedServing& p) {
  return in_order(p.engine.tp, p.engine.pp, p.engine.attention_dp, p.engine.ep, p.prefill.tp, p.prefill.pp, p.prefill.attention_dp, p.prefill.ep,
                  p.domains);
}

/// The same workers in other numbers, with as many prefill workers as fit beside.
class Numbers {
 public:
  Numbers(const ServingQuestion& q, const System& system, const PricedServing& p) : p_(p), pool_(q.pool) {
    const int domain = std::max(1, system.domain);
    ground_ = p.domains > 0 ? detail::Ground{domain, domain, p.domains} : detail::Ground{q.gpus, domain};
    decode_ = ground_.of(p.engine);
    prefill_ = ground_.of(p.prefill);
    if (pool_) {
      const detail::Ground apart{q.pool->gpus, std::max(1, q.pool->system->domain)};
      prefills_ = apart.held(apart.of(p.prefill));
    }
  }
  [[nodiscard]] int most() const { return pool_ ? ground_.held(decode_) : ground_.held(decode_, prefill_); }
  [[nodiscard]] PricedServing with(int decodes) const {
    PricedServing out = p_;
    out.replicas = decodes * ground_.copies;
    out.prefill_workers = pool_ ? prefills_ : ground_.copies * ground_.held(prefill_, {decodes * decode_.gpus, decodes * decode_.places});
    return out;
  }
  /// The decode workers of such a deployment on one ground.
  [[nodiscard]] int of(const PricedServing& p) const { return p.replicas / ground_.copies; }
  [[nodiscard]] bool trades() const { return !pool_; }

 private:
  PricedServing p_;
  bool pool_ = false;
  detail::Ground ground_;
  detail::Footprint decode_, prefill_;
  int prefills_ = 0;
};

}  // namespace

LoadedPlan loaded(const System& system, const ServingQuestion& question, LoadQuestion load) {
  ServingQuestion any = question;
  any.ttft = any.tpot = any.usual_ttft = any.concurrency = 0;
  std::vector<PricedServing> front = serving_pareto(system, any);
  ServingMachine machine(system, question.constants, question.stack.kernels);
  std::optional<ServingMachine> pool;
  if (question.pool) pool.emplace(*question.pool->system, question.pool->constants, question.pool->stack.kernels);
  if (load.drawn.turns == 1) {
    load.drawn.isl = question.isl;
    load.drawn.osl = question.osl;
  }
  const double asked = load.rate();
  std::vector<LoadedServing> out;
  std::vector<std::unique_ptr<Deployed>> deployed;
  std::optional<RequestError> why;
  const auto row_of = [](const Deployed& one, const LoadFigures& figures, const Simulated& served) {
    return LoadedServing{.deployment = one.priced(figures, served),
                         .figures = figures,
                         .hit_rate = served.hit_rate,
                         .reloaded = served.reloaded,
                         .preempted = served.preempted};
  };
  const auto rate_of = [&](const PricedServing& p) { return p.tokens_per_s_per_gpu * question.all_gpus() / question.osl; };
  const auto deploy = [&](const PricedServing& p, double most) {
    return std::make_unique<Deployed>(question, load, system, machine, pool ? *pool : machine, p, most);
  };
  const auto add = [&](std::unique_ptr<Deployed> one) {
    const auto [figures, served] = one->at(asked);
    out.push_back(row_of(*one, figures, served));
    out.back().keeps = load.trace && one->within(figures);
    deployed.push_back(std::move(one));
  };
  for (std::size_t i = 0; i < front.size(); ++i) {
    const auto same = [&](const PricedServing& other) { return layout_of(other) == layout_of(front[i]); };
    if (std::any_of(front.begin(), front.begin() + static_cast<std::ptrdiff_t>(i), same)) continue;
    double most = 0;
    for (const PricedServing& other : front)
      if (same(other)) most = std::max(most, rate_of(other));
    try {
      add(deploy(front[i], most));
    } catch (const RequestError& error) {  // a request is longer than this one's cache, or its parts cannot be joined
      why = error;
    }
  }
  std::vector<std::size_t> order(out.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<bool> open(out.size(), true);  // more may be learnt of the rate up to which it keeps the limits
  const auto rank = [&](std::size_t i) {
    const LoadFigures& f = out[i].figures;
    return in_order(load.trace && !out[i].keeps, open[i] ? -deployed[i]->broken() : -deployed[i]->kept(), -std::round(100 * f.within), f.e2e.mean, i);
  };
  const auto sort_out = [&](std::size_t first) {
    for (std::size_t place = 0; place < std::min(order.size(), first);) {
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
      const std::size_t i = order[place];
      if (!open[i]) {
        ++place;
        continue;
      }
      try {
        open[i] = deployed[i]->narrow();
      } catch (const RequestError& error) {
        why = error;
        order.erase(order.begin() + static_cast<std::ptrdiff_t>(place));
      }
    }
  };
  // the front is of means: percentiles want other numbers of workers, more of the kind that makes most requests late
  if (question.disaggregated && !order.empty() && deployed.front()->limited()) {
    sort_out(1);
    double best = order.empty() ? 0 : deployed[order.front()]->kept();
    // kinds of workers that read prompts sooner than the mean must, that fewer GPUs take whole, of 2, 4, 8 or 16, with some idle
    std::vector<int> counts{question.gpus};
    for (const int whole : {2, 4, 8, 16}) counts.push_back(question.gpus / whole * whole);
    if (question.pool) counts.resize(1);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      any.gpus = counts[i];
      if (any.gpus < 1 || std::find(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(i), any.gpus) != counts.begin() + static_cast<std::ptrdiff_t>(i)) continue;
      for (const double share : {0.0, 1.0, 0.5, 0.25}) {
        if (share == 0 ? i == 0 : question.ttft <= 0) continue;
        any.ttft = share * question.ttft;
        try {
          for (const PricedServing& p : serving_pareto(system, any)) front.push_back(p);
        } catch (const RequestError&) {  // too few for the sizes that are given, or none reads as soon
          break;
        }
      }
    }
    std::stable_sort(front.begin(), front.end(), [&](const PricedServing& a, const PricedServing& b) { return rate_of(a) > rate_of(b); });
    bool fewer = true;  // of the last that was tried, whether fewer decode workers and more prefill workers may answer more
    std::size_t first = order.empty() ? 0 : order.front();
    const auto is_better = [&](const PricedServing& p, double most) {
      auto one = deploy(p, most);
      const double next = best * std::sqrt(closer), before = best;
      const bool keeps = one->kept_at(next).has_value();
      if (keeps) {
        while (one->narrow()) continue;
        best = std::max(best, one->kept());
        if (std::isfinite(one->broken())) static_cast<void>(one->kept_at(one->broken()));
      }
      fewer = one->reads_late();
      if (!keeps) return false;
      add(std::move(one));
      order.push_back(out.size() - 1), open.push_back(false);
      if (best > before) first = out.size() - 1;
      return best > before;
    };
    for (std::size_t i = 0; i < front.size() && std::isfinite(best); ++i) {
      const auto same = [&](const PricedServing& other) { return kinds_of(other) == kinds_of(front[i]); };
      if (std::any_of(front.begin(), front.begin() + static_cast<std::ptrdiff_t>(i), same)) continue;
      const Numbers numbers(question, system, front[i]);
      try {
        for (int low = numbers.trades() ? 1 : numbers.most(), high = numbers.most(); low <= high;) {
          const int middle = low + (high - low) / 2;
          static_cast<void>(is_better(numbers.with(middle), rate_of(front[i])));
          if (fewer)
            high = middle - 1;
          else
            low = middle + 1;
        }
      } catch (const RequestError&) {  // too few of one kind for a request
      }
    }
    if (!order.empty() && std::isfinite(best)) {
      const PricedServing found = out[first].deployment;
      const Numbers numbers(question, system, found);
      for (const int step : {-1, 1})  // who is late near the best is told by few requests
        try {
          for (int decodes = numbers.of(found) + step; numbers.trades() && decodes >= 1 && decodes <= numbers.most(); decodes += step)
            if (!is_better(numbers.with(decodes), best)) break;
        } catch (const RequestError&) {
        }
    }
  }
  sort_out(static_cast<std::size_t>(question.top));
  if (order.empty() && why) throw *why;
  if (order.size() > static_cast<std::size_t>(question.top)) order.resize(static_cast<std::size_t>(question.top));
  std::vector<LoadedServing> best;
  for (const std::size_t i : order) {
    Deployed& one = *deployed[i];
    LoadedServing row = out[i];
    if (!load.trace) {
      // between the rate known to be kept and the one known to be broken the asked one is simulated
      row.keeps = asked <= one.kept() || (asked < std::min(one.broken(), one.saturation()) && one.keeps(row.figures, asked));
      if (row.keeps && !one.keeps(row.figures, asked)) {  // a higher rate's
        const auto [figures, served] = one.at_kept();
        row = row_of(one, figures, served);
        row.keeps = true;
      }
      row.rate_within = std::max(one.kept(), row.keeps ? asked : 0);
      // sessions that pile up lose their prefixes, so that fewer are answered than at a rate that is kept
      row.saturation = std::max(one.saturation(), one.kept());
    } else if (std::isfinite(one.kept())) {  // a trace ends, and with it every queue
      row.rate_within = std::max(one.kept(), row.keeps ? asked : 0);
      row.answered_within = std::max(one.answered(), row.keeps ? row.figures.rate : 0);
    } else if (one.answered() > 0) {
      row.answered_within = one.answered();
    }
    best.push_back(row);
    if (!best.front().keeps) break;  // the nearest, which says what is missed
  }
  return {.load = std::move(load), .deployments = std::move(best), .simulated = static_cast<long long>(out.size())};
}

double most_sequences_of(const System& system, const ServingQuestion& question, const PricedServing& deployment) {
  if (question.batch) return static_cast<double>(*question.batch);
  ServingMachine machine(system, question.constants, question.stack.kernels);
  const Engine engine = engine_of(question, deployment, machine);
  const double replicas = deployment.engine.attention_dp;
  return replicas * std::clamp(std::floor(room_for(engine, question.stack, question.isl + question.osl) / replicas), 1.0, most_sequences);
}

ExpertBalance expert_balance(const System& system, const ServingQuestion& question, const PricedServing& deployment) {
  ServingMachine machine(system, question.constants, question.stack.kernels);
  const Engine engine = engine_of(question, deployment, machine);
  const double held = machine.held_experts(question.model, deployment.engine.ep), rows = 1 + question.stack.drafts;
  return {.fullest = engine.fullest(rows * std::max(1.0, deployment.time.running / deployment.engine.attention_dp)),
          .copies = engine.expert_bytes() * (held - question.model.experts) / held,
          .anew = kv_link(system, 1, deployment.engine.ranks() <= system.domain).seconds(engine.expert_bytes())};
}

double draft_cost(const Model& model) {
  const double all = parameters_of(model).multiplied, head = static_cast<double>(model.hidden) * model.vocab;
  return ((all - head) / model.layers + head) / all;
}

DraftUse use_of_drafts(const System& system, const ServingQuestion& question, const PricedServing& deployment) {
  ServingMachine machine(system, question.constants, question.stack.kernels);
  const Engine engine = engine_of(question, deployment, machine);
  const double each = draft_cost(question.model), longer = 1 + question.stack.drafts * each, context = question.isl + question.osl;
  ServingStack without = question.stack;
  without.drafts = 0;
  without.stretch /= longer;
  without.prefill *= longer / (1 + each);
  const auto at = [&](const ServingStack& stack, double n) {  // requests or tokens per second
    const Engine here = question.host.weights + question.host.cache > 0 ? engine.with(min_host(engine, stack, n, context, question.host)) : engine;
    return deployment.apart ? 1 / decode_step(here, stack, n, question.isl + question.osl / 2).per_token
                            : aggregated(here, stack, {.isl = question.isl, .osl = question.osl, .concurrency = n, .cached = question.cached()}).rate;
  };
  const auto gain = [&](double n) { return at(question.stack, n) / at(without, n); };
  const double most = std::min(std::max(1.0, room_for(engine, question.stack, context)), most_sequences * deployment.engine.attention_dp);
  DraftUse out;
  if (!deployment.apart) out.gain = gain(std::min(std::max(1.0, deployment.batch), most));
  bool paid = false;
  for (double n = 1; n <= most; n *= 2) {
    const bool pays = gain(n) > 1;
    if (pays && !paid) out.batches.emplace_back(n, n);
    if (pays) out.batches.back().second = 2 * n > most ? std::numeric_limits<double>::infinity() : n;
    paid = pays;
  }
  return out;
}

}  // namespace fabricost::plan
