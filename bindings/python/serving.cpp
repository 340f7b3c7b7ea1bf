/// \file serving.cpp
/// Plans of serving: fc.plan_serve, its deployments, what trades one user's speed for everybody's.

#include "serving.hpp"

#include "asked.hpp"
#include "bindings.hpp"
#include "choices.hpp"
#include "routing.hpp"

#include <fabricost/economics/terms.hpp>
#include <fabricost/explain/nearest_plan.hpp>
#include <fabricost/kernels/interval.hpp>
#include <fabricost/serving/offload.hpp>
#include <fabricost/specs/serving.hpp>

#include <chrono>
#include <cmath>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

constexpr double longest_wait = 1e9;  ///< s
constexpr double most_at_once = 1e9;
constexpr double most_on_host = 65536 * gibibyte;  ///< of one GPU's share, as the command has it

struct ServePlans {
  ServingQuestion question{};
  System system{};
  std::vector<PlannedServing> layouts{};
  long long evaluated = 0, pruned = 0;
  double seconds = 0;
};

[[nodiscard]] std::vector<PlannedServing> all_planned(const ServingQuestion& q, const System& system,
                                                      const std::vector<PricedServing>& layouts) {
  std::vector<PlannedServing> out;
  out.reserve(layouts.size());
  for (const PricedServing& one : layouts) out.push_back(planned(q, system, one));
  return out;
}

/// How remedies are written.
const ServingWords serving_words{
    .limits = [](double ttft, double tpot) { return fmt::format("ttft_seconds={:.4g}, tpot_seconds={:.4g}", ttft, tpot); },
    .precision = [](std::string_view format) { return fmt::format("precision=\"{}\"", format); },
    .together = "disaggregated=False"};

[[nodiscard]] ServePlans search(ServingQuestion q, System system) {
  const auto start = std::chrono::steady_clock::now();
  const ServingPlan plan = plan_serving(q, system);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (plan.layouts.empty()) throw UnmetError(plan.nearest ? Unmet::limits : Unmet::memory, nothing_found(q, system, plan, serving_words));
  ServePlans out{.question = std::move(q),
                 .system = std::move(system),
                 .layouts = {},
                 .evaluated = plan.evaluated,
                 .pruned = plan.pruned,
                 .seconds = seconds};
  out.layouts = all_planned(out.question, out.system, plan.layouts);
  return out;
}

[[nodiscard]] ServePlans plan_serve(const py::object& system, const py::object& model, const AskedServing& asked) {
  ServingQuestion q = question_of(asked);
  q.model = model_from(model);
  System machine = system_from(system);
  settle(q, asked, machine);
  return searched([&] { return search(std::move(q), std::move(machine)); });
}

