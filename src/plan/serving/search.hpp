#pragma once
/// The search over serving deployments (plan.hpp describes the space): enumeration, batches, the best ones
/// and the Pareto front. What it leaves out is never the best: batches.hpp, workers.hpp.

#include <fabricost/in_order.hpp>
#include <fabricost/plan/serving/offload.hpp>
#include <fabricost/plan/serving/question.hpp>
#include "serving/batches.hpp"
#include "serving/workers.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fabricost::plan::detail {

inline constexpr int max_stages = 16;      ///< of an engine, where they are searched
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
  ServingSearch(const ServingQuestion& q, const System& system) : q_(q), system_(system), machine_(system, q.constants, q.stack.kernels) {
    if (q.pool) pool_.emplace(*q.pool->system, q.pool->constants, q.pool->stack.kernels);
  }

  [[nodiscard]] ServingPlan run();

  [[nodiscard]] std::vector<PricedServing> pareto();

  [[nodiscard]] std::vector<EngineLayout> layouts();

 private:
  /// One way to use the GPUs, with its batch sizes.
  struct Deployment {
    Batches batches;
    std::function<PricedServing(double)> price;
    bool idle = false;  ///< leaves GPUs idle
  };
  /// A decode worker with one batch, and what the best prefill workers beside it reach.
  struct DecodeBatch {
    DecodeStep step;
    double per_gpu = 0;  ///< tokens per second and GPU; 0: not asked for
  };
  /// A decode worker beside one prefill worker.
  struct Beside {
    const PrefillWorker* worker = nullptr;
    Pairing pairing;
    KvLink link{};
  };
  /// Prefill workers on one ground, and its links by the GPUs that hold a sequence's cache.
  struct PrefillGround {
    Ground ground;
    std::optional<Ground> apart{};  ///< of the workers themselves
    std::vector<PrefillWorker> workers{};
    std::map<int, KvLink> links{};
  };

  [[nodiscard]] Ground whole() const { return {.gpus = q_.gpus, .domain = std::max(1, system_.domain)}; }
  [[nodiscard]] Ground whole_pool() const { return {.gpus = q_.pool->gpus, .domain = std::max(1, q_.pool->system->domain)}; }
  /// Numbers of attention replicas on so many GPUs.
  [[nodiscard]] std::vector<int> replica_counts(int gpus) const;
  /// The numbers of expert ranks to try on the ranks of one stage.
  [[nodiscard]] std::vector<int> expert_counts(const EngineLayout& l) const;
  /// Engines each of whose replicas holds at least one sequence, or of prefill workers one prompt.
  [[nodiscard]] std::vector<Engine> all_engines(const ServingQuestion::Sizes& given, bool prefill = false);

  /// Groups of 17, 19, 22, ... ranks: not used in practice, and each needs its own table of loads.
  [[nodiscard]] static bool odd_group(int ranks);
  /// The reason why a layout is skipped; empty if it is not.
  [[nodiscard]] std::string why_skipped(const EngineLayout& l) const;
  /// Bytes that a GPU lacks for `sequences` sequences with maximum use of host memory; at most 0: none.
  [[nodiscard]] double lacking(const Engine& e, double sequences, double context) const;
  void leave_out(const EngineLayout& l, double lacks) {
    ++plan_.pruned;
    if (!plan_.nearest_fit || lacks < plan_.lacking) {
      plan_.nearest_fit = l;
      plan_.lacking = lacks;
    }
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
  [[nodiscard]] Prefill prompt_of(const Engine& e, const ServingStack& stack) const { return prefill_prompt(e.with({}), stack, q_.isl - q_.cached(), q_.cached()); }

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

  /// Engines that prefill and decode, first those that use all GPUs.
  void each_deployment(const std::vector<Engine>& engines, const std::function<void(const Deployment&)>& visit);
  void together(const Engine& e, bool idle, const std::function<void(const Deployment&)>& visit);

  /// \param wanted (tokens per second and GPU, per user) is whether a deployment that reaches so many matters \param take is given those
  using Wanted = std::function<bool(double, double)>;
  using Take = std::function<void(const PricedServing&)>;
  /// The grounds on which a request's workers may stand: all GPUs, and whole domains with both kinds inside.
  [[nodiscard]] std::vector<PrefillGround> prefill_grounds();
  [[nodiscard]] std::vector<Beside> beside(const Engine& decode, std::vector<PrefillGround>& grounds);
  [[nodiscard]] DecodeStep step_of(const Engine& decode, double sequences) const;
  /// The pairing with the waits of a decode step.
  /// \param requests of a replica of the decode worker; 0 for a bound of all numbers of them
  [[nodiscard]] Pairing at_step(const Beside& pair, const DecodeStep& step, double requests) const;
  [[nodiscard]] PricedServing priced(const Engine& decode, const Beside& pair, const Workers& workers, double batch);
  /// Every decode worker's batches with the best prefill workers and numbers of both.
  void apart(const Engine& decode, const std::vector<Beside>& pairs, const Wanted& wanted, const Take& take);
  /// The same for a number of requests in flight, which sets the batch.
  void apart_of_requests(const Engine& decode, const std::vector<Beside>& pairs, const Wanted& wanted, const Take& take);
  /// Keeps the deployment of this decode worker nearest to the limits.
  void keep_nearest(const Engine& decode, const std::vector<Beside>& pairs);
  [[nodiscard]] double per_gpu(const Ground& ground, double requests_per_s) const {
    return requests_per_s * ground.copies * q_.osl / q_.all_gpus();
  }

  const ServingQuestion& q_;
  const System& system_;
  ServingMachine machine_;
  std::optional<ServingMachine> pool_{};  ///< of prefill workers, where they are of another kind
  ServingPlan plan_;
};

}  // namespace fabricost::plan::detail
