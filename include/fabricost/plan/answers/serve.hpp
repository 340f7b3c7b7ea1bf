#pragma once
/// The deployments of a model with the highest tokens per second within limits on TTFT and TPOT
/// (serving/plan.hpp).
///
///   defaults     weights as published where that is narrower than 16 bit, else fp8 where the GPU supports it, else bf16; cache bf16 with bf16 weights, else fp8; kernel launches
///                as in the stack
///   tokens/s     concurrency x osl / (TTFT + osl TPOT)
///   arrivals     with a rate or a trace of requests: the deployments that keep the limits at a percentile (serving/arrivals/loaded.hpp)

#include <fabricost/plan/answers/arrivals.hpp>
#include <fabricost/plan/economics/terms.hpp>
#include <fabricost/plan/economics/token_prices.hpp>
#include <fabricost/plan/fields/named_models.hpp>
#include <fabricost/plan/serving/plan.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::plan {

struct LoadedPlan;
struct LoadQuestion;

[[nodiscard]] constexpr auto words_of(WeightFormat) { return EnumWords{weight_format_names, "a precision"}; }
/// nvfp4 and mxfp4 are fp4, AWQ and GPTQ int4.
[[nodiscard]] constexpr std::optional<WeightFormat> parse_word(WeightFormat, std::string_view text) {
  if (text == "nvfp4" || text == "mxfp4") return WeightFormat::fp4;
  if (text == "awq" || text == "gptq") return WeightFormat::int4;
  return parse_enum<WeightFormat>(text, weight_format_names);
}

struct ServeRequest : ArrivingRequests {
  Machine system;  ///< the machine
  NamedModel model;
  std::optional<int> gpus;
  int isl = 4096, osl = 512;
  std::optional<Time> ttft, tpot;
  std::optional<double> concurrency;
  std::optional<int> batch;
  bool disaggregated = false;
  std::optional<WeightFormat> precision, kv_precision;
  std::string stack = ServingStack{}.name;
  std::optional<double> stack_scale;
  std::optional<Time> measured_tpot;
  int top = 10;
  std::optional<int> tp, pp, ep, dp, prefill_tp, prefill_pp, prefill_ep, prefill_dp;
  Machine prefill_system;
  std::optional<int> prefill_gpus;
  bool kv_by_layer = false;
  std::optional<Launch> launch;
  std::optional<Routing> routing;
  std::optional<int> redundant_experts;
  std::optional<Bytes> offload_weights, offload_kv;
  std::string calibration;
  std::vector<std::string> overrides;
  bool pareto = false;

  static RequestTable<ServeRequest> fields();
};

/// One deployment with its throughput and latencies.
struct PlannedDeployment {
  std::string system{}, model{}, stack{}, precision{};
  int gpus = 0, tp = 1, pp = 1, ep = 1, dp = 1;
  double batch = 1;
  int replicas = 1, prefill_workers = 0, decode_workers = 0;
  Time ttft{}, tpot{};
  double tokens_per_second = 0, tokens_per_second_per_gpu = 0, tokens_per_second_per_user = 0;
  Bytes memory{}, kv{}, weight{}, host{};
  double concurrency = 1;
  int idle_gpus = 0;
  std::pair<Time, Time> interval_ttft{}, interval_tpot{};
  std::pair<double, double> interval_tokens_per_second_per_gpu{};
  std::vector<std::string> extrapolated{};
  bool disaggregated = false;
  int prefill_tp = 0, prefill_pp = 0, prefill_ep = 0, prefill_dp = 0;
  std::optional<double> prefill_use{}, link_use{};
  std::string prefill_system{};
  int prefill_gpus = 0;
  std::optional<Bytes> kv_sent{};
  std::optional<Bandwidth> kv_rate{};
  std::optional<double> dollars_per_million_tokens{};
  int paid_gpus = 0;
  std::vector<TokenPrice> token_prices{};
  std::optional<double> expert_imbalance{};
  std::optional<Bytes> expert_copies{};
  std::optional<Time> rebalance{};
  std::optional<std::string> price_kind{};
  std::optional<double> tokens_per_step{}, drafts_pay_until{}, without_drafts{};
  std::string drafts_pay{};
  std::optional<ServedArrivals> arrivals{};
  std::vector<StepTerm> terms{}, ttft_terms{};
  bool operator==(const PlannedDeployment&) const = default;

  static AnswerTable<PlannedDeployment> fields();
};

/// The question and the result of the search, in full.
struct FoundDeployments {
  ServingQuestion question;
  System system;
  ServingPlan plan;
  std::vector<PricedServing> pareto;         ///< where it was requested
  std::shared_ptr<const LoadedPlan> loaded;  ///< under requests that arrive
};

struct ServeAnswer {
  std::vector<PlannedDeployment> layouts;
  long long evaluated = 0, pruned = 0;
  Time search_time{};
  std::string model, system;
  int gpus = 0;
  Time ttft_limit{};
  std::string precision, stack, kernels;
  std::optional<double> stack_scale;
  std::vector<PlannedDeployment> pareto;
  std::shared_ptr<const FoundDeployments> found;

  static AnswerTable<ServeAnswer> fields();
};

/// \throws UnmetError where nothing fits or keeps the limits; Refusal, RequestError as plan_serving; SpecError, RequestError as
/// load_system, load_model
[[nodiscard]] ServeAnswer answer(const ServeRequest& request);
/// The question of the search for this machine and model. \throws as answer
[[nodiscard]] ServingQuestion serving_question(const ServeRequest& request, const Model& model, const System& system);
/// The requests that arrive; none: clients wait for answers. Those of a trace set the lengths of the request. \throws Refusal, SpecError
[[nodiscard]] std::optional<LoadQuestion> load_question(ServeRequest& request);
/// Deployments under them, of which the first keeps the limits. \throws UnmetError
[[nodiscard]] LoadedPlan found_deployments(const System& system, const ServingQuestion& question, LoadQuestion load);
/// Runs the search; returns at least one deployment. \throws UnmetError
[[nodiscard]] ServingPlan found_deployments(const System& system, const ServingQuestion& question);

[[nodiscard]] std::vector<PlannedDeployment> planned(const ServingQuestion& question, const System& system,
                                                     const std::vector<PricedServing>& deployments);

}  // namespace fabricost::plan