void add_serve_plan(py::module_& module) {
  using P = PlannedServing;
  add_record<P>(
      module, "ServePlan", "One deployment of a served model. Made by plan_serve.", field("system", &P::system, "Name of the machine."),
      field("model", &P::model, "Name of the model."), field("stack", &P::stack, "Name of the serving framework."),
      field("precision", &P::precision, "Of the weights: bf16, fp8, fp4 or int4."), field("gpus", &P::gpus, "GPUs asked for."),
      field("tp", &P::tp, "Tensor ranks of one engine (of a decode worker, where prefill is apart)."), field("pp", &P::pp, "Its stages."),
      field("ep", &P::ep, "Its expert ranks."), field("dp", &P::dp, "Its attention replicas."),
      field("replicas", &P::replicas, "Engines, or decode workers."),
      field("prefill_workers", &P::prefill_workers, "Prefill workers; 0: not apart."),
      field("prefill_tp", &P::prefill_tp, "Tensor ranks of a prefill worker; 0: not apart."),
      field("prefill_pp", &P::prefill_pp, "Its stages."), field("prefill_ep", &P::prefill_ep, "Its expert ranks."),
      field("prefill_dp", &P::prefill_dp, "Its attention replicas."),
      field("disaggregated", &P::disaggregated, "Whether prefill and decode have GPUs of their own."),
      field("batch", &P::batch, "Sequences of one engine."),
      field("concurrency", &P::concurrency, "Requests in flight at all engines: batch x replicas, or what was asked for."),
      field("ttft_seconds", &P::ttft_seconds, "Time to the first token, s: the sum of ttft_terms."),
      field("tpot_seconds", &P::tpot_seconds, "Time per further token, s: the sum of terms; 0 for answers of one token."),
      field("tokens_per_second", &P::tokens_per_second, "Of all GPUs: tokens_per_second_per_gpu x gpus."),
      field("tokens_per_second_per_gpu", &P::tokens_per_second_per_gpu, "Answered tokens: osl x concurrency / (TTFT + osl TPOT) / GPUs."),
      field("tokens_per_second_per_user", &P::tokens_per_second_per_user, "1 / tpot_seconds; 1 / ttft_seconds for answers of one token."),
      field("memory_bytes", &P::memory_bytes, "Bytes on a GPU: weight_bytes + kv_bytes - host_bytes."),
      field("weight_bytes", &P::weight_bytes, "Of a GPU's share, weights."),
      field("kv_bytes", &P::kv_bytes, "Of a GPU's share, the cache of keys and values."),
      field("host_bytes", &P::host_bytes, "Of the GPU's share, what lies in the host's memory and is fetched every pass."),
      field("interval_ttft_seconds", &P::interval_ttft_seconds, "(low, high), s: nine runs in ten should fall between."),
      field("interval_tpot_seconds", &P::interval_tpot_seconds, "The same of the time per token."),
      field("terms", &P::terms, "What a token is spent on, a list of StepTerm."),
      field("ttft_terms", &P::ttft_terms, "What the first token waits for: prompt, queue, transfer, framework; a list of StepTerm."))
      .def_property_readonly(
          "bottleneck", [](const P& p) { return largest(p.terms); }, "The largest StepTerm of a token.")
      .def("__repr__", [](const P& p) {
        return fmt::format("{} x tp {} pp {} ep {}, batch {:.0f}: {:.4g} tokens/s/GPU, TTFT {:.4g} s, TPOT {:.4g} ms", p.replicas, p.tp,
                           p.pp, p.ep, p.batch, p.tokens_per_second_per_gpu, p.ttft_seconds, 1e3 * p.tpot_seconds);
      });
}

void add_serve_plans(py::module_& module) {
  py::class_<ServePlans> type(module, "ServePlans", "Deployments, most tokens per second and GPU first. Made by plan_serve.");
  type.def_readonly("evaluated", &ServePlans::evaluated, "Pairs of deployment and batch that were priced.");
  type.def_readonly("pruned", &ServePlans::pruned, "Layouts left out: they do not fit, or no batch keeps the limits.");
  type.def_readonly("search_seconds", &ServePlans::seconds, "How long the search took, s.");
  add_sequence(type, &ServePlans::layouts);
  type.def(
      "pareto",
      [](const ServePlans& p) {
        return searched([&] {
          ServePlans out = p;
          const std::vector<PricedServing> front = serving_pareto(p.question, p.system);
          out.layouts = all_planned(p.question, p.system, front);
          return out;
        });
      },
      R"(pareto(self)
--

Throughput against interactivity: deployments and batches within the limits that no other beats in tokens per second and GPU without
being slower for a user, most per user first: ServePlans. Both ends, and between them rows that differ by a tenth in one of the two.

>>> import fabricost as fc
>>> front = fc.plan_serve("dgx-h100", "llama3-70b", gpus=8).pareto()
>>> front[0].tokens_per_second_per_user > front[-1].tokens_per_second_per_user
True
)");
  type.def("__repr__", [](const ServePlans& p) {
    std::string out =
        fmt::format("{} deployments of {} on {} GPUs of {}", p.layouts.size(), p.question.model.name, p.question.gpus, p.system.name);
    if (!p.layouts.empty()) out += "; first " + py::cast<std::string>(py::repr(py::cast(p.layouts.front())));
    return out;
  });
}

}  // namespace

