/// Searches deployments of a served model.

#include "answers/search_time.hpp"
#include "answers/searched.hpp"
#include "fields/refuse_given.hpp"
#include "text/amounts.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/economics/compare.hpp>
#include <fabricost/plan/economics/unmet.hpp>
#include <fabricost/plan/explain/nearest_plan.hpp>
#include <fabricost/plan/model/gate.hpp>
#include <fabricost/plan/serving/arrivals/loaded.hpp>
#include <fabricost/plan/serving/certainty.hpp>
#include <fabricost/plan/serving/offload.hpp>
#include <fabricost/plan/specs/prices.hpp>
#include <fabricost/plan/specs/serving.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace fabricost::plan {

RequestTable<ServeRequest> ServeRequest::fields() {
  using R = ServeRequest;
  using enum Amount;
  constexpr Range wait{0, 1e9, true}, wait_of_token{0, 10, true}, on_host{0, 65536 * gibibyte};
  return {
      field::ask_machine<R>,
      field::ask_model<R>,
      field::ask_gpus<R>,
      asks(&R::isl, "isl", "--isl", length, any_count, "N", "Tokens per prompt, as in 128k (131072); default 4096"),
      asks(&R::osl, "osl", "--osl", length, any_count, "N", "Tokens per answer; default 512"),
      asks(&R::ttft, "ttft_seconds", "--ttft", seconds, wait, "TIME",
           "Longest mean time to the first token, as 1s; default 5s, or\n0.25 ms per token of a longer prompt, twice that where "
           "none\nmeets it, and so on; 1d lifts it"),
      asks(&R::tpot, "tpot_seconds", "--tpot", seconds, wait_of_token, "TIME", "Longest mean time per further token, as 30ms"),
      asks(&R::concurrency, "concurrency", "--concurrency", count, {1, 1e9}, "N", "Requests in flight, all engines together"),
      asks(&R::batch, "batch", "--batch", count, any_count, "N", "Sequences per engine; default the most within the limits"),
      ArrivingRequests::fields(),
      asks(&R::disaggregated, "disaggregated", "--disaggregated", "", "Prefill and decode on GPUs of their own"),
      asks(&R::precision, "precision", "--precision", "P",
           "Precision of the weights: bf16, fp8, fp4, int4; default as\npublished if narrower than 16 bits, else fp8 if the GPU has it"),
      asks(&R::kv_precision, "kv_precision", "--kv-precision", "P",
           "Precision of the KV cache: bf16 or fp8; default fp8 if the\nweights are narrower than 16 bits"),
      asks(&R::stack, "stack", "--stack", "NAME", "Serving framework: vllm (default), sglang, trtllm, ..."),
      asks(&R::stack_scale, "stack_scale", "--stack-scale", number, {0.2, 5}, "X",
           "Factor on all of the stack but exchanges, as\n<measured_tpot_seconds> finds it; default 1"),
      asks(&R::measured_tpot, "measured_tpot_seconds", "--measured-tpot", seconds, wait_of_token, "TIME",
           "TPOT that you measured of the engine named by <tp> and <pp> at\n<concurrency>, as in 25ms: finds the factor that explains it"),
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
           "Machine of another kind that reads the prompts; <system>, <gpus>\nand <overrides> are then of the decode workers"),
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
      asks(&R::pareto, "", "--pareto", "", "Pareto front: deployments that no other beats in both rates")};
}

