/// \file serve.cpp
/// Searches deployments of a served model.

#include "answers/search_time.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/economics/unmet.hpp>
#include <fabricost/plan/explain/nearest_plan.hpp>
#include <fabricost/plan/model/gate.hpp>
#include <fabricost/plan/serving/certainty.hpp>
#include <fabricost/plan/serving/offload.hpp>
#include <fabricost/plan/specs/serving.hpp>

#include <fmt/format.h>

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
                        .gpus = q.gpus,
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
                        .tokens_per_second = p.tokens_per_s_per_gpu * q.gpus,
                        .tokens_per_second_per_gpu = p.tokens_per_s_per_gpu,
                        .tokens_per_second_per_user = p.tokens_per_s_per_user,
                        .memory = Bytes::from_value(p.memory),
                        .kv = Bytes::from_value(p.cache),
                        .weight = Bytes::from_value(p.weights),
                        .host = Bytes::from_value(p.on_host),
                        .concurrency = p.requests,
                        .idle_gpus = q.gpus - p.used(),
                        .interval_ttft = with_units<std::pair<Time, Time>>(certain.ttft),
                        .interval_tpot = with_units<std::pair<Time, Time>>(certain.tpot),
                        .interval_tokens_per_second_per_gpu = certain.rate,
                        .extrapolated = certain.extrapolated,
                        .disaggregated = p.apart,
                        .terms = terms_of(q, p),
                        .ttft_terms = first_token_terms(t)};
  if (p.apart)
    out.prefill_tp = p.prefill.tp, out.prefill_pp = p.prefill.pp, out.prefill_ep = p.prefill.ep, out.prefill_dp = p.prefill.attention_dp;
  if (p.apart) out.prefill_use = t.prefill_use;
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
  if (!r.routing) return;
  if (!q.model.mixture()) throw Refusal(fmt::format("<routing>: {} has no experts to choose from", q.model.name));
  q.stack.kernels.routing = *r.routing;
  (void)popularity_of(gate_of(q.model), q.stack.kernels.routing, 1);  // refuses a histogram of the wrong length
}

}  // namespace

ServingQuestion serving_question(const ServeRequest& r, const Model& model, const System& system) {
  ServingQuestion q;
  q.gpus = *r.gpus, q.isl = r.isl, q.osl = r.osl;
  q.ttft = numbers_in(r.ttft).value_or(0), q.tpot = numbers_in(r.tpot).value_or(0);
  q.usual_ttft = usual_ttft(q.isl);
  q.batch = r.batch, q.concurrency = r.concurrency.value_or(0);
  if (q.batch && q.concurrency > 0) throw Refusal("<batch> and <concurrency> say the same twice; give one");
  q.disaggregated = r.disaggregated, q.top = r.top;
  q.tp = r.tp, q.pp = r.pp, q.ep = r.ep, q.attention_dp = r.dp;
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
  return q;
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

ServeAnswer answer(const ServeRequest& request) {
  if (!request.system) throw Refusal("on which machine? Name it with <system> (fabricost systems lists them)", true);
  if (!request.model) throw Refusal("which model? Name it with <model> (fabricost models lists them)", true);
  if (!request.gpus) throw Refusal("on how many GPUs? Give <gpus>", true);
  check_ranges(request);
  const auto found = std::make_shared<FoundDeployments>();
  found->system = request.system.load(request.overrides, {}, request.calibration);
  found->question = serving_question(request, request.model.load(), found->system);
  const ServingQuestion& q = found->question;
  const auto start = std::chrono::steady_clock::now();
  found->plan = found_deployments(q, found->system);
  ServeAnswer out;
  out.search_time = since(start);
  out.layouts = planned(q, found->system, found->plan.layouts);
  out.evaluated = found->plan.evaluated, out.pruned = found->plan.pruned;
  out.model = q.model.name, out.system = found->system.name, out.stack = q.stack.name;
  out.gpus = q.gpus, out.ttft_limit = Time::from_value(found->plan.ttft);
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