ServingQuestion question_of(const AskedServing& a) {
  needed(a.gpus, "gpus", "gpus=8");
  ServingQuestion q;
  q.gpus = whole(a.gpus, "gpus");
  q.isl = whole(a.isl, "isl");
  q.osl = whole(a.osl, "osl");
  const auto limit = [](const py::object& value, const char* name) {
    const auto given = real_or_none(value, name, 0, longest_wait);
    if (given && !(*given > 0)) throw RequestError(fmt::format("{}: a limit is above 0 s; None is no limit", name));
    return given.value_or(0);
  };
  q.ttft = limit(a.ttft_seconds, "ttft_seconds");
  q.tpot = limit(a.tpot_seconds, "tpot_seconds");
  if (q.tpot > 0 && q.osl < 2)
    throw RequestError("tpot_seconds limits what follows the first token; an answer of osl=1 has nothing after it");
  q.batch = whole_or_none(a.batch, "batch");
  q.concurrency = real_or_none(a.concurrency, "concurrency", 1, most_at_once).value_or(0);
  if (q.batch && q.concurrency > 0) throw RequestError("batch and concurrency say the same twice; give one");
  q.disaggregated = flag(a.disaggregated, "disaggregated");
  q.top = whole(a.top, "top");
  q.tp = whole_or_none(a.tp, "tp");
  q.pp = whole_or_none(a.pp, "pp");
  q.ep = whole_or_none(a.ep, "ep");
  q.attention_dp = whole_or_none(a.dp, "dp");
  return q;
}

namespace {

[[nodiscard]] double on_host(const py::object& given, const char* name) {
  const auto bytes = real_or_none(given, name, 0, most_on_host);
  return bytes.value_or(0);
}

}  // namespace

void settle(ServingQuestion& q, const AskedServing& a, const System& system) {
  const auto weights = word_or_none<WeightFormat>(a.precision, "precision", "a precision", weight_format_names);
  const auto cache = word_or_none<WeightFormat>(a.kv_precision, "kv_precision", "a precision", weight_format_names);
  if (cache && *cache != WeightFormat::bf16 && *cache != WeightFormat::fp8) throw RequestError("kv_precision: write bf16 or fp8");
  q.format.weights = weights.value_or(system.gpu.fp8.value.value() > 0 ? WeightFormat::fp8 : WeightFormat::bf16);
  const bool wide = cache ? *cache == WeightFormat::bf16 : q.format.weights == WeightFormat::bf16;
  q.format.kv_width = wide ? 2 : 1;
  const ServingTable table = load_serving_table();
  q.stack = table.stack(text(a.stack, "stack"), system.gpu.generation);
  q.constants = table.constants(system.gpu.generation);
  if (const auto launch = launch_of(a.launch)) (*launch == Launch::graph ? q.stack.prefill_launch : q.stack.decode_launch) = *launch;
  q.host = {.weights = on_host(a.offload_weights_bytes, "offload_weights_bytes"), .cache = on_host(a.offload_kv_bytes, "offload_kv_bytes")};
  if (q.host.weights + q.host.cache > 0) q.host.rate = host_rate(system);
  if (a.routing.is_none()) return;
  if (!q.model.mixture()) throw RequestError(fmt::format("routing: {} has no experts to choose from", q.model.name));
  q.stack.kernels.routing = routing_from(a.routing, "routing", "a routing");
  static_cast<void>(popularity_of(gate_of(q.model), q.stack.kernels.routing, 1));  // refuses a list of another length
}

PlannedServing planned(const ServingQuestion& q, const System& system, const PricedServing& p) {
  const auto ttft = interval_around(p.time.ttft, q.stack.spread_ttft), tpot = interval_around(p.time.tpot, q.stack.spread_tpot);
  const ServingTime& t = p.time;
  PlannedServing out{.system = system.name,
                     .model = q.model.name,
                     .stack = q.stack.name,
                     .precision = std::string{name(q.format.weights)},
                     .gpus = q.gpus,
                     .tp = p.engine.tp,
                     .pp = p.engine.pp,
                     .ep = p.engine.ep,
                     .dp = p.engine.attention_dp,
                     .replicas = p.replicas,
                     .prefill_workers = p.prefill_workers,
                     .disaggregated = p.apart,
                     .batch = p.batch,
                     .concurrency = p.requests,
                     .ttft_seconds = t.ttft,
                     .tpot_seconds = t.tpot,
                     .tokens_per_second = p.tokens_per_s_per_gpu * q.gpus,
                     .tokens_per_second_per_gpu = p.tokens_per_s_per_gpu,
                     .tokens_per_second_per_user = p.tokens_per_s_per_user,
                     .memory_bytes = p.memory,
                     .weight_bytes = p.weights,
                     .kv_bytes = p.cache,
                     .host_bytes = p.on_host,
                     .interval_ttft_seconds = ttft,
                     .interval_tpot_seconds = tpot,
                     .terms = {},
                     .ttft_terms = {}};
  if (p.apart) {
    out.prefill_tp = p.prefill.tp, out.prefill_pp = p.prefill.pp, out.prefill_ep = p.prefill.ep, out.prefill_dp = p.prefill.attention_dp;
  }
  for (const TimeTerm& term : terms_of(q, p)) out.terms.push_back({std::string{term.name}, term.seconds});
  out.ttft_terms = {
      {"prompt", t.prompt}, {"queue", t.queue}, {"transfer", t.transfer}, {"framework", t.ttft - t.prompt - t.queue - t.transfer}};
  return out;
}

