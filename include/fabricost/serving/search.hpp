#pragma once
/// \file search.hpp
/// The search over serving deployments (plan.hpp describes the space): enumeration, batches, the best ones
/// and the Pareto front.

#include <fabricost/in_order.hpp>
#include <fabricost/model/dimension.hpp>
#include <fabricost/serving/batches.hpp>
#include <fabricost/serving/offload.hpp>
#include <fabricost/serving/question.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::detail {

inline constexpr double max_sequences = 8192;  ///< per attention replica (assumed: above the settings of engines)
inline constexpr std::size_t prefill_workers_tried =
    12;                                    ///< prefill layouts tried with every decode layout (assumed: the others are worse)
inline constexpr int max_loose = 128;      ///< machines of up to this many GPUs may leave some idle
inline constexpr double front_step = 1.1;  ///< ratio of neighbours on a front in one of the two rates; more rows add no information

/// Collects the deployments that are not dominated in both rates.
class ServingFront {
 public:
  /// Whether a deployment with `all` tokens per second and GPU and `user` per user would be on the front.
  [[nodiscard]] bool lacks(double all, double user) const {
    const auto at = user_by_all_.lower_bound(all);
    return at == user_by_all_.end() || at->second < user;
  }
  void add(const PricedServing& p) {
    const double all = rounded(p.tokens_per_s_per_gpu), user = rounded(p.tokens_per_s_per_user);
    // equal ones are kept until listed, so that the result does not depend on the order of discovery
    const auto above = user_by_all_.lower_bound(all);
    if (above != user_by_all_.end() && above->second >= user && (above->first > all || above->second > user)) return;
    kept_.push_back(p);
    auto at = user_by_all_.insert_or_assign(all, user).first;
    while (at != user_by_all_.begin() && std::prev(at)->second <= user) user_by_all_.erase(std::prev(at));
  }
  /// Most per user first; both ends, and between them rows that differ by `front_step`.
  [[nodiscard]] std::vector<PricedServing> rows() {
    std::stable_sort(kept_.begin(), kept_.end(), [](const PricedServing& a, const PricedServing& b) {
      const double user_a = rounded(a.tokens_per_s_per_user), user_b = rounded(b.tokens_per_s_per_user);
      return user_a != user_b ? user_a > user_b : better(a, b);
    });
    std::vector<PricedServing> front, out;
    for (const PricedServing& p : kept_)
      if (front.empty() || rounded(p.tokens_per_s_per_gpu) > rounded(front.back().tokens_per_s_per_gpu)) front.push_back(p);
    for (std::size_t i = 0; i < front.size(); ++i)
      if (i == 0 || i + 1 == front.size() || front[i].tokens_per_s_per_gpu >= front_step * out.back().tokens_per_s_per_gpu ||
          front_step * front[i].tokens_per_s_per_user <= out.back().tokens_per_s_per_user)
        out.push_back(front[i]);
    return out;
  }

 private:
  std::vector<PricedServing> kept_;
  std::map<double, double> user_by_all_;
};

class ServingSearch {
 public:
  ServingSearch(const ServingQuestion& q, const System& system) : q_(q), system_(system), machine_(system, q.constants, q.stack.kernels) {}

  [[nodiscard]] ServingPlan run() {
    const std::vector<Engine> engines = all_engines(q_.sizes());
    std::optional<PricedServing> of_group, idle;  // best of one decode worker; best that leaves GPUs idle
    const Engine* group = nullptr;
    const auto keep = [](std::optional<PricedServing>& kept, const PricedServing& p) {
      if (!kept || better(p, *kept)) kept = p;
    };
    each_deployment(engines, [&](const Deployment& d) {
      if (d.group != group && of_group) list(*of_group), of_group.reset();
      group = d.group;
      const std::optional<PricedServing> best = best_of(d, d.idle ? max_listed() : min_listed());
      if (best && d.idle)
        keep(idle, *best);
      else if (best && d.group != nullptr)
        keep(of_group, *best);
      else if (best)
        list(*best);
    });
    if (of_group) list(*of_group);
    std::vector<PricedServing>& found = plan_.layouts;
    std::stable_sort(found.begin(), found.end(), better);
    if (idle && (found.empty() || better(*idle, found.front()))) found.insert(found.begin(), *idle);
    if (static_cast<int>(found.size()) > q_.top) found.resize(static_cast<std::size_t>(q_.top));
    return std::move(plan_);
  }

