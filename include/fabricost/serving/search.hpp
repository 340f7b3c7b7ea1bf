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
  void add(const PricedServing& p);
  /// Most per user first; both ends, and between them rows that differ by `front_step`.
  [[nodiscard]] std::vector<PricedServing> rows();

 private:
  std::vector<PricedServing> kept_;
  std::map<double, double> user_by_all_;
};

class ServingSearch {
 public:
  ServingSearch(const ServingQuestion& q, const System& system) : q_(q), system_(system), machine_(system, q.constants, q.stack.kernels) {}

  [[nodiscard]] ServingPlan run();

  [[nodiscard]] std::vector<PricedServing> pareto();

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
  [[nodiscard]] std::vector<int> sizes(int max) const;

  [[nodiscard]] std::vector<Engine> all_engines(const ServingQuestion::Sizes& given);

  /// Groups of 17, 19, 22, ... ranks of a rack: not used in practice, and each needs its own table of loads.
  [[nodiscard]] static bool odd_group(int ranks);
  /// The reason why a layout is skipped; empty if it is not.
  [[nodiscard]] std::string why_not(const EngineLayout& l) const;
  /// Bytes that a GPU lacks for `sequences` sequences with maximum use of host memory; at most 0: none.
  [[nodiscard]] double lacking(const Engine& e, double sequences) const;
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

  [[nodiscard]] PricedServing finished(PricedServing out, const Engine& decode, double requests_per_s) const;
  /// Largest ratio to a limit; at most 1: all limits are met.
  [[nodiscard]] double missed(const ServingTime& t) const {
    return std::max(q_.ttft > 0 ? t.ttft / q_.ttft : 0, q_.tpot > 0 ? t.tpot / q_.tpot : 0);
  }

  /// Lists one of the deployments that differ only in how experts are split.
  void list(const PricedServing& p);
  [[nodiscard]] double max_listed() const;
  /// Tokens per second and GPU of the last listed deployment; those below it need not be refined.
  [[nodiscard]] double min_listed();

  /// The best batch of a deployment within the limits. \param enough throughput below which it is not refined
  [[nodiscard]] std::optional<PricedServing> best_of(const Deployment& d, double enough);

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

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/serving/search-inl.hpp>
#endif
