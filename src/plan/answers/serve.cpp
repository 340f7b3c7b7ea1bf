/// \file serve.cpp
/// Searches deployments of a served model.

#include "answers/search_time.hpp"
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
namespace {

[[nodiscard]] PlannedDeployment planned(const ServingQuestion& q, const System& system, const PricedServing& p) {
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
    const ExpertBalance balance = expert_balance(q, system, p);
    if (kernels.routing.kind != RoutingKind::balanced) out.expert_imbalance = balance.fullest;
    if (kernels.copies > 0) {
      out.expert_copies = Bytes::from_value(balance.copies);
      out.rebalance = Time::from_value(balance.anew);
    }
  }
  if (q.pool) {
    out.prefill_system = q.pool->system->name;
    out.prefill_gpus = q.pool->gpus;
    out.dollars_per_million_tokens = compared(q, p, system, load_prices()).dollars;
  }
  if (q.stack.drafts > 0) {
    out.tokens_per_step = q.stack.tokens_per_step();
    out.drafts_pay_until = drafts_pay_until(q, system, p);
  }
  return out;
}

/// The same of one under requests that arrive, which answers what arrives as long as it can.
[[nodiscard]] PlannedDeployment planned(const ServingQuestion& q, const System& system, const LoadQuestion& load, const LoadedServing& of) {
  PlannedDeployment out = planned(q, system, of.deployment);
  out.arrivals = served_arrivals(of, load.rate());
  const double slow = of.deployment.time.ttft + q.osl * of.deployment.time.tpot;
  const double slower = out.interval_ttft.second.value() + q.osl * out.interval_tpot.second.value();
  const double rate = out.tokens_per_second_per_gpu,
               least = of.saturation.value_or(of.figures.rate * slower / slow) / std::max(of.figures.rate, 1e-12) * slow / slower;
  out.interval_tokens_per_second_per_gpu = {rate * std::min(1.0, least), rate};
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
    throw Refusal("<prefix_tier>: <prefix> says already how much is found; name one tier without its room, or give <turns> or <requests> instead");
}

/// Machines of another kind that read the prompts, by the same stack. \throws Refusal
void set_pool(ServingQuestion& q, const ServeRequest& r, const ServingTable& table) {
  q.by_layer = r.kv_by_layer;
  if (r.prefill_system) {
    if (!r.prefill_gpus) throw Refusal("how many GPUs of <prefill_system> read the prompts? Give <prefill_gpus>", true);
    const std::shared_ptr<const System> system = r.prefill_system.get();
    q.disaggregated = true;
    q.pool = {system, *r.prefill_gpus, table.stack(r.stack, system->gpu.generation), table.constants(system->gpu.generation)};
    q.pool->stack.prefill_launch = q.stack.prefill_launch;
    q.pool->stack.kernels.routing = q.stack.kernels.routing;
    q.pool->stack.kernels.copies = q.stack.kernels.copies;
    if (q.stack.drafts > 0) q.pool->stack.prefill *= 1 + draft_cost(q.model);
  } else if (r.prefill_gpus) {
    throw Refusal("<prefill_gpus> are of a machine of another kind: add <prefill_system>");
  }
  if (q.by_layer && !q.disaggregated) throw Refusal("<kv_by_layer> is of prefill workers: add <disaggregated>");
}

/// "p99 TTFT 1.2 s, p99 TPOT 31 ms".
[[nodiscard]] std::string unkept_text(const ServingQuestion& q, const System& system, const LoadQuestion& load,
                                      const LoadedServing& nearest) {
  const LoadFigures& f = nearest.figures;
  const PricedServing& p = nearest.deployment;
  std::string limits;
  if (q.ttft > 0) limits += fmt::format(" TTFT {}", short_time_text(q.ttft));
  if (q.tpot > 0) limits += fmt::format(" TPOT {}", short_time_text(q.tpot));
  const double asked = load.rate();
  const std::string nearest_text =
      fmt::format("{} x {}{}", p.replicas, engine_text(p.engine, q.model.mixture()),
                  p.apart ? fmt::format(" behind {} x {}", p.prefill_workers, engine_text(p.prefill, q.model.mixture())) : "");
  if (limits.empty() || nearest.saturation.value_or(asked) < asked)
    return fmt::format(
        "{} on {} {} GPUs: {} are more than they answer; the nearest ({}) answers {}/s: take more GPUs or a lower <request_rate>",
        q.model.name, q.gpus, system.name, arriving_text(load), nearest_text, figure(nearest.saturation.value_or(f.rate)));
  const double within = nearest.rate_within.value_or(0);
  const std::string of =
      load.goodput > 0 ? fmt::format("{:.4g} % of requests", 100 * load.goodput) : fmt::format("the {:g}th percentile", load.percentile);
  return fmt::format(
      "{} on {} {} GPUs with {} keeps{} for {} in no layout; the nearest ({}) has TTFT {}, TPOT {} at that percentile, keeps "
      "both for {:.4g} %{}: ask for looser limits, a lower <request_rate> or more GPUs",
      q.model.name, q.gpus, system.name, arriving_text(load), limits, of, nearest_text, short_time_text(f.ttft.at), short_time_text(f.tpot.at),
      100 * f.within, within > 0 ? fmt::format(" and for all up to {} requests/s", figure(within)) : "");
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
  q.stack = table.stack(r.stack, system.gpu.generation);
  q.constants = table.constants(system.gpu.generation);
  if (q.stack.drafts > 0 && q.model.predict_layers == 0)
    throw Refusal(fmt::format("<stack={}> drafts tokens with a model's own module for it, which {} has not (predict_layers)", q.stack.name,
                              q.model.name));
  set_engine(q, r, system);
  set_drafts(q, r);
  set_pool(q, r, table);
  return q;
}

