#pragma once
/// \file serve.hpp
/// The deployments of a model with the highest tokens per second within limits on TTFT and TPOT
/// (serving/plan.hpp).
///
///   defaults     weights as published where that is narrower than 16 bit, else fp8 where the GPU supports it, else bf16; cache bf16 with bf16 weights, else fp8; kernel launches
///                as in the stack
///   tokens/s     concurrency x osl / (TTFT + osl TPOT)
///   arrivals     with a rate or a trace of requests: the deployments that keep the limits at a percentile (serving/arrivals/loaded.hpp)

#include <fabricost/plan/answers/arrivals.hpp>
#include <fabricost/plan/economics/terms.hpp>
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

struct ServeRequest : ArrivingRequests {
  Machine system;
  NamedModel model;
  std::optional<int> gpus;
  int isl = 4096, osl = 512;
  std::optional<Time> ttft, tpot;
  std::optional<double> concurrency;
  std::optional<int> batch;
  bool disaggregated = false;
  std::optional<WeightFormat> precision, kv_precision;
  std::string stack = ServingStack{}.name;
  int top = 10;
  std::optional<int> tp, pp, ep, dp;
  std::optional<int> prefill_tp, prefill_pp, prefill_ep, prefill_dp;
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

  static constexpr auto fields() {
    using R = ServeRequest;
    using enum Amount;
    constexpr Range wait{0, 1e9, true}, wait_of_token{0, 10, true}, on_host{0, 65536 * gibibyte};
    return tables(Table{
        field::ask_machine<R>,
        field::ask_model<R>,
        field::ask_gpus<R>,
        asks(&R::isl, "isl", "--isl", length, any_count, "N", "Tokens per prompt, as in 128k (131072); default 4096"),
        asks(&R::osl, "osl", "--osl", length, any_count, "N", "Tokens per answer; default 512"),
        asks(&R::ttft, "ttft_seconds", "--ttft", seconds, wait, "TIME", "Longest mean time to the first token, as 1s; default 5s, or\n0.25 ms per token of a longer prompt, twice that where none\nkeeps it, and so on; 1d lifts it"),
        asks(&R::tpot, "tpot_seconds", "--tpot", seconds, wait_of_token, "TIME", "Longest mean time per further token, as 30ms"),
        asks(&R::concurrency, "concurrency", "--concurrency", count, {1, 1e9}, "N", "Requests in flight, all engines together"),
        asks(&R::batch, "batch", "--batch", count, any_count, "N", "Sequences per engine; default the most within the limits")},
        ArrivingRequests::fields(), Table{
        asks(&R::disaggregated, "disaggregated", "--disaggregated", "", "Prefill and decode on GPUs of their own"),
        asks(&R::precision, "precision", "--precision", "P", "Precision of the weights: bf16, fp8, fp4, int4; default as\npublished if narrower than 16 bits, else fp8 if the GPU has it"),
        asks(&R::kv_precision, "kv_precision", "--kv-precision", "P", "Precision of the KV cache: bf16 or fp8; default fp8 if the\nweights are narrower than 16 bits"),
        asks(&R::stack, "stack", "--stack", "NAME", "Serving framework: vllm (default), sglang, trtllm, ..."),
        asks(&R::top, "top", "--top,-k", count, any_count, "K", "Number of deployments to print; default 10"),
        asks(&R::tp, "tp", "--tp", count, any_count, "N", "Tensor parallel size (TP) of an engine; what is not given is\nsearched"),
        asks(&R::pp, "pp", "--pp", count, any_count, "N", "Pipeline stages (PP) of an engine"),
        asks(&R::ep, "ep", "--ep", count, any_count, "N", "Expert parallel size (EP) of an engine"),
        asks(&R::dp, "dp", "--dp", count, any_count, "N", "Replicas of attention (DP) in an engine"),
        asks(&R::prefill_tp, "prefill_tp", "--prefill-tp", count, any_count, "N",
             "TP of a prefill worker; <tp> and the like are then those of\ndecode workers"),
        asks(&R::prefill_pp, "prefill_pp", "--prefill-pp", count, any_count, "N", "PP of a prefill worker"),
        asks(&R::prefill_ep, "prefill_ep", "--prefill-ep", count, any_count, "N", "EP of a prefill worker"),
        asks(&R::prefill_dp, "prefill_dp", "--prefill-dp", count, any_count, "N", "DP of a prefill worker"),
        asks(&R::prefill_system, "prefill_system", "--prefill-system", "NAME",
             "Machine of another kind that reads the prompts; <system> and <gpus>\nare then of the decode workers"),
        asks(&R::prefill_gpus, "prefill_gpus", "--prefill-gpus", count, any_count, "N", "Number of its GPUs"),
        asks(&R::kv_by_layer, "kv_by_layer", "--kv-by-layer", "",
             "Each layer's KV cache is sent to the decode worker when it has\nbeen computed; default all when the prompt has been read"),
        asks(&R::launch, "launch", "", "HOW", "CUDA graphs: graph (prefill too) or eager (none); default decode alone"),
        asks(&R::routing, "routing", "--routing", "HOW",
             "Load of the experts: balanced, uniform, zipf:0.8, or the tokens each expert received; default the stack's"),
        asks(&R::redundant_experts, "redundant_experts", "--redundant-experts", count, {0, 8192}, "N",
             "Copies of the busiest experts of each layer, beside one of each,\nspread over the ranks for equal loads (EPLB)"),
        asks(&R::offload_weights, "offload_weights_bytes", "--offload-weights", gibibytes, on_host, "GIB",
             "Most of a GPU's weights in host memory; 0: none"),
        asks(&R::offload_kv, "offload_kv_bytes", "--offload-kv", gibibytes, on_host, "GIB",
             "Most of a GPU's KV cache in host memory; 0: none"),
        field::ask_calibration<R>,
        field::ask_overrides<R>,
        asks(&R::pareto, "", "--pareto", "", "Pareto front: deployments that no other beats in both rates")});
  }
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
  std::optional<double> expert_imbalance{};
  std::optional<Bytes> expert_copies{};
  std::optional<Time> rebalance{};
  std::optional<double> tokens_per_step{}, drafts_pay_until{};
  std::optional<ServedArrivals> arrivals{};
  std::vector<StepTerm> terms{}, ttft_terms{};
  bool operator==(const PlannedDeployment&) const = default;

