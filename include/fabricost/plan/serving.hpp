#pragma once
/// \file serving.hpp
/// Which deployment of a model on N GPUs answers most tokens per second within limits on TTFT and TPOT.
///
/// The space: engines of tensor ranks x attention replicas x stages with experts cut or divided, as many as fit the GPUs; the largest batch
/// each engine may run within the limits; or prefill workers of one layout and decode workers of another, in the numbers that match their
/// rates: n_p R_p = n_d R_d. TPOT and TTFT grow with the batch, and so do tokens per second: the largest batch allowed is found by halving.
///
/// Where it is cut: batches end at 8,192 sequences an attention replica. Of the layouts of prefill workers 12 are tried, those that keep
/// the limit on TTFT with most prompts per second and GPU first, then the quickest; pairs with the others are neither priced nor counted.

#include <fabricost/plan/dimension.hpp>
#include <fabricost/workload/serving.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fabricost {

/// What is asked, and what of the deployment is given; the rest is searched.
struct ServingQuestion {
  Model model;
  ServingStack stack;
  ServingConstants constants;
  EngineFormat format;
  int gpus = 0;
  double isl = 4096, osl = 512;
  double ttft = 0, tpot = 0;   ///< s, limits; 0: none
  double concurrency = 0;      ///< requests in flight at all engines together; 0: as many as the limits allow
  bool disaggregated = false;  ///< prefill and decode on GPUs of their own
  HostMemory host{};           ///< weights and cache of each GPU that may lie in the host's memory
  int top = 10;
  std::optional<int> tp{}, pp{}, ep{}, attention_dp{}, batch{};
};

struct PricedServing {
  EngineLayout engine;  ///< decode's, where prefill is apart
  EngineLayout prefill;
  bool apart = false;
  int replicas = 1;  ///< engines, or decode workers
  int prefill_workers = 0;
  double batch = 1;  ///< sequences of one engine
  ServingTime time;
  double tokens_per_s_per_gpu = 0, tokens_per_s_per_user = 0;
  double memory = 0, cache = 0;  ///< bytes of a GPU's share: all of it, and the cache in it
  double on_host = 0;            ///< of them, those in the host's memory
  [[nodiscard]] int used() const { return replicas * engine.gpus() + prefill_workers * prefill.gpus(); }
};

struct ServingPlan {
  std::vector<PricedServing> layouts;  ///< most tokens per second and GPU first
  long long evaluated = 0;             ///< (deployment, batch) pairs priced
  long long pruned = 0;                ///< layouts left out: they do not fit, or no batch keeps the limits
  /// Where none does: the deployment that misses least, and by what factor of its worst limit; or that lacks least memory.
  std::optional<PricedServing> nearest{};
  double missed = 0;
  std::optional<EngineLayout> nearest_fit{};
  double lacking = 0;  ///< bytes a GPU
};

/// \throws RequestError for a question no deployment can answer
inline void check(const ServingQuestion& q, const System& system) {
  check(q.model);
  if (q.gpus < 1) throw RequestError("--gpus must be at least 1");
  if (!(q.isl >= 1 && q.osl >= 1)) throw RequestError("--isl and --osl must be at least 1 token");
  if (q.ttft < 0 || q.tpot < 0) throw RequestError("--ttft and --tpot must be above zero");
  if (q.disaggregated && q.gpus < 2) throw RequestError("--disaggregated needs at least 2 GPUs: one to prefill, one to decode");
  if (q.gpus > system.domain && system.tier(TierRole::nic) == nullptr && q.disaggregated)
    throw RequestError(system.name + ": has no NICs to send a cache over; take at most " + std::to_string(system.domain) + " GPUs");
}

namespace detail {

inline constexpr double most_sequences = 8192;            ///< of an attention replica (assumed: more than engines are run with)
inline constexpr std::size_t prefill_workers_tried = 12;  ///< layouts, with every layout of decode workers (assumed: the others lose)

class ServingSearch {
 public:
  ServingSearch(const ServingQuestion& q, const System& system) : q_(q), system_(system), machine_(system, q.constants, q.stack.kernels) {}