AnswerTable<PlannedDeployment> PlannedDeployment::fields() {
  using A = PlannedDeployment;
  constexpr bool left_out = true;
  return {
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
      gives(&A::host, "host_GiB", "host_bytes", "Of the GPU's share, what lies in the host's memory and is fetched every pass.", gibibyte),
      gives(&A::concurrency, "concurrency", "concurrency", "Requests in flight at all engines: batch x replicas, or what was asked for."),
      gives(&A::interval_ttft, "interval_ttft_s", "interval_ttft_seconds", "(low, high), s: nine runs in ten should fall between."),
      gives(&A::interval_tpot, "interval_tpot_s", "interval_tpot_seconds", "The same of the time per token."),
      gives(&A::interval_tokens_per_second_per_gpu, "interval_tokens_per_s_per_gpu", "interval_tokens_per_second_per_gpu",
            "The same of the tokens per second and GPU: with TTFT and TPOT at one end of theirs."),
      gives(&A::extrapolated, "extrapolated", "extrapolated",
            "What lies outside the runs that the stack was fitted to, which widens the intervals: model, disaggregation, sequences (of a GPU), "
            "prompts, answers."),
      gives(&A::idle_gpus, "idle_gpus", "idle_gpus", "GPUs that no engine uses; they count in tokens_per_second_per_gpu."),
      gives(&A::disaggregated, "", "disaggregated", "Whether prefill and decode have GPUs of their own."),
      gives(&A::prefill_tp, "prefill.tp", "prefill_tp", "Tensor ranks of a prefill worker; 0: not apart.", 1, left_out),
      gives(&A::prefill_pp, "prefill.pp", "prefill_pp", "Its stages.", 1, left_out),
      gives(&A::prefill_ep, "prefill.ep", "prefill_ep", "Its expert ranks.", 1, left_out),
      gives(&A::prefill_dp, "prefill.dp", "prefill_dp", "Its attention replicas.", 1, left_out),
      gives(&A::prefill_use, "prefill.use", "prefill_use",
            "Share of the time in which prefill workers compute; at 1 more requests only wait. None: not apart.", 1, left_out),
      gives(&A::link_use, "prefill.link_use", "link_use",
            "Share of the time in which links send caches, or decode workers' receive them if that is more; at 1 more requests only wait. None: not apart.", 1, left_out),
      gives(&A::expert_imbalance, "experts.imbalance", "expert_imbalance",
            "Rows of the fullest expert rank over the mean in a decode step; None: choices are balanced.", 1, left_out),
      gives(&A::expert_copies, "experts.copies_bytes", "expert_copies_bytes",
            "Of a GPU's weights, those of redundant experts; None: there are none.", 1, left_out),
      gives(&A::rebalance, "experts.rebalance_s", "rebalance_seconds",
            "Until every GPU has been sent all of its experts anew, as loads change; None: no experts are redundant.", 1, left_out),
      gives(&A::prefill_system, "prefill.system", "prefill_system", "The machine that reads prompts, where it is of another kind.", 1,
            left_out),
      gives(&A::prefill_gpus, "prefill.gpus", "prefill_gpus", "Its GPUs.", 1, left_out),
      gives(&A::kv_sent, "prefill.kv_bytes", "kv_bytes_sent", "KV cache of a prompt, sent to its decode worker; None: not apart.", 1,
            left_out),
      gives(&A::kv_rate, "prefill.kv_bytes_per_s", "kv_bytes_per_second", "The rate at which it is sent.", 1, left_out),
      gives(&A::paid_gpus, "paid_gpus", "paid_gpus", "GPUs that the money is of: whole nodes, or the least that is rented."),
      gives(&A::dollars_per_million_tokens, "dollars_per_million_tokens", "dollars_per_million_tokens",
            "USD for a million answered tokens, which pay for all GPUs, of both machines where there are two; None: a price is not known.", 1,
            left_out),
      gives(&A::token_prices, "token_prices", "token_prices",
            "The same divided over input, cached and output tokens by the GPU time that each takes; a list of TokenPrice."),
      gives(&A::price_kind, "price_kind", "price_kind", "By which dollars are: on_demand, reserved, owned or stated (given); None: not known.", 1,
            left_out),
      gives(&A::tokens_per_step, "tokens_per_step", "tokens_per_step", "With drafts, tokens of a step; None: without.", 1, left_out),
      gives(&A::drafts_pay_until, "drafts_pay_until", "drafts_pay_until",
            "Sequences of an engine up to which, from one on, tokens come faster with drafts than without; None: as many as fit, or no drafts.", 1,
            left_out),
      gives(&A::drafts_pay, "drafts_pay", "drafts_pay", "All such batches, as 1 to 4, 64 or more; empty: none, or no drafts.", 1, left_out),
      gives(&A::without_drafts, "tokens_per_s_per_gpu_without_drafts", "tokens_per_second_per_gpu_without_drafts",
            "The rate at this batch without drafts; None: there are none, requests arrive, or prefill is apart.", 1, left_out),
      gives(&A::arrivals, "arrivals", "arrivals", "Under requests that arrive, a ServedArrivals; None: clients wait for answers.", 1,
            left_out),
      gives(&A::terms, "terms", "terms", "What a token is spent on, a list of StepTerm."),
      gives(&A::ttft_terms, "ttft_terms", "ttft_terms",
            "What the first token waits for: prompt, queue, transfer, framework; a list of StepTerm.")};
}