  static constexpr auto fields() {
    using A = PlannedDeployment;
    constexpr bool left_out = true;
    return Table{
        field::give_system_to_python<A>,
        gives(&A::model, "", "model", "Name of the model."),
        gives(&A::stack, "", "stack", "Name of the serving framework."),
        gives(&A::precision, "", "precision", "Of the weights: bf16, fp8, fp4 or int4."),
        gives(&A::gpus, "", "gpus", "GPUs asked for."),
        gives(&A::tp, "tp", "tp", "Tensor ranks of one engine (of a decode worker, where prefill is apart)."),
        gives(&A::pp, "pp", "pp", "Its stages."),
        gives(&A::ep, "ep", "ep", "Its expert ranks."),
        gives(&A::dp, "dp", "dp", "Its attention replicas."),
        gives(&A::batch, "batch", "batch", "Sequences of one engine."),
        gives(&A::replicas, "replicas", "replicas", "Engines, or decode workers."),
        gives(&A::prefill_workers, "prefill_workers", "prefill_workers", "Prefill workers; 0: not apart."),
        gives(&A::decode_workers, "decode_workers", "", "Decode workers; 0: not apart."),
        gives(&A::ttft, "ttft_s", "ttft_seconds", "Time to the first token, s: the sum of ttft_terms."),
        gives(&A::tpot, "tpot_s", "tpot_seconds", "Time per further token, s: the sum of terms; 0 for answers of one token."),
        gives(&A::tokens_per_second, "", "tokens_per_second", "Of all GPUs: tokens_per_second_per_gpu x gpus."),
        gives(&A::tokens_per_second_per_gpu, "tokens_per_s_per_gpu", "tokens_per_second_per_gpu",
              "Answered tokens: osl x concurrency / (TTFT + osl TPOT) / GPUs."),
        gives(&A::tokens_per_second_per_user, "tokens_per_s_per_user", "tokens_per_second_per_user",
              "1 / tpot_seconds; 1 / ttft_seconds for answers of one token."),
        gives(&A::memory, "memory_GiB", "memory_bytes", "Bytes on a GPU: weight_bytes + kv_bytes - host_bytes.", gibibyte),
        gives(&A::kv, "kv_GiB", "kv_bytes", "Of a GPU's share, the cache of keys and values.", gibibyte),
        gives(&A::weight, "weights_GiB", "weight_bytes", "Of a GPU's share, weights.", gibibyte),
        gives(&A::host, "host_GiB", "host_bytes", "Of the GPU's share, what lies in the host's memory and is fetched every pass.",
              gibibyte),
        gives(&A::concurrency, "concurrency", "concurrency", "Requests in flight at all engines: batch x replicas, or what was asked for."),
        gives(&A::interval_ttft, "interval_ttft_s", "interval_ttft_seconds", "(low, high), s: nine runs in ten should fall between."),
        gives(&A::interval_tpot, "interval_tpot_s", "interval_tpot_seconds", "The same of the time per token."),
        gives(&A::interval_tokens_per_second_per_gpu, "interval_tokens_per_s_per_gpu", "interval_tokens_per_second_per_gpu",
              "The same of the tokens per second and GPU: with TTFT and TPOT at one end of theirs."),
        gives(
            &A::extrapolated, "extrapolated", "extrapolated",
            "What lies outside the runs that the stack was fitted to, which widens the intervals: sequences (of a GPU), prompts, answers."),
        gives(&A::idle_gpus, "idle_gpus", "idle_gpus", "GPUs that no engine uses; they count in tokens_per_second_per_gpu."),
        gives(&A::disaggregated, "", "disaggregated", "Whether prefill and decode have GPUs of their own."),
        gives(&A::prefill_tp, "prefill.tp", "prefill_tp", "Tensor ranks of a prefill worker; 0: not apart.", 1, left_out),
        gives(&A::prefill_pp, "prefill.pp", "prefill_pp", "Its stages.", 1, left_out),
        gives(&A::prefill_ep, "prefill.ep", "prefill_ep", "Its expert ranks.", 1, left_out),
        gives(&A::prefill_dp, "prefill.dp", "prefill_dp", "Its attention replicas.", 1, left_out),
        gives(&A::prefill_use, "prefill.use", "prefill_use",
              "Share of the time in which prefill workers compute; at 1 more requests only wait. None: not apart.", 1, left_out),
        gives(&A::link_use, "prefill.link_use", "link_use",
              "Share of the time in which their links send caches; at 1 more requests only wait. None: not apart.", 1, left_out),
        gives(&A::expert_imbalance, "experts.imbalance", "expert_imbalance",
              "Rows of the fullest expert rank over the mean in a decode step; None: choices are balanced.", 1, left_out),
        gives(&A::expert_copies, "experts.copies_bytes", "expert_copies_bytes",
              "Of a GPU's weights, those of redundant experts; None: there are none.", 1, left_out),
        gives(&A::rebalance, "experts.rebalance_s", "rebalance_seconds",
              "Until every GPU has been sent all of its experts anew, as loads change; None: no experts are redundant.", 1, left_out),
        gives(&A::prefill_system, "prefill.system", "prefill_system", "The machine that reads prompts, where it is of another kind.", 1, left_out),
        gives(&A::prefill_gpus, "prefill.gpus", "prefill_gpus", "Its GPUs.", 1, left_out),
        gives(&A::kv_sent, "prefill.kv_bytes", "kv_bytes_sent", "KV cache of a prompt, sent to its decode worker; None: not apart.", 1, left_out),
        gives(&A::kv_rate, "prefill.kv_bytes_per_s", "kv_bytes_per_second", "The rate at which it is sent.", 1, left_out),
        gives(&A::dollars_per_million_tokens, "dollars_per_million_tokens", "dollars_per_million_tokens",
              "USD for a million answered tokens of both machines; None: prefill is not on one of another kind, or a price is not known.", 1,
              left_out),
        gives(&A::tokens_per_step, "tokens_per_step", "tokens_per_step", "With drafts, tokens of a step; None: without.", 1, left_out),
        gives(&A::drafts_pay_until, "drafts_pay_until", "drafts_pay_until",
              "Sequences of an engine up to which tokens come faster with drafts than without; None: as many as fit, or no drafts.", 1,
              left_out),
        gives(&A::arrivals, "arrivals", "arrivals", "Under requests that arrive, a ServedArrivals; None: clients wait for answers.", 1,
              left_out),
        gives(&A::terms, "terms", "terms", "What a token is spent on, a list of StepTerm."),
        gives(&A::ttft_terms, "ttft_terms", "ttft_terms",
              "What the first token waits for: prompt, queue, transfer, framework; a list of StepTerm.")};
  }
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
  std::vector<PlannedDeployment> pareto;
  std::shared_ptr<const FoundDeployments> found;