  [[nodiscard]] ServingPlan run() {
    const std::vector<Engine> engines = all_engines();
    if (q_.disaggregated)
      apart(engines);
    else
      for (const Engine& e : engines) together(e);
    std::sort(plan_.layouts.begin(), plan_.layouts.end(), better);
    if (static_cast<int>(plan_.layouts.size()) > q_.top) plan_.layouts.resize(static_cast<std::size_t>(q_.top));
    return std::move(plan_);
  }

  /// Every engine at every doubling of its batch that no other beats in both tokens per GPU and tokens per user; most per user first.
  [[nodiscard]] std::vector<PricedServing> pareto() {
    std::vector<PricedServing> all, out;
    for (const Engine& e : all_engines())
      for (double batch = 1; batch <= room_of(e); batch *= 2) all.push_back(priced(e, batch));
    std::sort(all.begin(), all.end(), [](const PricedServing& a, const PricedServing& b) {
      return a.tokens_per_s_per_user != b.tokens_per_s_per_user ? a.tokens_per_s_per_user > b.tokens_per_s_per_user : better(a, b);
    });
    for (PricedServing& p : all)
      if (out.empty() || p.tokens_per_s_per_gpu > out.back().tokens_per_s_per_gpu) out.push_back(p);
    return out;
  }

 private:
  static bool better(const PricedServing& a, const PricedServing& b) { return a.tokens_per_s_per_gpu > b.tokens_per_s_per_gpu; }

  [[nodiscard]] std::vector<Engine> all_engines() {
    std::vector<Engine> out;
    std::string why;
    const bool mixture = q_.model.mixture();
    for (const int tp : either(q_.tp, divisors(q_.gpus, std::max(1, system_.domain))))
      for (const int pp : either(q_.pp, divisors(q_.gpus, 16)))
        for (const int dp : either(q_.attention_dp, divisors(q_.gpus, mixture ? q_.gpus : 1))) {
          EngineLayout l{tp, dp, pp, 1};
          // apart, either kind of worker takes some of the GPUs; together, engines share all of them evenly
          if (l.gpus() > q_.gpus || (!q_.disaggregated && q_.gpus % l.gpus() != 0)) continue;
          std::vector<int> expert{1};
          if (q_.ep)
            expert = {*q_.ep};
          else if (mixture && dp > 1 && l.ranks() <= q_.model.experts)  // over tensor ranks alone, cut and divided experts cost the same
            expert.push_back(l.ranks());
          for (const int ep : expert) {
            l.ep = ep;
            if (const std::string no = why_impossible(q_.model, l); !no.empty()) {
              why = no;
              continue;
            }
            try {
              Engine engine{q_.model, l, q_.format, machine_, q_.host};
              const double left = engine.room(q_.stack.memory_share), one = engine.kv(q_.isl + q_.osl);
              const double lacks = std::max(one - left - q_.host.cache, -left);
              if (lacks > 0) {
                ++plan_.pruned;
                if (!plan_.nearest_fit || lacks < plan_.lacking) plan_.nearest_fit = l, plan_.lacking = lacks;
                continue;
              }
              out.push_back(engine);
            } catch (const RequestError& error) {  // the machine cannot join these ranks, another layout may
              why = error.what();
            }
          }
        }
    if (out.empty() && !plan_.nearest_fit)
      throw RequestError(why.empty() ? "the sizes given do not divide " + std::to_string(q_.gpus) + " GPUs; leave one of them out" : why);
    return out;
  }