AnswerTable<ServeAnswer> ServeAnswer::fields() {
  using A = ServeAnswer;
  return {gives(&A::layouts, "layouts", "", "The deployments, most tokens per second and GPU first."),
          gives(&A::evaluated, "evaluated", "evaluated", "Pairs of deployment and batch that were priced."),
          gives(&A::pruned, "pruned", "pruned", "Layouts left out: they do not fit, or no batch meets the limits."),
          field::give_search_time<A>,
          gives(&A::model, "model", "", "Name of the model."),
          gives(&A::system, "system", "", "Name of the machine."),
          gives(&A::gpus, "gpus", "", "GPUs asked for."),
          gives(&A::ttft_limit, "ttft_limit_s", "ttft_limit_seconds",
                "The limit on TTFT that was kept, s: the one asked for, or the usual one; 0: none."),
          gives(&A::precision, "precision", "", "Of the weights."),
          gives(&A::stack, "stack", "", "Name of the serving framework."),
          gives(&A::stack_scale, "stack_scale", "stack_scale", "Factor that explains measured_tpot_seconds; None: it was not given.", 1, true),
          field::give_kernels<A>,
          gives(&A::pareto, "pareto", "", "Deployments none other beats in both rates.", 1, true)};
}

namespace {

/// \param prices the shipped ones
[[nodiscard]] PlannedDeployment planned(const ServingQuestion& q, const System& system, const PricedServing& p, const Prices& prices) {
  const ServingCertainty certain = certainty_of(q, p);
  const ServingTime& t = p.time;
  PlannedDeployment out{.system = system.name,
                        .model = q.model.name,
                        .stack = q.stack.name,
                        .precision = std::string{name(q.format.weights)},
                        .gpus = q.all_gpus(),
                        .tp = p.engine.tp,
                        .pp = p.engine.pp,
                        .ep = p.engine.ep,
                        .dp = p.engine.attention_dp,
                        .batch = p.batch,
                        .replicas = p.replicas,
                        .prefill_workers = p.prefill_workers,
                        .decode_workers = p.apart ? p.replicas : 0,
                        .ttft = Time::from_value(t.ttft),
                        .tpot = Time::from_value(t.tpot),
                        .tokens_per_second = p.tokens_per_s_per_gpu * q.all_gpus(),
                        .tokens_per_second_per_gpu = p.tokens_per_s_per_gpu,
                        .tokens_per_second_per_user = p.tokens_per_s_per_user,
                        .memory = Bytes::from_value(p.memory),
                        .kv = Bytes::from_value(p.cache),
                        .weight = Bytes::from_value(p.weights),
                        .host = Bytes::from_value(p.on_host),
                        .concurrency = p.requests,
                        .idle_gpus = q.all_gpus() - p.used(),
                        .interval_ttft = with_units<std::pair<Time, Time>>(certain.ttft),
                        .interval_tpot = with_units<std::pair<Time, Time>>(certain.tpot),
                        .interval_tokens_per_second_per_gpu = certain.rate,
                        .extrapolated = certain.extrapolated,
                        .disaggregated = p.apart,
                        .terms = terms_of(q, p),
                        .ttft_terms = first_token_terms(t)};
  if (p.apart) {
    out.prefill_tp = p.prefill.tp;
    out.prefill_pp = p.prefill.pp;
    out.prefill_ep = p.prefill.ep;
    out.prefill_dp = p.prefill.attention_dp;
    out.prefill_use = t.prefill_use;
    out.link_use = t.link_use;
    out.kv_sent = Bytes::from_value(kv_bytes(q.model, q.isl, q.format.kv_width));
    out.kv_rate = Bandwidth::from_value(p.link.rate);
  }
  if (const ServingKernels& kernels = q.stack.kernels; p.engine.ep > 1 && (kernels.copies > 0 || kernels.routing.kind != RoutingKind::balanced)) {
    const ExpertBalance balance = expert_balance(system, q, p);
    if (kernels.routing.kind != RoutingKind::balanced) out.expert_imbalance = balance.fullest;
    if (kernels.copies > 0) {
      out.expert_copies = Bytes::from_value(balance.copies);
      out.rebalance = Time::from_value(balance.anew);
    }
  }
  if (q.pool) {
    out.prefill_system = q.pool->system->name;
    out.prefill_gpus = q.pool->gpus;
  }
  const Compared money = compared(q, p, system, prices);
  out.dollars_per_million_tokens = money.dollars;
  if (money.price_kind) out.price_kind = std::string{name(*money.price_kind)};
  out.paid_gpus = q.all_gpus() + money.idle_gpus;
  out.token_prices = money.tokens;
  if (q.stack.drafts > 0) {
    out.tokens_per_step = q.stack.tokens_per_step();
    const DraftUse use = use_of_drafts(system, q, p);
    for (const auto& [from, to] : use.batches)
      out.drafts_pay += fmt::format("{}{:.0f}{}", out.drafts_pay.empty() ? "" : ", ", from,
                                    std::isinf(to) ? " or more" : to > from ? fmt::format(" to {:.0f}", to) : "");
    if (use.batches.empty() || use.batches.front().first > 1) out.drafts_pay_until = 0;
    else if (std::isfinite(use.batches.front().second)) out.drafts_pay_until = use.batches.front().second;
    if (use.gain) out.without_drafts = p.tokens_per_s_per_gpu / *use.gain;
  }
  return out;
}

/// Dollars of its kinds of tokens.
void add_token_prices(PlannedDeployment& p) {
  p.token_prices = token_prices(std::move(p.token_prices), p.dollars_per_million_tokens, p.tokens_per_second_per_gpu,
                                p.interval_tokens_per_second_per_gpu);
}

/// The same of one under requests that arrive, which answers what arrives as long as it can.
[[nodiscard]] PlannedDeployment planned(const ServingQuestion& q, const System& system, const LoadQuestion& load, const LoadedServing& of,
                                        const Prices& prices) {
  PlannedDeployment out = planned(q, system, of.deployment, prices);
  out.without_drafts.reset();  // requests come at the same rate
  out.arrivals = served_arrivals(q, of, load);
  const double slow = of.deployment.time.ttft + q.osl * of.deployment.time.tpot;
  const double slower = out.interval_ttft.second.value() + q.osl * out.interval_tpot.second.value();
  const double rate = out.tokens_per_second_per_gpu,
               least = of.saturation.value_or(of.figures.rate * slower / slow) / std::max(of.figures.rate, 1e-12) * slow / slower;
  out.interval_tokens_per_second_per_gpu = {rate * std::min(1.0, least), rate};
  add_token_prices(out);
  return out;
}

void set_format(ServingQuestion& q, const ServeRequest& r, const System& system) {
  if (r.kv_precision && *r.kv_precision != WeightFormat::bf16 && *r.kv_precision != WeightFormat::fp8)
    throw Refusal("<kv_precision>: write bf16 or fp8");
  const auto published = parse_enum<WeightFormat>(q.model.stated_precision, weight_format_names);
  const WeightFormat usual = published ? *published : system.gpu.fp8.value.value() > 0 ? WeightFormat::fp8 : WeightFormat::bf16;
  q.format.weights = r.precision.value_or(usual);
  q.format.kv_width = r.kv_precision.value_or(q.format.weights) == WeightFormat::bf16 ? 2 : 1;
}

/// Sets the launch of kernels, the data offloaded to host memory, and the routing of tokens.
void set_engine(ServingQuestion& q, const ServeRequest& r, const System& system) {
  if (r.launch) (*r.launch == Launch::graph ? q.stack.prefill_launch : q.stack.decode_launch) = *r.launch;
  q.host = {.weights = numbers_in(r.offload_weights).value_or(0), .cache = numbers_in(r.offload_kv).value_or(0)};
  if (q.host.weights + q.host.cache > 0) q.host.rate = host_rate(system);
  if (r.redundant_experts) {
    if (!q.model.mixture()) throw Refusal(fmt::format("<redundant_experts>: {} has no experts to copy", q.model.name));
    q.stack.kernels.copies = *r.redundant_experts;
  }
  if (!r.routing) return;
  if (!q.model.mixture()) throw Refusal(fmt::format("<routing>: {} has no experts to choose from", q.model.name));
  q.stack.kernels.routing = *r.routing;
  (void)popularity_of(gate_of(q.model), q.stack.kernels.routing, 1);  // refuses a histogram of the wrong length
}

/// Drafts as asked for: each takes a step longer.
void set_drafts(ServingQuestion& q, const ServeRequest& r) {
  if (r.draft_accept && !r.draft_tokens && q.stack.drafts == 0) throw Refusal("<draft_accept> is of drafts: add <draft_tokens=2>");
  q.stack.acceptance = r.draft_accept.value_or(q.stack.acceptance);
  q.stack.drafts = r.draft_tokens.value_or(q.stack.drafts);
  if (q.stack.drafts > 0) q.stack.draft(q.stack.drafts, draft_cost(q.model));
}

constexpr double usual_turn_gap = 30;  // s
constexpr double most_sessions = 100'000;

/// Where prefixes lie. \throws Refusal
void set_stores(std::vector<PrefixStore>& out, const ServeRequest& r) {
  if (r.prefix_tier) out = r.prefix_tier->stores;
  bool ssd = false;
  for (PrefixStore& store : out) {
    ssd = ssd || store.tier == PrefixTier::ssd;
    store.drives = numbers_in(r.prefix_read_bandwidth).value_or(0);
  }
  if (r.prefix_cache) {
    if (out.size() != 1) throw Refusal("<prefix_cache_bytes> is of one tier behind the GPUs: add <prefix_tier=host>, or write several as host:64GiB,ssd");
    out.front().bytes = numbers_in(r.prefix_cache);
  }
  if (ssd != r.prefix_read_bandwidth.has_value())
    throw Refusal(ssd ? "how fast are a node's drives? Add <prefix_read_bytes_per_second=5e10>"
                      : "<prefix_read_bytes_per_second> is of drives: add <prefix_tier=ssd>");
  if (out.empty()) return;
  const bool share = r.prefix && r.prefix->tokens == 0;
  if (!share && !r.turns && r.requests.empty())
    throw Refusal("<prefix_tier>: what do prompts repeat? Give a share as <prefix=60%>, <turns=10>, or <requests> with hash_ids");
  if (share && (out.size() > 1 || out.front().bytes))
    throw Refusal("<prefix_tier>: <prefix> says already how much is found; name one tier without its size, or give <turns> or <requests> instead");
}

/// The stack on a machine. \throws Refusal where it does not run on GPUs of that vendor
[[nodiscard]] ServingStack stack_for(const ServingTable& table, std::string_view name, const System& system) {
  ServingStack out = table.stack(name, system.gpu.generation, system.gpu.name);
  if (!out.vendors.empty() && std::find(out.vendors.begin(), out.vendors.end(), system.gpu.vendor) == out.vendors.end())
    throw Refusal(fmt::format("<stack={}>: {} runs on GPUs of {} alone, which {} has not; take <stack=vllm> or <stack=sglang>", name, out.title,
                              fmt::join(out.vendors, " and "), system.name));
  return out;
}

/// Machines of another kind that read the prompts, by the same stack. \throws Refusal
void set_pool(ServingQuestion& q, const ServeRequest& r, const ServingTable& table) {
  q.by_layer = r.kv_by_layer;
  if (r.prefill_system) {
    if (!r.prefill_gpus) throw Refusal("how many GPUs of <prefill_system> read the prompts? Give <prefill_gpus>", true);
    const std::shared_ptr<const System> system = r.prefill_system.get();
    q.disaggregated = true;
    q.pool = {system, *r.prefill_gpus, stack_for(table, r.stack, *system), table.constants(system->gpu.generation)};
    q.pool->stack.prefill_launch = q.stack.prefill_launch;
    q.pool->stack.kernels.routing = q.stack.kernels.routing;
    q.pool->stack.kernels.copies = q.stack.kernels.copies;
    if (q.stack.drafts > 0) q.pool->stack.prefill *= 1 + draft_cost(q.model);
    q.pool->stack.scale(r.stack_scale.value_or(1));
  } else if (r.prefill_gpus) {
    throw Refusal("<prefill_gpus> are of a machine of another kind: add <prefill_system>");
  }
  if (q.by_layer && !q.disaggregated) throw Refusal("<kv_by_layer> is of prefill workers: add <disaggregated>");
}

/// Scales the stack so that the engine that is named has this TPOT; exchanges keep their time, and ranges of TPOT become those of a repeat.
/// \return the factor \throws Refusal unless one engine and its clients are named, or where no factor of 0.2 to 5 does
double explain_measured_tpot(const System& system, ServingQuestion& question, double seconds) {
  const bool whole = question.tp && question.pp && (!question.model.mixture() || (question.attention_dp && question.ep));
  if (!whole || question.disaggregated || !(question.concurrency > 0 || question.batch))
    throw Refusal("<measured_tpot_seconds> is of one engine that reads prompts too: name it with <tp>, <pp> and with experts <dp> and <ep>, and "
                  "<concurrency>");
  if (question.osl < 2) throw Refusal("<measured_tpot_seconds> is of further tokens: answers of <osl=1> have none");
  ServingQuestion q = question;
  q.ttft = q.tpot = q.usual_ttft = 0;
  q.top = 1;
  const auto of = [&](double factor) {
    q.stack = question.stack;
    q.stack.scale(factor);
    const ServingPlan plan = plan_serving(system, q);
    if (plan.layouts.empty()) throw Refusal("<measured_tpot_seconds>: the engine named does not fit or does not hold so many sequences");
    return plan.layouts.front();
  };
  constexpr double most = 5;  // as stack_scale may be
  double low = 1 / most, high = most;
  if (const double least = of(low).time.tpot, longest = of(high).time.tpot; !(seconds > least && seconds < longest))
    throw Refusal(fmt::format("<measured_tpot_seconds> of {} ms: with factors from 0.2 to 5 this engine takes {} to {} ms; look at what else differs from the run",
                              figure(1e3 * seconds), figure(1e3 * least), figure(1e3 * longest)));
  constexpr int halvings = 50;
  for (int i = 0; i < halvings; ++i) {
    const double middle = std::sqrt(low * high);
    (of(middle).time.tpot < seconds ? low : high) = middle;
  }
  const PricedServing p = of(std::sqrt(low * high));
  const ServingSpread as_published = spread_of(q.stack, {q.model.name, false, p.time.running / p.engine.gpus(), q.isl, q.osl}).spread;
  question.stack = q.stack;
  question.stack.spread_tpot = repeat_spread;
  question.stack.spread_ttft = as_published.ttft;
  question.stack.measured = {};  // this run is one of them
  return std::sqrt(low * high);
}

/// "8 x tp 4 pp 1", with prefill apart "8 x tp 4 pp 1 behind 2 x tp 8 pp 1".
[[nodiscard]] std::string engines_text(const PricedServing& p) {
  return fmt::format("{} x {}{}", p.replicas, engine_text(p.engine),
                     p.apart ? fmt::format(" behind {} x {}", p.prefill_workers, engine_text(p.prefill)) : "");
}

/// "p99 TTFT 1.2 s, p99 TPOT 31 ms".
[[nodiscard]] std::string unkept_text(const ServingQuestion& q, const System& system, const LoadQuestion& load,
                                      const LoadedServing& nearest) {
  const LoadFigures& f = nearest.figures;
  std::string limits;
  if (q.ttft > 0) limits += fmt::format(" TTFT {}", short_time_text(q.ttft));
  if (q.tpot > 0) limits += fmt::format(" TPOT {}", short_time_text(q.tpot));
  const double asked = load.rate();
  const std::string nearest_text = engines_text(nearest.deployment);
  if (limits.empty() || nearest.saturation.value_or(asked) < asked)
    return fmt::format(
        "{} on {} {} GPUs: {} are more than they answer; the nearest ({}) answers {}/s: take more GPUs or a lower <request_rate>",
        q.model.name, q.gpus, system.name, arriving_text(load), nearest_text, figure(nearest.saturation.value_or(f.rate)));
  const double within = nearest.rate_within.value_or(0);
  const std::string slower = !load.trace            ? "a lower <request_rate> or more GPUs"
                             : load.trace->fractional && asked > 1000 ? "a slower <request_rate> or more GPUs. Timestamps are milliseconds; with their fractions these look like seconds"
                                                      : "a slower <request_rate> or more GPUs";
  const std::string of =
      load.goodput > 0 ? fmt::format("{:.4g} % of requests", 100 * load.goodput) : fmt::format("the {:g}th percentile", load.percentile);
  return fmt::format(
      "{} on {} {} GPUs with {}: no layout meets{} for {}; the nearest ({}) has TTFT {}, TPOT {} at that percentile, meets "
      "both for {:.4g} %{}: ask for looser limits, {}",
      q.model.name, q.gpus, system.name, arriving_text(load), limits, of, nearest_text, short_time_text(f.ttft.at), short_time_text(f.tpot.at),
      100 * f.within, within > 0 ? fmt::format(" and for all up to {} requests/s", figure(within)) : "", slower);
}

}  // namespace

