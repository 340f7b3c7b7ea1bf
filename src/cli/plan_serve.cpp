/// \file plan_serve.cpp
/// fabricost plan --serve: the deployments that answer most tokens within limits on TTFT and TPOT, and what a token's time is made of.

#include "plan_serve.hpp"

#include "names.hpp"
#include "question.hpp"
#include "report.hpp"
#include "serve_words.hpp"
#include "text/short_time.hpp"
#include "text/text_table.hpp"

#include <fabricost/economics/terms.hpp>
#include <fabricost/explain/nearest_plan.hpp>
#include <fabricost/kernels/interval.hpp>
#include <fabricost/serving/offload.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/specs/load_model.hpp>
#include <fabricost/specs/serving.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>

namespace fabricost::cli {
namespace {

using Json = nlohmann::ordered_json;

[[nodiscard]] double limit_of(const std::string& text, std::string_view option) {
  if (text.empty()) return 0;
  const auto seconds = io::parse_duration(text);
  if (!seconds || !(*seconds > 0))
    throw RequestError(fmt::format("{} {}: write a time above zero with its unit, as in 30ms or 1s", option, text.substr(0, 40)));
  return *seconds;
}

[[nodiscard]] Json layout_json(const ServingQuestion& q, const PricedServing& p) {
  const auto ttft = interval_around(p.time.ttft, q.stack.spread_ttft), tpot = interval_around(p.time.tpot, q.stack.spread_tpot);
  Json out{{"tp", p.engine.tp},
           {"pp", p.engine.pp},
           {"ep", p.engine.ep},
           {"dp", p.engine.attention_dp},
           {"batch", p.batch},
           {"replicas", p.replicas},
           {"prefill_workers", p.prefill_workers},
           {"decode_workers", p.apart ? p.replicas : 0},
           {"ttft_s", p.time.ttft},
           {"tpot_s", p.time.tpot},
           {"tokens_per_s_per_gpu", p.tokens_per_s_per_gpu},
           {"tokens_per_s_per_user", p.tokens_per_s_per_user},
           {"memory_GiB", p.memory / gibibyte},
           {"kv_GiB", p.cache / gibibyte},
           {"weights_GiB", p.weights / gibibyte},
           {"host_GiB", p.on_host / gibibyte},
           {"concurrency", p.requests},
           {"interval_ttft_s", {ttft.first, ttft.second}},
           {"interval_tpot_s", {tpot.first, tpot.second}}};
  if (p.apart) out["prefill"] = {{"tp", p.prefill.tp}, {"pp", p.prefill.pp}, {"ep", p.prefill.ep}, {"dp", p.prefill.attention_dp}};
  out["terms"] = Json::array();
  for (const TimeTerm& t : terms_of(q, p)) out["terms"].push_back({{"name", t.name}, {"time_s", t.seconds}});
  out["ttft_terms"] = Json::array();
  const ServingTime& t = p.time;
  const double rest = t.ttft - t.prompt - t.queue - t.transfer;
  for (const TimeTerm& term :
       {TimeTerm{"prompt", t.prompt}, TimeTerm{"queue", t.queue}, TimeTerm{"transfer", t.transfer}, TimeTerm{"framework", rest}})
    out["ttft_terms"].push_back({{"name", term.name}, {"time_s", term.seconds}});
  return out;
}

[[nodiscard]] Json to_json(const ServeAnswer& a) {
  Json out;
  out["layouts"] = Json::array();
  for (const PricedServing& p : a.plan.layouts) out["layouts"].push_back(layout_json(a.question, p));
  out["evaluated"] = a.plan.evaluated;
  out["pruned"] = a.plan.pruned;
  out["seconds"] = a.seconds;
  out["model"] = a.question.model.name;
  out["system"] = a.system.name;
  out["gpus"] = a.question.gpus;
  out["precision"] = name(a.question.format.weights);
  out["stack"] = a.question.stack.name;
  out["kernels"] = a.question.stack.assumed_kernels ? "assumed" : "measured";
  if (!a.pareto.empty()) {
    out["pareto"] = Json::array();
    for (const PricedServing& p : a.pareto) out["pareto"].push_back(layout_json(a.question, p));
  }
  return out;
}

[[nodiscard]] std::string layouts_text(const ServingQuestion& q, const std::vector<PricedServing>& layouts) {
  TextTable rows{{{"tokens/s/GPU", right},
                  {"/user", right},
                  {"TTFT", right},
                  {"TPOT", right},
                  {"batch", right},
                  {"GiB", right},
                  {"KV GiB", right},
                  {q.disaggregated ? "decode" : "engine"},
                  {"prefill"}}};
  for (const PricedServing& p : layouts)
    rows.row({fmt::format("{:.4g}", p.tokens_per_s_per_gpu), fmt::format("{:.3g}", p.tokens_per_s_per_user),
              io::short_time_text(p.time.ttft), p.time.tpot > 0 ? io::short_time_text(p.time.tpot) : "-", fmt::format("{:.0f}", p.batch),
              fmt::format("{:.1f}", p.memory / gibibyte), fmt::format("{:.1f}", p.cache / gibibyte),
              fmt::format("{} x {}", p.replicas, engine_text(p.engine, q.model.mixture())),
              p.apart ? fmt::format("{} x {}", p.prefill_workers, engine_text(p.prefill, q.model.mixture())) : ""});
  return rows.text(2);
}

[[nodiscard]] std::string text_of(const ServeAnswer& a, const Terminal& terminal) {
  const ServingQuestion& q = a.question;
  std::string out =
      terminal.strong(fmt::format("{} in {} on {} {} GPUs, prompts of {:.0f} and answers of {:.0f} token{}, {}", q.model.name,
                                  name(q.format.weights), q.gpus, a.system.name, q.isl, q.osl, q.osl > 1 ? "s" : "", q.stack.name)) +
      "\n";
  out += layouts_text(q, a.pareto.empty() ? a.plan.layouts : a.pareto);
  if (!a.pareto.empty()) out += "  Most for each user first, most for all last; what is left out is beaten in both by one of these.\n";
  out += fmt::format("  {} batches of deployments priced, {} layouts left out: they do not fit or keep no limit; {:.3f} s\n",
                     a.plan.evaluated, a.plan.pruned, a.seconds);
  const PricedServing& best = a.plan.layouts.front();
  if (best.used() < q.gpus) out += fmt::format("  {} of {} GPUs stay idle in the first\n", q.gpus - best.used(), q.gpus);
  out += q.osl > 1 ? "\n" + terminal.strong(a.pareto.empty() ? "A token of the first" : "A token of the last") + "\n" : "";
  TextTable rows{{{"term"}, {"ms", right}, {"share", right}}};
  for (const TimeTerm& t : terms_of(q, best))
    if (std::fabs(t.seconds) > 1e-9)
      rows.row({std::string{t.name}, fmt::format("{:.4g}", 1e3 * t.seconds), fmt::format("{:.1f} %", 100 * t.seconds / best.time.tpot)});
  rows.row({"TPOT", fmt::format("{:.4g}", 1e3 * best.time.tpot), ""});
  if (q.osl > 1) out += rows.text(2);
  if (best.on_host > 0)
    out += fmt::format("\n  {:.1f} GiB of each GPU's share lie in the host's memory, fetched every pass at {:.0f} GB/s\n",
                       best.on_host / gibibyte, q.host.rate / 1e9);
  const ServingTime& t = best.time;
  out += fmt::format("\n  TTFT {}: prompt {}, waiting for others {}, cache transfer {}, framework {}\n", io::short_time_text(t.ttft),
                     io::short_time_text(t.prompt), io::short_time_text(t.queue), io::short_time_text(t.transfer),
                     io::short_time_text(t.ttft - t.prompt - t.queue - t.transfer));
  const auto ttft = interval_around(t.ttft, q.stack.spread_ttft), tpot = interval_around(t.tpot, q.stack.spread_tpot);
  const std::string further =
      q.osl > 1 ? fmt::format("TPOT {} to {}, ", io::short_time_text(tpot.first), io::short_time_text(tpot.second)) : "";
  out += fmt::format("  Nine in ten runs should show {}TTFT {} to {}: stack {}.\n", further, io::short_time_text(ttft.first),
                     io::short_time_text(ttft.second), q.stack.name);
  if (q.stack.assumed_kernels) out += wrapped("  ", assumed_kernels_text(a.system), 98);
  return out;
}

/// How remedies are typed.
const ServingWords serving_words{
    .limits = [](double ttft,
                 double tpot) { return fmt::format("--ttft {} --tpot {}", io::short_time_text(ttft), io::short_time_text(tpot)); },
    .precision = [](std::string_view format) { return fmt::format("--precision {}", format); },
    .together = "leave out --disaggregated"};

/// How kernels are launched, what lies in the host's memory, how tokens choose experts.
void set_engine(ServingQuestion& q, const ServeOptions& o, const System& system) {
  if (o.graph && o.eager) throw RequestError("--graph and --eager: give one");
  if (o.graph) q.stack.prefill_launch = Launch::graph;
  if (o.eager) q.stack.decode_launch = Launch::eager;
  q.host = {.weights = gibi_of(o.offload_weights, "--offload-weights"), .cache = gibi_of(o.offload_kv, "--offload-kv")};
  if (q.host.weights + q.host.cache > 0) q.host.rate = host_rate(system);
  if (o.routing.empty()) return;
  if (!q.model.mixture()) throw RequestError(fmt::format("--routing: {} has no experts to choose from", q.model.name));
  q.stack.kernels.routing = routing_of(o.routing);
  (void)popularity_of(gate_of(q.model), q.stack.kernels.routing, 1);  // a histogram of another length is refused here
}

}  // namespace

void add_serve_options(CLI::App& sub, ServeOptions& o) {
  const auto option = [&](const char* names, std::string& into, const char* help, const char* kind) {
    sub.add_option(names, into, help)->option_text(kind)->group("Serving");
  };
  option("--isl", o.isl, "Tokens of a prompt; default 4096", "N");
  option("--osl", o.osl, "Tokens of an answer; default 512", "N");
  option("--ttft", o.ttft, "Limit on the time to the first token, as 1s", "TIME");
  option("--tpot", o.tpot, "Limit on the time per further token, as 30ms", "TIME");
  option("--batch", o.batch, "Sequences of one engine; default the most that keep the limits", "N");
  option("--concurrency", o.concurrency, "Requests in flight at all engines together", "N");
  option("--kv-precision", o.kv_precision, "Of the cache: bf16 or fp8; default fp8 beside narrow weights", "P");
  option("--offload-weights", o.offload_weights, "Most GiB of a GPU's weights that may lie in host memory; 0: none", "GIB");
  option("--offload-kv", o.offload_kv, "Most GiB of a GPU's cache that may lie there; 0: none", "GIB");
  sub.add_flag("--disaggregated", o.disaggregated, "Prefill and decode on GPUs of their own")->group("Serving");
  sub.add_flag("--graph", o.graph, "Prefill in CUDA graphs too; default decode alone")->group("Serving");
  sub.add_flag("--eager", o.eager, "No CUDA graphs: the host launches every kernel")->group("Serving");
}

std::string_view given_option(const ServeOptions& o) {
  for (const auto& [name, text] : {std::pair{"--isl", &o.isl},
                                   {"--osl", &o.osl},
                                   {"--ttft", &o.ttft},
                                   {"--tpot", &o.tpot},
                                   {"--batch", &o.batch},
                                   {"--concurrency", &o.concurrency},
                                   {"--kv-precision", &o.kv_precision},
                                   {"--offload-weights", &o.offload_weights},
                                   {"--offload-kv", &o.offload_kv}})
    if (!text->empty()) return name;
  return o.disaggregated ? "--disaggregated" : o.graph ? "--graph" : o.eager ? "--eager" : "";
}

ServeAnswer serve_answer(const ServeOptions& o, const System& system) {
  if (o.model.empty()) throw RequestError("which model? Name it with --model (fabricost models lists them)");
  if (o.gpus.empty()) throw RequestError("on how many GPUs? Say it with --gpus");
  ServingQuestion q;
  q.gpus = count_of(o.gpus, "--gpus");
  if (!o.isl.empty()) q.isl = count_of(o.isl, "--isl");
  if (!o.osl.empty()) q.osl = count_of(o.osl, "--osl");
  q.ttft = limit_of(o.ttft, "--ttft");
  q.tpot = limit_of(o.tpot, "--tpot");
  q.batch = given_count(o.batch, "--batch");
  if (!o.concurrency.empty()) q.concurrency = count_of(o.concurrency, "--concurrency");
  if (q.batch && q.concurrency > 0) throw RequestError("--batch and --concurrency say the same twice; give one");
  q.disaggregated = o.disaggregated;
  if (!o.top.empty()) q.top = count_of(o.top, "--top");
  q.tp = given_count(o.tp, "--tp");
  q.pp = given_count(o.pp, "--pp");
  q.ep = given_count(o.ep, "--ep");
  q.attention_dp = given_count(o.dp, "--dp");
  const auto format = one_of<WeightFormat>(o.precision, weight_format_names, "a precision", "--precision");
  const auto cache = one_of<WeightFormat>(o.kv_precision, weight_format_names, "a precision", "--kv-precision");
  if (cache && *cache != WeightFormat::bf16 && *cache != WeightFormat::fp8) throw RequestError("--kv-precision: write bf16 or fp8");
  q.model = load_model(o.model);
  q.format.weights = format.value_or(system.gpu.fp8.value.value() > 0 ? WeightFormat::fp8 : WeightFormat::bf16);
  q.format.kv_width =
      cache.value_or(q.format.weights == WeightFormat::bf16 ? WeightFormat::bf16 : WeightFormat::fp8) == WeightFormat::bf16 ? 2 : 1;
  const ServingTable table = load_serving_table();
  q.stack = table.stack(o.stack.empty() ? std::string{ServingStack{}.name} : o.stack, system.gpu.generation);
  q.constants = table.constants(system.gpu.generation);
  set_engine(q, o, system);
  const auto start = std::chrono::steady_clock::now();
  ServingPlan plan = plan_serving(q, system);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (plan.layouts.empty()) throw RequestError(nothing_found(q, system, plan, serving_words));
  ServeAnswer answer{q, system, std::move(plan), seconds, {}};
  if (o.pareto) answer.pareto = serving_pareto(q, system);
  return answer;
}

std::string plan_serve(const ServeOptions& o, const Terminal& terminal) {
  if (o.system.empty()) throw RequestError("on which machine? Name it with --system (fabricost systems lists them)");
  const ServeAnswer answer = serve_answer(o, load_system(o.system, o.overrides, o.calibration));
  return o.json ? printed(to_json(answer)) : text_of(answer, terminal);
}

}  // namespace fabricost::cli