  /// Sequences an engine may run: what fits, from 1 to `most_sequences` for each replica of attention.
  [[nodiscard]] double room_of(const Engine& e) const {
    return std::clamp(std::floor(e.capacity(q_.isl + q_.osl, q_.stack.memory_share)), 1.0, most_sequences * e.layout().attention_dp);
  }
  [[nodiscard]] PricedServing priced(const Engine& e, double batch) {
    ++plan_.evaluated;
    PricedServing out;
    out.engine = e.layout();
    out.replicas = q_.gpus / e.layout().gpus();
    out.batch = batch;
    out.time = aggregated(e, q_.stack, {q_.isl, q_.osl, batch});
    return finished(out, e, out.time.rate / e.layout().gpus());
  }
  [[nodiscard]] PricedServing finished(PricedServing out, const Engine& decode, double requests_per_gpu) const {
    out.tokens_per_s_per_gpu = requests_per_gpu * q_.osl;
    out.tokens_per_s_per_user = 1 / out.time.tpot;
    out.cache = std::ceil(out.time.running / decode.layout().attention_dp) * decode.kv(q_.isl + q_.osl);
    out.memory = decode.weights() + out.cache;
    out.on_host = decode.host().weights + decode.cache_on_host(out.time.running, q_.isl + q_.osl, q_.stack.memory_share);
    return out;
  }
  /// By what factor the worst limit is missed; at most 1: none is.
  [[nodiscard]] double missed(const ServingTime& t) const {
    return std::max(q_.ttft > 0 ? t.ttft / q_.ttft : 0, q_.tpot > 0 ? t.tpot / q_.tpot : 0);
  }

  /// The largest batch up to `most` that keeps the limits, or of the smallest one the miss. \param price of a batch
  template <class Price>
  void largest(double least, double most, Price&& price) {
    PricedServing best = price(least);
    if (missed(best.time) > 1) {
      ++plan_.pruned;
      if (!plan_.nearest || missed(best.time) < plan_.missed) plan_.nearest = best, plan_.missed = missed(best.time);
      return;
    }
    double good = least, bad = most + 1;
    for (double next = std::min(2 * least, most); next > good && next < bad;) {
      PricedServing p = price(next);
      if (missed(p.time) <= 1) {
        good = next;
        if (better(p, best)) best = p;
      } else {
        bad = next;
      }
      next = bad > most ? std::min(2 * good, most) : std::floor((good + bad) / 2);
      if (bad <= most && bad - good < std::max(1.5, good / 50)) break;  // 2 % of a batch decides nothing
    }
    plan_.layouts.push_back(best);
  }

  void together(const Engine& e) {
    const int copies = q_.gpus / e.layout().gpus();
    const double room = room_of(e), replicas = copies;
    if (q_.batch || q_.concurrency > 0) {
      const double batch = q_.batch ? static_cast<double>(*q_.batch) : std::max(1.0, std::ceil(q_.concurrency / replicas));
      if (q_.batch && batch > room) {
        ++plan_.pruned;
        const double lacks = (batch / e.layout().attention_dp) * e.kv(q_.isl + q_.osl) - e.room(q_.stack.memory_share) - q_.host.cache;
        if (!plan_.nearest_fit || lacks < plan_.lacking) plan_.nearest_fit = e.layout(), plan_.lacking = lacks;
        return;
      }
      largest(batch, batch, [&](double b) { return priced(e, b); });
    } else {
      largest(1, room, [&](double b) { return priced(e, b); });
    }
  }

  struct PrefillWorker {
    const Engine* engine;
    double rate = 0;   ///< prompts a second and GPU
    double alone = 0;  ///< s of one prompt
  };