ServingQuestion serving_question(const ServeRequest& r, const Model& model, const System& system) {
  if (!model.causal())
    throw Refusal(fmt::format("{} is {}: serving is of decoders, which write a text token by token; plan its training",
                              model.name, model.kind == ModelKind::encoder     ? "an encoder"
                              : model.kind == ModelKind::diffusion ? "a diffusion transformer"
                                                                   : "a recommendation model"));
  ServingQuestion q;
  q.gpus = *r.gpus;
  q.isl = r.isl;
  q.osl = r.osl;
  q.ttft = numbers_in(r.ttft).value_or(0);
  q.tpot = numbers_in(r.tpot).value_or(0);
  q.usual_ttft = usual_ttft(q.isl);
  if (r.prefix) {
    if (r.prefix->tokens >= r.isl) throw Refusal(fmt::format("<prefix> {}: as long as a prompt of <isl={}> tokens; take fewer", r.prefix->tokens, r.isl));
    q.prefix = r.prefix->tokens, q.prefix_share = r.prefix->share;
  }
  q.batch = r.batch;
  q.concurrency = r.concurrency.value_or(0);
  if (q.batch && q.concurrency > 0) throw Refusal("<batch> and <concurrency> say the same twice; give one");
  q.disaggregated = r.disaggregated;
  q.top = r.top;
  q.tp = r.tp;
  q.pp = r.pp;
  q.ep = r.ep;
  q.attention_dp = r.dp;
  q.prefill = {r.prefill_tp, r.prefill_pp, r.prefill_ep, r.prefill_dp};
  q.model = model;
  set_format(q, r, system);
  const ServingTable table = load_serving_table();
  q.stack = stack_for(table, r.stack, system);
  q.constants = table.constants(system.gpu.generation);
  if (q.stack.drafts > 0 && r.draft_tokens != 0 && q.model.predict_layers == 0)
    throw Refusal(fmt::format("<stack={}> drafts tokens with a model's own module for it, which {} has not (predict_layers)", q.stack.name,
                              q.model.name));
  q.stack.scale(r.stack_scale.value_or(1));
  set_engine(q, r, system);
  set_drafts(q, r);
  set_pool(q, r, table);
  return q;
}