  [[nodiscard]] std::vector<PricedServing> pareto() {
    ServingFront front;
    const std::vector<Engine> engines = all_engines(q_.sizes());
    each_deployment(engines, [&](const Deployment& d) {
      visit_batches(
          d.batches, d.ceiling,
          [&](double batch) {
            PricedServing p = d.price(batch);
            if (missed(p.time) <= 1) front.add(p);
            return p;
          },
          [&](const PricedServing& left, double max) { return missed(left.time) <= 1 && front.lacks(max, left.tokens_per_s_per_user); });
    });
    return front.rows();
  }

 private:
  /// One way to use the GPUs, with its batch sizes.
  struct Deployment {
    Batches batches;
    std::function<PricedServing(double)> price;
    bool idle = false;                                         ///< leaves GPUs idle
    const Engine* group = nullptr;                             ///< the decode worker, if disaggregated
    double ceiling = std::numeric_limits<double>::infinity();  ///< upper bound of tokens per second and GPU
  };

  /// Whether engines may leave GPUs idle: on one machine, where additional GPUs then only enlarge the space.
  [[nodiscard]] bool loosely() const {
    return !q_.disaggregated && q_.gpus <= std::min(max_loose, std::max(system_.domain, system_.gpus_per_node));
  }
  /// Sizes of one dimension: all numbers, or the divisors of the GPUs.
  [[nodiscard]] std::vector<int> sizes(int max) const {
    if (!loosely()) return divisors(q_.gpus, max);
    std::vector<int> out;
    for (int n = 1; n <= std::min(q_.gpus, max); ++n) out.push_back(n);
    return out;
  }

  [[nodiscard]] std::vector<Engine> all_engines(const ServingQuestion::Sizes& given) {
    std::vector<Engine> out;
    std::string why;
    const bool mixture = q_.model.mixture();
    const bool evenly = !q_.disaggregated && !loosely();
    for (const int tp : either(given.tp, sizes(std::max(1, system_.domain))))
      for (const int pp : either(given.pp, sizes(16)))
        for (const int dp : either(given.attention_dp, sizes(mixture ? q_.gpus : 1))) {
          EngineLayout l{tp, dp, pp, 1};
          if (dp > 1 && !given.attention_dp && loosely() && odd_group(l.ranks())) continue;
          if (l.gpus() > q_.gpus || (evenly && q_.gpus % l.gpus() != 0)) continue;
          std::vector<int> expert{1};
          if (given.ep)
            expert = {*given.ep};
          else if (mixture && l.ranks() > 1 && l.ranks() <= q_.model.experts && (dp > 1 || !why_not(l).empty()))
            expert.push_back(l.ranks());  // on tensor ranks alone, split and distributed experts cost the same
          for (const int ep : expert) {
            l.ep = ep;
            if (const std::string no = why_not(l); !no.empty()) {
              why = no;
              continue;
            }
            try {
              Engine engine{q_.model, l, q_.format, machine_, q_.host};
              if (const double lacks = lacking(engine, dp); lacks > 0) {
                leave_out(l, lacks);
                continue;
              }
              out.push_back(engine);
            } catch (const RequestError& error) {  // the machine cannot join these ranks but may join others
              why = error.what();
            }
          }
        }
    if (out.empty() && !plan_.nearest_fit)
      throw Refusal(why.empty() ? "the sizes given do not divide " + std::to_string(q_.gpus) + " GPUs; leave one of them out" : why);
    return out;
  }