void add_serving(py::module_& module) {
  add_serve_plan(module);
  add_serve_plans(module);
  const py::none none;
  module.def(
      "plan_serve",
      [](const py::object& system, const py::object& model, const py::object& gpus, const py::object& isl, const py::object& osl,
         const py::object& ttft, const py::object& tpot, const py::object& concurrency, const py::object& batch,
         const py::object& disaggregated, const py::object& precision, const py::object& kv_precision, const py::object& stack,
         const py::object& top, const py::object& tp, const py::object& pp, const py::object& ep, const py::object& dp,
         const py::object& launch, const py::object& routing, const py::object& offload_weights, const py::object& offload_kv) {
        return plan_serve(system, model, {gpus,  isl, osl, ttft, tpot, concurrency, batch,  disaggregated, precision,       kv_precision,
                                          stack, top, tp,  pp,   ep,   dp,          launch, routing,       offload_weights, offload_kv});
      },
      "system"_a, "model"_a, py::kw_only(), "gpus"_a = none, "isl"_a = 4096, "osl"_a = 512, "ttft_seconds"_a = none,
      "tpot_seconds"_a = none, "concurrency"_a = none, "batch"_a = none, "disaggregated"_a = false, "precision"_a = none,
      "kv_precision"_a = none, "stack"_a = ServingStack{}.name, "top"_a = 10, "tp"_a = none, "pp"_a = none, "ep"_a = none, "dp"_a = none,
      "launch"_a = none, "routing"_a = none, "offload_weights_bytes"_a = none, "offload_kv_bytes"_a = none,
      R"(plan_serve(system, model, *, gpus, isl=4096, osl=512, ttft_seconds=None, tpot_seconds=None, concurrency=None, batch=None,
    disaggregated=False, precision=None, kv_precision=None, stack='vllm', top=10, tp=None, pp=None, ep=None, dp=None, launch=None,
    routing=None, offload_weights_bytes=None, offload_kv_bytes=None)
--

The deployments that answer most tokens per second on so many GPUs within limits on time, ServePlans.

system, model: things loaded, or their names or paths. stack: a serving framework, as vllm, sglang, trtllm.
isl, osl: tokens of a prompt and of an answer. ttft_seconds, tpot_seconds: limits on the time to the first and per further token, s.
concurrency: requests in flight at all engines together; batch: sequences of one engine; default the most that keep the limits.
disaggregated: prefill and decode on GPUs of their own.
precision: of the weights, bf16, fp8, fp4 or int4, default fp8 where the GPU has it; kv_precision: bf16 or fp8.
tp, pp, ep, dp: fix what is given, search the rest. top: how many deployments.
launch: 'graph' runs prefill in CUDA graphs too, 'eager' nothing; default decode alone.
routing: how tokens choose experts, 'balanced', 'uniform', 'zipf:0.8', or a list of the tokens each expert received; default the stack's.
offload_weights_bytes, offload_kv_bytes: how much of each GPU's weights and cache may lie in the host's memory, from where every pass
fetches it, byte; a deployment puts no more there than its batch needs. Default none.

tokens/s = concurrency x osl / (TTFT + osl TPOT). Other Python threads run during the search.
Raises RequestError where nothing fits (its reason is 'memory') or keeps the limits ('limits'), with what comes nearest.

>>> import fabricost as fc
>>> best = fc.plan_serve(fc.load_system("dgx-h100"), fc.load_model("llama3-70b"), gpus=8, tpot_seconds=0.03)[0]
>>> best.tpot_seconds <= 0.03
True
>>> abs(sum(term.seconds for term in best.terms) / best.tpot_seconds - 1) < 1e-9
True
)");
}

}  // namespace fabricost::python