std::optional<LoadQuestion> load_question(ServeRequest& r) {
  const bool traced = !r.requests.empty();
  if (!r.request_rate && !traced) {
    refuse_given(r,
                 {"burstiness", "length_variation", "percentile", "goodput", "turns", "turn_gap_seconds", "prefix_tier",
                  "prefix_cache_bytes", "prefix_read_bytes_per_second", "route"},
                 "<{}> is of requests that arrive: add <request_rate=30>");
    return std::nullopt;
  }
  if (r.concurrency) throw Refusal("<concurrency> is of clients that wait for answers; leave it out of requests that arrive");
  if (r.pareto) throw Refusal("<pareto> is of clients that wait for answers; leave it out of requests that arrive");
  if (r.percentile && r.goodput) throw Refusal("<percentile> and <goodput> say twice when limits are met; give one");
  if (r.goodput && !r.ttft && !r.tpot)
    throw Refusal("<goodput> is a share of requests within limits: add <ttft_seconds> or <tpot_seconds>");
  LoadQuestion out;
  out.percentile = r.percentile.value_or(out.percentile);
  out.goodput = r.goodput.value_or(0);
  set_stores(out.stores, r);
  out.route = r.route.value_or(out.route);
  if (traced) {
    refuse_given(r, {"isl", "osl", "burstiness", "length_variation", "prefix", "turns", "turn_gap_seconds"},
                 "<{}> is in the trace of <requests> already; leave it out");
    out.trace = r.requests.value ? *r.requests.value : read_requests(r.requests.file);
    if (out.trace->rate <= 0) throw Refusal("<requests>: all arrive at one time; a trace has several timestamps");
    if (r.request_rate) out.speed = r.request_rate->per_second / out.trace->rate;
    double prompts = 0, answers = 0;
    for (const Arrival& one : out.trace->requests) prompts += one.prompt, answers += one.answer;
    const auto mean = [&](double tokens) {
      return static_cast<int>(std::max(1.0, std::round(tokens / static_cast<double>(out.trace->requests.size()))));
    };
    r.isl = mean(prompts);
    r.osl = mean(answers);
    return out;
  }
  out.drawn.rate = r.request_rate->per_second;
  out.drawn.burstiness = r.burstiness.value_or(1);
  out.drawn.variation = r.length_variation.value_or(0);
  out.drawn.of_answers = r.length_variation.value_or(usual_variation);
  if (r.turn_gap && !r.turns) throw Refusal("<turn_gap_seconds> is of sessions: add <turns=10>");
  if (r.turns && r.prefix) throw Refusal("<turns> of a session say what prompts repeat; leave <prefix> out");
  if (r.turns && *r.turns > 1) {
    out.drawn.turns = *r.turns;
    out.drawn.gap = numbers_in(r.turn_gap).value_or(usual_turn_gap);
    out.drawn.isl = r.isl;
    out.drawn.osl = r.osl;
    const double mean = r.isl + 0.5 * (*r.turns - 1) * (static_cast<double>(r.isl) + r.osl);
    if (r.request_rate->per_second * out.drawn.gap > most_sessions)
      throw Refusal(fmt::format("<turns>: more than {:.0f} sessions are open at once; take a lower <request_rate> or a shorter <turn_gap_seconds>",
                                most_sessions));
    if (mean * *r.turns > 1e8) throw Refusal("<turns>: prompts grow beyond 100 million tokens; take fewer");
    r.isl = static_cast<int>(mean);
  }
  if (r.prefix) {
    out.drawn.hit_rate = r.prefix->share;
    out.drawn.shared = r.prefix->tokens;
  }
  return out;
}