  /// Groups of 17, 19, 22, ... ranks of a rack: not used in practice, and each needs its own table of loads.
  [[nodiscard]] static bool odd_group(int ranks) {
    if (ranks <= 16) return false;
    for (const int prime : {2, 3, 5, 7})
      while (ranks % prime == 0) ranks /= prime;
    return ranks > 1;
  }
  /// The reason why a layout is skipped; empty if it is not.
  [[nodiscard]] std::string why_not(const EngineLayout& l) const {
    if (std::string no = why_impossible(q_.model, l); !no.empty()) return no;
    if (std::string no = why_refused(q_.model, l, q_.format.weights); !no.empty()) return no;
    if (q_.stack.kernels.routing.kind == RoutingKind::histogram && q_.model.experts % l.ep != 0)
      return q_.model.name + ": the loads given are of " + std::to_string(q_.model.experts) + " experts, which do not divide over " +
             std::to_string(l.ep) + " ranks";
    return {};
  }
  /// Bytes that a GPU lacks for `sequences` sequences with maximum use of host memory; at most 0: none.
  [[nodiscard]] double lacking(const Engine& e, double sequences) const {
    const double stays = std::max(0.0, e.cache(sequences, q_.isl + q_.osl) - q_.host.cache) / q_.stack.cache_share;
    const double lacks = stays - e.room(q_.stack.memory_share);
    return e.capacity(q_.isl + q_.osl, q_.stack.memory_share, q_.stack.cache_share) >= sequences ? 0 : std::max(lacks, 1.0);
  }
  void leave_out(const EngineLayout& l, double lacks) {
    ++plan_.pruned;
    if (!plan_.nearest_fit || lacks < plan_.lacking) plan_.nearest_fit = l, plan_.lacking = lacks;
  }

  /// Sequences that an engine may run: those that fit, at most `max_sequences` per attention replica.
  [[nodiscard]] double room_of(const Engine& e) const {
    return std::min(e.capacity(q_.isl + q_.osl, q_.stack.memory_share, q_.stack.cache_share), max_sequences * e.layout().attention_dp);
  }
  /// The engine with the minimum of host memory for this batch.
  [[nodiscard]] Engine placed(const Engine& e, double batch, double context) const {
    if (q_.host.weights + q_.host.cache <= 0) return e;
    return e.with(min_host(e, q_.stack, batch, context, q_.host));
  }
  /// A prompt on the engine without fetches from the host.
  [[nodiscard]] Prefill prompt_of(const Engine& e) const { return prefill_prompt(e.with({}), q_.stack, q_.isl); }

  [[nodiscard]] PricedServing finished(PricedServing out, const Engine& decode, double requests_per_s) const {
    out.tokens_per_s_per_gpu = rounded(requests_per_s * q_.osl / q_.gpus);
    out.tokens_per_s_per_user = rounded(1 / (q_.osl > 1 ? out.time.tpot : out.time.ttft));
    out.weights = decode.weights();
    out.cache = decode.cache(out.time.running, q_.isl + q_.osl);
    out.on_host =
        decode.host().weights + decode.cache_on_host(out.time.running, q_.isl + q_.osl, q_.stack.memory_share, q_.stack.cache_share);
    out.memory = out.weights + out.cache - out.on_host;
    return out;
  }
  /// Largest ratio to a limit; at most 1: all limits are met.
  [[nodiscard]] double missed(const ServingTime& t) const {
    return std::max(q_.ttft > 0 ? t.ttft / q_.ttft : 0, q_.tpot > 0 ? t.tpot / q_.tpot : 0);
  }

