/// \file plan.cpp
/// fabricost plan --train: the layouts that train a model fastest on a machine, or one given layout, with what each step is made of.
/// fabricost plan --serve: plan_serve.cpp.

#include "text/text_table.hpp"
#include "amounts.hpp"
#include "names.hpp"
#include "plan_serve.hpp"
#include "plan_text.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/explain/nearest_plan.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/specs/load_model.hpp>
#include <fabricost/specs/stacks.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>

namespace fabricost::cli {
namespace {

/// As typed; empty where nothing was.
struct PlanOptions {
  std::string model, system, gpus, global_batch, sequence, precision, stack, calibration, headroom, top, threads;
  std::string max_tp, tp, pp, vp, cp, ep, dp, expert_tp, zero, shard, microbatch, schedule, recompute, sequence_parallel, placing,
      stack_scale, routing, capacity;
  std::vector<std::string> overrides;
  bool train = false, serve = false, json = false, sensitivity = false, pareto = false;
  ServeOptions serving;
};

/// balanced, uniform or zipf:EXPONENT
void choose_routing(const std::string& text, Stack& out) {
  const auto point = text.find(':');
  constexpr std::array<std::string_view, 3> known{"balanced", "uniform", "zipf"};
  out.routing = *one_of<RoutingKind>(text.substr(0, point), known, "a way to choose experts");
  if (point != std::string::npos) {
    if (out.routing != RoutingKind::zipf)
      throw RequestError(fmt::format("--routing {}: only zipf takes a number, its exponent", text.substr(0, 40)));
    out.zipf_exponent = number_from(text.substr(point + 1), "--routing zipf:", 0, 5);
  }
}

[[nodiscard]] TrainingQuestion question_of(const PlanOptions& o) {
  if (o.model.empty()) throw RequestError("which model? Name it with --model (fabricost models lists them)");
  if (o.system.empty()) throw RequestError("on which machine? Name it with --system (fabricost systems lists them)");
  if (o.gpus.empty()) throw RequestError("on how many GPUs? Say it with --gpus");
  if (o.global_batch.empty()) throw RequestError("how many sequences a step? Say it with --global-batch");
  TrainingQuestion q;
  q.gpus = count_of(o.gpus, "--gpus");
  q.global_batch = count_of(o.global_batch, "--global-batch");
  if (!o.sequence.empty()) q.sequence = count_of(o.sequence, "--sequence");
  q.precision = one_of<Precision>(o.precision, precision_names, "a precision").value_or(Precision::bf16);
  q.max_tp = count_of(o.max_tp, "--max-tp");
  q.tp = given_count(o.tp, "--tp");
  q.pp = given_count(o.pp, "--pp");
  q.vp = given_count(o.vp, "--vp");
  q.cp = given_count(o.cp, "--cp");
  q.ep = given_count(o.ep, "--ep");
  q.dp = given_count(o.dp, "--dp");
  q.expert_tp = given_count(o.expert_tp, "--expert-tp");
  q.microbatch = given_count(o.microbatch, "--microbatch");
  if (!o.zero.empty()) q.zero = whole_number_from(o.zero, "--zero", 0, 3);
  q.shard = count_of(o.shard, "--shard");
  if (!o.schedule.empty()) {
    q.schedule = parse_pipeline_schedule(o.schedule);
    if (!q.schedule || *q.schedule == PipelineSchedule::none)
      throw_unknown(o.schedule, "a pipeline schedule", listed(pipeline_schedule_names), "--schedule");
  }
  if (q.vp && *q.vp > 1 && !q.schedule) q.schedule = PipelineSchedule::interleaved;
  q.recompute = one_of<Recompute>(o.recompute, recompute_names, "a kind of recomputation");
  q.placing = one_of<Placing>(o.placing, placing_names, "a placing of stages");
  constexpr std::array<std::string_view, 2> yes_no{"no", "yes"};
  if (const auto sp = one_of<unsigned char>(o.sequence_parallel, yes_no, "an answer")) q.sequence_parallel = *sp == 1;
  if (!o.headroom.empty()) q.headroom = number_from(o.headroom, "--headroom", 0, 0.9);
  if (!o.top.empty()) q.top = count_of(o.top, "--top");
  if (!o.threads.empty() && count_of(o.threads, "--threads") > 1)
    throw RequestError("--threads: a search is run on one thread; leave it out");
  q.stack = load_stack(o.stack.empty() ? std::string{default_stack} : o.stack);
  if (!o.stack_scale.empty()) q.stack.scale = number_from(o.stack_scale, "--stack-scale", 0.2, 5);
  if (!o.routing.empty()) choose_routing(o.routing, q.stack);
  if (!o.capacity.empty()) q.stack.capacity = number_from(o.capacity, "--capacity", 0.1, 100);
  q.model = load_model(o.model);
  return q;
}

[[nodiscard]] std::string run(const PlanOptions& o, const Terminal& terminal) {
  if (o.serve && o.train) throw RequestError("plan for what? Say --train or --serve, not both");
  if (o.serve) {
    for (const auto& [name, text] : {std::pair{"--global-batch", &o.global_batch},
                                     {"--sequence", &o.sequence},
                                     {"--max-tp", &o.max_tp},
                                     {"--vp", &o.vp},
                                     {"--cp", &o.cp},
                                     {"--expert-tp", &o.expert_tp},
                                     {"--zero", &o.zero},
                                     {"--shard", &o.shard},
                                     {"--microbatch", &o.microbatch},
                                     {"--schedule", &o.schedule},
                                     {"--recompute", &o.recompute},
                                     {"--sequence-parallel", &o.sequence_parallel},
                                     {"--placing", &o.placing},
                                     {"--headroom", &o.headroom},
                                     {"--stack-scale", &o.stack_scale},
                                     {"--capacity", &o.capacity}})
      if (!text->empty()) throw RequestError(fmt::format("{} is of --train; leave it out of --serve", name));
    if (o.sensitivity) throw RequestError("--sensitivity is of --train; leave it out of --serve");
    ServeOptions s = o.serving;
    s.model = o.model, s.system = o.system, s.gpus = o.gpus, s.precision = o.precision, s.stack = o.stack, s.calibration = o.calibration;
    s.routing = o.routing;
    s.top = o.top, s.tp = o.tp, s.pp = o.pp, s.ep = o.ep, s.dp = o.dp, s.overrides = o.overrides, s.json = o.json, s.pareto = o.pareto;
    return plan_serve(s, terminal);
  }
  if (!o.train) throw RequestError("plan for what? Say --train or --serve");
  if (const std::string_view given = given_option(o.serving); !given.empty())
    throw RequestError(fmt::format("{} is of --serve; leave it out of --train", given));
  const TrainingQuestion q = question_of(o);
  const System system = load_system(o.system, o.overrides, o.calibration, {.compute = true, .custom = false, .moe = false});
  const auto start = std::chrono::steady_clock::now();
  TrainingPlan plan = plan_training(q, system);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  PlanAnswer answer{q, system, std::move(plan), seconds, {}, {}};
  if (answer.plan.layouts.empty()) throw RequestError(nothing_fits(q, system, *answer.plan.nearest));
  if (o.sensitivity) answer.sensitivity = sensitivity_of(q, system, answer.plan.layouts.front().time.seconds);
  if (o.pareto) answer.pareto = pareto_of(q, system);
  return o.json ? printed(to_json(answer)) : text_of(answer, terminal);
}

}  // namespace

void add_plan(CLI::App& app, Runner& runner) {
  const auto o = std::make_shared<PlanOptions>();
  CLI::App& sub = *app.add_subcommand("plan", "The layouts that train or serve a model best on a machine");
  sub.add_flag("--train", o->train, "Plan training");
  sub.add_flag("--serve", o->serve, "Plan serving");
  const auto option = [&](const char* names, std::string& into, const char* help, const char* kind) {
    sub.add_option(names, into, help)->option_text(kind);
  };
  option("--model,-m", o->model, "The model: a name of fabricost models, or a YAML file", "NAME");
  option("--system,-s", o->system, "The machine: a name of fabricost systems, or a YAML file", "NAME");
  option("--gpus,-g", o->gpus, "How many GPUs", "N");
  option("--global-batch,-b", o->global_batch, "Sequences a step", "N");
  option("--sequence,-l", o->sequence, "Tokens a sequence; default 4096", "N");
  option("--precision", o->precision, "Of matrix products: bf16 (default), fp16, fp8, fp4", "P");
  option("--stack", o->stack, "The software: a name of data/stacks, or a YAML file; default megatron-core", "NAME");
  option("--stack-scale", o->stack_scale,
         "Its factor on every step, measured on a step of yours;\nno step may beat its products at the peak", "X");
  option("--max-tp", o->max_tp, "Most tensor ranks; default a scale-up domain's GPUs", "N");
  option("--tp", o->tp, "Tensor ranks; what is not given is searched", "N");
  option("--pp", o->pp, "Pipeline stages", "N");
  option("--vp", o->vp, "Chunks of layers a stage", "N");
  option("--cp", o->cp, "Context ranks", "N");
  option("--ep", o->ep, "Expert ranks", "N");
  option("--expert-tp", o->expert_tp, "Tensor ranks of one expert", "N");
  option("--dp", o->dp, "Data replicas", "N");
  option("--zero", o->zero, "Sharded over data: 0 nothing, 1 optimizer, 2 + gradients, 3 + weights", "0..3");
  option("--shard", o->shard, "Replicas that share what --zero shards; default all (fewer: HSDP)", "N");
  option("--microbatch", o->microbatch, "Sequences a microbatch", "N");
  option("--schedule", o->schedule, "Of the pipeline: 1f1b, ..., dualpipe; default those of the stack", "NAME");
  option("--recompute", o->recompute, "none, selective or full; default none for a named layout, else searched", "KIND");
  option("--sequence-parallel", o->sequence_parallel, "yes or no; default yes where tensor ranks divide the sequence", "YES");
  option("--routing", o->routing, "balanced (default), uniform, zipf:1.0; histogram:FILE with --serve", "HOW");
  option("--capacity", o->capacity,
         "Rows kept for an expert over the mean; below 1 the rest is\ndropped and not counted; default as many as come", "X");
  option("--placing", o->placing, "data_inside or stages_inside: what is nearest; default the faster", "HOW");
  option("--headroom", o->headroom, "Share of a GPU's memory to leave free; default 0.05,\nof a layout given in full 0", "X");
  option("--top,-k", o->top, "How many layouts to return; default 10", "K");
  option("--threads", o->threads, "1", "N");
  option("--calibration", o->calibration, "none or a file; default the shipped one", "FILE");
  sub.add_option("--set", o->overrides, "Override a value of the machine, as in tiers.nic.endpoints=4")->option_text("PATH=VALUE...");
  sub.add_flag("--sensitivity", o->sensitivity, "What 10 % more of each tier, of memory, or a larger domain would give");
  sub.add_flag("--pareto", o->pareto, "Layouts none other beats in both time and memory; --serve: in both rates");
  sub.add_flag("--json", o->json, "Print JSON");
  add_serve_options(sub, o->serving);
  sub.footer(
      "Example: fabricost plan --train --model llama3-405b --system dgx-h100 --gpus 1024 --global-batch 512\n"
      "         fabricost plan --serve --model llama3-405b --system dgx-h100 --gpus 8 --ttft 1s --tpot 30ms");
  runner.add(sub, [o](const Terminal& terminal) { return run(*o, terminal); });
}

}  // namespace fabricost::cli