namespace {

/// What it would change that a request goes where its prompt's beginning is, of prompts that repeat earlier ones; empty where little.
[[nodiscard]] std::string by_prefix_text(const ServingQuestion& q, const System& system, const LoadQuestion& load, const LoadedServing& nearest) {
  const bool repeats = load.drawn.turns > 1 || (load.trace && !load.trace->hashes.empty());
  if (!repeats || load.route == RequestRoute::prefix || nearest.deployment.replicas < 2) return {};
  LoadQuestion other = load;
  other.route = RequestRoute::prefix;
  const LoadedPlan plan = loaded(system, q, std::move(other));
  if (plan.deployments.empty()) return {};
  const LoadedServing& best = plan.deployments.front();
  if (best.keeps) return fmt::format("; with <route=prefix> {} meets them", engines_text(best.deployment));
  constexpr double worth_saying = 1.1;
  if (best.figures.within > worth_saying * nearest.figures.within) return fmt::format("; with <route=prefix> {:.4g} % meet both", 100 * best.figures.within);
  return {};
}

/// \param nearest some deployment that keeps the limits at a lower rate is found, too
[[nodiscard]] LoadedPlan found_loaded(const System& system, const ServingQuestion& q, LoadQuestion load, bool nearest) {
  LoadedPlan plan = loaded(system, q, std::move(load));
  if (plan.deployments.empty()) static_cast<void>(found_deployments(system, q));  // says what does not fit
  const LoadedServing& first = plan.deployments.front();
  if (!first.keeps && !(nearest && !plan.load.trace && first.rate_within.value_or(0) > 0))
    throw UnmetError(Unmet::limits, unkept_text(q, system, plan.load, first) + (nearest ? "" : by_prefix_text(q, system, plan.load, first)));
  return plan;
}

}  // namespace