  /// Lists one of the deployments that differ only in how experts are split.
  void list(const PricedServing& p) {
    for (PricedServing& other : plan_.layouts)
      if (figures_of(other) == figures_of(p)) {
        if (better(p, other)) other = p;
        return;
      }
    plan_.layouts.push_back(p);
  }
  [[nodiscard]] double max_listed() const {
    double out = 0;
    for (const PricedServing& p : plan_.layouts) out = std::max(out, p.tokens_per_s_per_gpu);
    return out;
  }
  /// Tokens per second and GPU of the last listed deployment; those below it need not be refined.
  [[nodiscard]] double min_listed() {
    std::vector<PricedServing>& found = plan_.layouts;
    if (static_cast<int>(found.size()) <= q_.top) return 0;
    std::vector<double> rates;
    rates.reserve(found.size());
    for (const PricedServing& p : found) rates.push_back(p.tokens_per_s_per_gpu);
    const auto last = rates.begin() + q_.top;
    std::nth_element(rates.begin(), last, rates.end(), std::greater<>{});
    return *last;
  }

  /// The best batch of a deployment within the limits. \param enough throughput below which it is not refined
  [[nodiscard]] std::optional<PricedServing> best_of(const Deployment& d, double enough) {
    std::optional<PricedServing> best;
    std::optional<PricedServing> first;
    visit_batches(
        d.batches, d.ceiling,
        [&](double batch) {
          PricedServing p = d.price(batch);
          if (!first) first = p;
          if (missed(p.time) <= 1 && (!best || better(p, *best))) best = p;
          return p;
        },
        [&](const PricedServing& left, double max) {
          if (missed(left.time) > 1 || max < enough) return false;  // a larger batch exceeds the limits further
          const double now = rounded(best->tokens_per_s_per_gpu);
          return rounded(max) > now || (rounded(max) == now && rounded(left.tokens_per_s_per_gpu) < now);
        });
    if (!best && first) {
      ++plan_.pruned;
      if (!plan_.nearest || missed(first->time) < plan_.missed) plan_.nearest = first, plan_.missed = missed(first->time);
    }
    return best;
  }

  template <class Visit>
  void each_deployment(const std::vector<Engine>& engines, Visit&& visit) {
    if (q_.disaggregated) return apart(engines, visit);
    for (const bool idle : {false, true})
      for (const Engine& e : engines)
        if ((q_.gpus % e.layout().gpus() != 0) == idle) together(e, idle, visit);
  }

  template <class Visit>
  void together(const Engine& e, bool idle, Visit&& visit) {
    const int replicas = q_.gpus / e.layout().gpus();
    const double room = room_of(e);
    Deployment d{.batches = Batches::up_to(room), .price = {}, .idle = idle};
    if (q_.batch) {
      if (*q_.batch > room) return leave_out(e.layout(), lacking(e, *q_.batch));
      d.batches = Batches::only(*q_.batch);
    } else if (q_.concurrency > 0) {
      d.batches = Batches::only(std::max(1.0, std::ceil(q_.concurrency / replicas)));
    }
    const Prefill prompt = prompt_of(e);
    d.price = [&](double batch) {
      ++plan_.evaluated;
      const Engine at = placed(e, std::min(batch, room), q_.isl + q_.osl);
      PricedServing out;
      out.engine = e.layout();
      out.replicas = replicas;
      out.batch = batch;
      out.time = aggregated(at, q_.stack, {q_.isl, q_.osl, batch}, fetching(prompt, at, q_.stack, q_.isl));
      // with a given concurrency, some engines have one sequence fewer, since sequences are whole
      out.requests = q_.concurrency > 0 ? std::min(q_.concurrency, batch * replicas) : batch * replicas;
      return finished(out, at, out.time.rate * out.requests / batch);
    };
    visit(d);
  }

  struct PrefillWorker {
    Engine engine;
    Prefill prompt;
    double rate = 0;  ///< prompts per second and GPU
  };