  void apart(const std::vector<Engine>& engines) {
    std::vector<PrefillWorker> workers;
    for (const Engine& e : engines) {
      const Prefill prompt = prefill_prompt(e, q_.stack, q_.isl);
      const double servers = static_cast<double>(e.layout().attention_dp) * e.layout().pp;
      workers.push_back({&e, servers / prompt.shared / e.layout().gpus(), prompt.alone});
    }
    // those quick enough that need fewest GPUs; where none is, the quickest
    std::sort(workers.begin(), workers.end(), [&](const PrefillWorker& a, const PrefillWorker& b) {
      const bool slow_a = q_.ttft > 0 && a.alone > q_.ttft, slow_b = q_.ttft > 0 && b.alone > q_.ttft;
      if (slow_a != slow_b) return slow_b;
      return slow_a ? a.alone < b.alone : a.rate > b.rate;
    });
    if (workers.size() > prefill_workers_tried) workers.resize(prefill_workers_tried);
    for (const Engine& decode : engines) {
      const std::size_t before = plan_.layouts.size();
      for (const PrefillWorker& w : workers) pair(*w.engine, w.rate * w.engine->layout().gpus(), decode);
      if (plan_.layouts.size() < before + 2) continue;  // of one kind of decode worker the best alone
      const auto first = plan_.layouts.begin() + static_cast<std::ptrdiff_t>(before);
      std::iter_swap(first, std::min_element(first, plan_.layouts.end(), better));
      plan_.layouts.erase(first + 1, plan_.layouts.end());
    }
  }

  void pair(const Engine& prefill, double prompts_per_worker, const Engine& decode) {
    const int each_prefill = prefill.layout().gpus(), each_decode = decode.layout().gpus();
    if (each_prefill + each_decode > q_.gpus) return;
    // answers a second of one decode worker at the largest batch the limit on TPOT allows
    const double room = q_.batch ? static_cast<double>(*q_.batch) : room_of(decode);
    double batch = room;
    while (batch > 1 && q_.tpot > 0 && decode_step(decode, q_.stack, batch, q_.isl + q_.osl / 2).per_token > q_.tpot)
      batch = std::floor(batch / 1.25);
    const double answers = batch / (q_.osl * decode_step(decode, q_.stack, batch, q_.isl + q_.osl / 2).per_token);
    const double ratio = prefill_per_decode(prompts_per_worker, answers);
    const double balanced = q_.gpus / (each_decode + ratio * each_prefill);
    for (const double guess : {std::floor(balanced), std::ceil(balanced)}) {
      const int decodes = static_cast<int>(std::clamp(guess, 1.0, std::floor((q_.gpus - each_prefill) / static_cast<double>(each_decode))));
      const int prefills = (q_.gpus - decodes * each_decode) / each_prefill;
      const Workers workers{prefills, decodes};
      const int ranks = std::min(each_prefill, each_decode);
      const KvLink link = kv_link(system_, ranks, q_.gpus <= system_.domain);
      const auto price = [&](double b) {
        ++plan_.evaluated;
        PricedServing out;
        out.engine = decode.layout();
        out.prefill = prefill.layout();
        out.apart = true;
        out.replicas = decodes;
        out.prefill_workers = prefills;
        out.batch = b;
        out.time = disaggregated(prefill, decode, workers, q_.stack, {q_.isl, q_.osl, b * decodes}, link);
        return finished(out, decode, out.time.rate / q_.gpus);
      };
      if (q_.batch)
        largest(room, room, price);
      else if (q_.concurrency > 0)
        largest(std::max(1.0, q_.concurrency / decodes), std::max(1.0, q_.concurrency / decodes), price);
      else
        largest(1, room, price);
      if (std::floor(balanced) == std::ceil(balanced)) break;
    }
  }

  const ServingQuestion& q_;
  const System& system_;
  ServingMachine machine_;
  ServingPlan plan_;
};

}  // namespace detail

/// The deployments of that space that answer most. Deterministic. Empty `layouts` where none fits or keeps the limits: `nearest` or
/// `nearest_fit` say which comes closest. \throws RequestError when no layout is possible, saying why
[[nodiscard]] inline ServingPlan plan_serving(const ServingQuestion& question, const System& system) {
  check(question, system);
  return detail::ServingSearch{question, system}.run();
}

/// Throughput against interactivity: engines and batches none other beats in both. \throws as plan_serving
[[nodiscard]] inline std::vector<PricedServing> serving_pareto(const ServingQuestion& question, const System& system) {
  check(question, system);
  return detail::ServingSearch{question, system}.pareto();
}

}  // namespace fabricost