LoadedPlan found_deployments(const System& system, const ServingQuestion& q, LoadQuestion load) {
  return found_loaded(system, q, std::move(load), false);
}

ServingPlan found_deployments(const System& system, const ServingQuestion& q) {
  ServingPlan plan = plan_serving(system, q);
  if (plan.layouts.empty()) throw UnmetError(plan.nearest ? Unmet::limits : Unmet::memory, nothing_found(system, q, plan));
  return plan;
}

std::vector<PlannedDeployment> planned(const ServingQuestion& question, const System& system,
                                       const std::vector<PricedServing>& deployments) {
  std::vector<PlannedDeployment> out;
  out.reserve(deployments.size());
  const Prices prices = load_prices();
  for (const PricedServing& one : deployments) {
    out.push_back(planned(question, system, one, prices));
    add_token_prices(out.back());
  }
  return out;
}

namespace {

[[nodiscard]] ServeAnswer served(const ServeRequest& asked, bool nearest) {
  ServeRequest request = asked;
  if (!request.system) throw Refusal("on which machine? Name it with <system> (fabricost machine lists them)", true);
  if (!request.model) throw Refusal("which model? Name it with <model> (fabricost model lists them)", true);
  if (!request.gpus) throw Refusal("on how many GPUs? Give <gpus> (need, or --find gpus, finds how many are enough)", true);
  check_ranges(request);
  const auto found = std::make_shared<FoundDeployments>();
  found->system = request.system.load(request.overrides, {}, request.calibration);
  std::optional<LoadQuestion> load = load_question(request);
  found->question = serving_question(request, request.model.load(), found->system);
  const ServingQuestion& q = found->question;
  const auto start = std::chrono::steady_clock::now();
  ServeAnswer out;
  if (request.measured_tpot) {
    if (request.stack_scale) throw Refusal("<stack_scale> is what <measured_tpot_seconds> finds; leave one of them out");
    if (load) throw Refusal("<measured_tpot_seconds> is of clients that wait for answers: find its factor with <concurrency>, and give that as <stack_scale>");
    out.stack_scale = explain_measured_tpot(found->system, found->question, request.measured_tpot->value());
  }
  if (load) {
    const auto plan = std::make_shared<const LoadedPlan>(found_loaded(found->system, q, std::move(*load), nearest));
    const Prices prices = load_prices();
    for (const LoadedServing& one : plan->deployments)
      out.layouts.push_back(planned(q, found->system, plan->load, one, prices)), found->plan.layouts.push_back(one.deployment);
    found->plan.evaluated = plan->simulated;
    found->plan.ttft = q.ttft;
    found->loaded = plan;
  } else {
    found->plan = found_deployments(found->system, q);
    out.layouts = planned(q, found->system, found->plan.layouts);
  }
  out.search_time = since(start);
  out.evaluated = found->plan.evaluated;
  out.pruned = found->plan.pruned;
  out.model = q.model.name;
  out.system = found->system.name;
  out.stack = q.stack.name;
  out.gpus = q.all_gpus();
  out.ttft_limit = Time::from_value(found->plan.ttft);
  out.precision = std::string{name(q.format.weights)};
  out.kernels = q.stack.assumed_kernels ? "assumed" : "measured";
  if (request.pareto) {
    found->pareto = serving_pareto(found->system, q);
    out.pareto = planned(q, found->system, found->pareto);
  }
  out.found = found;
  return out;
}

}  // namespace

ServeAnswer answer(const ServeRequest& asked) { return served(asked, false); }

ServeAnswer nearest_served(const ServeRequest& asked) { return served(asked, true); }

}  // namespace fabricost::plan