  template <class Visit>
  void apart(const std::vector<Engine>& engines, Visit&& visit) {
    std::vector<PrefillWorker> workers;
    for (const Engine& e : q_.prefill.any() ? all_engines(q_.prefill) : engines) {
      const Engine at = placed(e, e.layout().attention_dp, q_.isl);
      const Prefill prompt = fetching(prompt_of(e), at, q_.stack, q_.isl);
      const double servers = static_cast<double>(e.layout().attention_dp) * e.layout().pp;
      workers.push_back({at, prompt, servers / prompt_of_many(prompt) / e.layout().gpus()});
    }
    // those within the limit on TTFT by prompts per second and GPU, then the fastest of the others
    const auto key = [&](const PrefillWorker& w) {
      const EngineLayout& l = w.engine.layout();
      const bool slow = q_.ttft > 0 && w.prompt.alone > q_.ttft;
      return in_order(slow, rounded(slow ? w.prompt.alone : -w.rate), l.tp, l.pp, l.attention_dp, l.ep);
    };
    std::stable_sort(workers.begin(), workers.end(), [&](const PrefillWorker& a, const PrefillWorker& b) { return key(a) < key(b); });
    if (workers.size() > prefill_workers_tried)
      workers.erase(workers.begin() + static_cast<std::ptrdiff_t>(prefill_workers_tried), workers.end());
    for (const Engine& decode : engines)
      for (const PrefillWorker& w : workers) pair(w, decode, visit);
  }

  template <class Visit>
  void pair(const PrefillWorker& prefill, const Engine& decode, Visit&& visit) {
    const int each_prefill = prefill.engine.layout().gpus(), each_decode = decode.layout().gpus();
    if (each_prefill + each_decode > q_.gpus) return;
    const double context = q_.isl + q_.osl, room = room_of(decode);
    if (q_.batch && *q_.batch > room) return leave_out(decode.layout(), lacking(decode, *q_.batch));
    // answers per second of one decode worker at the largest batch within the limit on TPOT
    const auto per_token = [&](double batch) {
      return decode_step(placed(decode, batch, context), q_.stack, batch, q_.isl + q_.osl / 2).per_token;
    };
    double batch = q_.batch ? static_cast<double>(*q_.batch) : room;
    while (batch > 1 && q_.tpot > 0 && per_token(batch) > q_.tpot) batch = std::floor(batch / 1.25);
    const double answers = batch / (q_.osl * per_token(batch));
    const double ratio = prefill_per_decode(prefill.rate * each_prefill, answers);
    const double balanced = q_.gpus / (each_decode + ratio * each_prefill);
    for (const double guess : {std::floor(balanced), std::ceil(balanced)}) {
      const int decodes = static_cast<int>(std::clamp(guess, 1.0, std::floor((q_.gpus - each_prefill) / static_cast<double>(each_decode))));
      const int prefills = (q_.gpus - decodes * each_decode) / each_prefill;
      const int holders = std::min(prefill.engine.layout().cache_gpus(), decode.layout().cache_gpus());
      const KvLink link = kv_link(system_, holders, q_.gpus <= system_.domain);
      Deployment d{.batches = Batches::up_to(room),
                   .price = {},
                   .idle = false,
                   .group = &decode,
                   .ceiling = prefill.rate * each_prefill * prefills * q_.osl / q_.gpus};
      if (q_.batch) d.batches = Batches::only(*q_.batch);
      if (q_.concurrency > 0) d.batches = Batches::only(std::max(1.0, std::ceil(q_.concurrency / decodes)));
      d.price = [&](double b) {
        ++plan_.evaluated;
        const Engine at = placed(decode, std::min(b, room), context);
        PricedServing out;
        out.engine = decode.layout();
        out.prefill = prefill.engine.layout();
        out.apart = true;
        out.replicas = decodes;
        out.prefill_workers = prefills;
        out.batch = b;
        out.requests = q_.concurrency > 0 ? std::min(q_.concurrency, b * decodes) : b * decodes;
        out.time = disaggregated(prefill.engine, at, {prefills, decodes}, q_.stack, {q_.isl, q_.osl, out.requests}, link, prefill.prompt);
        out.time.running = std::ceil(out.time.running);
        return finished(out, at, out.time.rate);
      };
      visit(d);
      if (std::floor(balanced) == std::ceil(balanced)) break;
    }
  }

  const ServingQuestion& q_;
  const System& system_;
  ServingMachine machine_;
  ServingPlan plan_;
};

}  // namespace fabricost::detail