  static constexpr auto fields() {
    using A = ServeAnswer;
    return Table{gives(&A::layouts, "layouts", "", "The deployments, most tokens per second and GPU first."),
                 gives(&A::evaluated, "evaluated", "evaluated", "Pairs of deployment and batch that were priced."),
                 gives(&A::pruned, "pruned", "pruned", "Layouts left out: they do not fit, or no batch keeps the limits."),
                 field::give_search_time<A>,
                 gives(&A::model, "model", "", "Name of the model."),
                 gives(&A::system, "system", "", "Name of the machine."),
                 gives(&A::gpus, "gpus", "", "GPUs asked for."),
                 gives(&A::ttft_limit, "ttft_limit_s", "ttft_limit_seconds",
                       "The limit on TTFT that was kept, s: the one asked for, or the usual one; 0: none."),
                 gives(&A::precision, "precision", "", "Of the weights."),
                 gives(&A::stack, "stack", "", "Name of the serving framework."),
                 field::give_kernels<A>,
                 gives(&A::pareto, "pareto", "", "Deployments none other beats in both rates.", 1, true)};
  }
};

/// \throws UnmetError where nothing fits or keeps the limits; Refusal, RequestError as plan_serving; SpecError, RequestError as
/// load_system, load_model
[[nodiscard]] ServeAnswer answer(const ServeRequest& request);
/// The question of the search for this machine and model. \throws as answer
[[nodiscard]] ServingQuestion serving_question(const ServeRequest& request, const Model& model, const System& system);
/// The requests that arrive; none: clients wait for answers. Those of a trace set the lengths of the request. \throws Refusal, SpecError
[[nodiscard]] std::optional<LoadQuestion> load_question(ServeRequest& request);
/// Deployments under them, of which the first keeps the limits. \throws UnmetError
[[nodiscard]] LoadedPlan found_deployments(const ServingQuestion& question, const System& system, LoadQuestion load);
/// Runs the search; returns at least one deployment. \throws UnmetError
[[nodiscard]] ServingPlan found_deployments(const ServingQuestion& question, const System& system);

[[nodiscard]] std::vector<PlannedDeployment> planned(const ServingQuestion& question, const System& system,
                                                     const std::vector<PricedServing>& deployments);

}  // namespace fabricost::plan