std::optional<LoadQuestion> load_question(ServeRequest& r) {
  const bool traced = !r.requests.empty();
  if (!r.request_rate && !traced) {
    const auto refuse = [](bool given, std::string_view name) {
      if (given) throw Refusal(fmt::format("<{}> is of requests that arrive: add <request_rate=30>", name));
    };
    refuse(r.burstiness.has_value(), "burstiness");
    refuse(r.length_variation.has_value(), "length_variation");
    refuse(r.percentile.has_value(), "percentile");
    refuse(r.goodput.has_value(), "goodput");
    refuse(r.prefix.has_value(), "prefix");
    refuse(r.turns.has_value(), "turns");
    refuse(r.turn_gap.has_value(), "turn_gap_seconds");
    refuse(r.prefix_tier.has_value(), "prefix_tier");
    refuse(r.prefix_cache.has_value(), "prefix_cache_bytes");
    refuse(r.prefix_read_bandwidth.has_value(), "prefix_read_bytes_per_second");
    refuse(r.route.has_value(), "route");
    return std::nullopt;
  }
  if (r.concurrency) throw Refusal("<concurrency> is of clients that wait for answers; leave it out of requests that arrive");
  if (r.pareto) throw Refusal("<pareto> is of clients that wait for answers; leave it out of requests that arrive");
  if (r.percentile && r.goodput) throw Refusal("<percentile> and <goodput> say twice when limits are kept; give one");
  if (r.goodput && !r.ttft && !r.tpot)
    throw Refusal("<goodput> is a share of requests within limits: add <ttft_seconds> or <tpot_seconds>");
  LoadQuestion out;
  out.percentile = r.percentile.value_or(out.percentile);
  out.goodput = r.goodput.value_or(0);
  set_stores(out.stores, r);
  out.route = r.route.value_or(out.route);
  if (traced) {
    const auto refuse = [](bool given, std::string_view name) {
      if (given) throw Refusal(fmt::format("<{}> is in the trace of <requests> already; leave it out", name));
    };
    refuse(r.burstiness.has_value(), "burstiness"), refuse(r.length_variation.has_value(), "length_variation"),
        refuse(r.prefix.has_value(), "prefix"), refuse(r.turns.has_value(), "turns"), refuse(r.turn_gap.has_value(), "turn_gap_seconds");
    out.trace = r.requests.value ? *r.requests.value : read_requests(r.requests.file);
    if (out.trace->rate <= 0) throw Refusal("<requests>: all arrive at one time; a trace has several timestamps");
    if (r.request_rate) out.trace = faster(std::move(*out.trace), r.request_rate->per_second / out.trace->rate);
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
  if (out.drawn.shared >= r.isl)
    throw Refusal(fmt::format("<prefix> {}: as long as a prompt of <isl={}> tokens; take fewer", out.drawn.shared, r.isl));
  return out;
}

LoadedPlan found_deployments(const ServingQuestion& q, const System& system, LoadQuestion load) {
  LoadedPlan plan = loaded(q, system, std::move(load));
  if (plan.deployments.empty()) static_cast<void>(found_deployments(q, system));  // says what does not fit
  if (const LoadedServing& first = plan.deployments.front(); !first.keeps)
    throw UnmetError(Unmet::limits, unkept_text(q, system, plan.load, first));
  return plan;
}

ServingPlan found_deployments(const ServingQuestion& q, const System& system) {
  ServingPlan plan = plan_serving(q, system);
  if (plan.layouts.empty()) throw UnmetError(plan.nearest ? Unmet::limits : Unmet::memory, nothing_found(q, system, plan));
  return plan;
}

std::vector<PlannedDeployment> planned(const ServingQuestion& question, const System& system,
                                       const std::vector<PricedServing>& deployments) {
  std::vector<PlannedDeployment> out;
  out.reserve(deployments.size());
  for (const PricedServing& one : deployments) out.push_back(planned(question, system, one));
  return out;
}

ServeAnswer answer(const ServeRequest& asked) {
  ServeRequest request = asked;
  if (!request.system) throw Refusal("on which machine? Name it with <system> (fabricost machine lists them)", true);
  if (!request.model) throw Refusal("which model? Name it with <model> (fabricost model lists them)", true);
  if (!request.gpus) throw Refusal("on how many GPUs? Give <gpus> (need gpus finds how many are enough)", true);
  check_ranges(request);
  const auto found = std::make_shared<FoundDeployments>();
  found->system = request.system.load(request.overrides, {}, request.calibration);
  std::optional<LoadQuestion> load = load_question(request);
  found->question = serving_question(request, request.model.load(), found->system);
  const ServingQuestion& q = found->question;
  const auto start = std::chrono::steady_clock::now();
  ServeAnswer out;
  if (load) {
    const auto plan = std::make_shared<const LoadedPlan>(found_deployments(q, found->system, std::move(*load)));
    for (const LoadedServing& one : plan->deployments)
      out.layouts.push_back(planned(q, found->system, plan->load, one)), found->plan.layouts.push_back(one.deployment);
    found->plan.evaluated = plan->simulated;
    found->plan.ttft = q.ttft;
    found->loaded = plan;
  } else {
    found->plan = found_deployments(q, found->system);
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
    found->pareto = serving_pareto(q, found->system);
    out.pareto = planned(q, found->system, found->pareto);
  }
  out.found = found;
  return out;
}

}  // namespace fabricost::plan
