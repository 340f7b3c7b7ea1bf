/// \file plan.cpp
/// Plans of training: fc.plan, its layouts, what would help, what trades time for memory.

#include "plan.hpp"

#include "asked.hpp"
#include "bindings.hpp"

#include <fabricost/economics/idle_gpus.hpp>
#include <fabricost/economics/terms.hpp>
#include <fabricost/explain/nearest_plan.hpp>
#include <fabricost/training/figures.hpp>
#include <fabricost/training/sensitivity.hpp>

#include <chrono>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

/// The search's answer with what it was asked, so that more can be asked of it.
struct Plans {
  TrainingQuestion question{};
  System system{};
  std::vector<PlannedTraining> layouts{};
  long long evaluated = 0, unfit = 0, bounded = 0;
  double seconds = 0;
  std::string advice{};
};

[[nodiscard]] std::vector<PlannedTraining> all_planned(const TrainingQuestion& q, const System& system,
                                                       const std::vector<PricedLayout>& layouts) {
  std::vector<PlannedTraining> out;
  out.reserve(layouts.size());
  for (const PricedLayout& one : layouts) out.push_back(planned(q, system, one));
  return out;
}

[[nodiscard]] Plans search(TrainingQuestion q, System system) {
  const auto start = std::chrono::steady_clock::now();
  const TrainingPlan plan = plan_training(q, system);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (plan.layouts.empty()) throw UnmetError(Unmet::memory, nothing_fits(q, system, *plan.nearest));
  Plans out{.question = std::move(q),
            .system = std::move(system),
            .layouts = {},
            .evaluated = plan.evaluated,
            .unfit = plan.unfit,
            .bounded = plan.bounded,
            .seconds = seconds,
            .advice = {}};
  if (!plan.fits) out.advice = does_not_fit(out.question, out.system, plan.layouts.front());
  out.layouts = all_planned(out.question, out.system, plan.layouts);
  return out;
}

/// "balanced", "uniform", "zipf:1.0"
void choose_routing(py::handle value, Stack& stack) {
  if (value.is_none()) return;
  const std::string given = text(value, "routing");
  const auto point = given.find(':');
  constexpr std::array<std::string_view, 3> known{"balanced", "uniform", "zipf"};
  const auto kind = fabricost::detail::parse_enum<RoutingKind>(given.substr(0, point), known);
  if (!kind) throw RequestError("routing: " + cli::unknown_text(given, "a way to choose experts", cli::listed(known)));
  stack.routing = *kind;
  if (point == std::string::npos) return;
  if (*kind != RoutingKind::zipf)
    throw RequestError(fmt::format("routing: {}: only zipf takes a number, its exponent", given.substr(0, 40)));
  stack.zipf_exponent = real(py::float_(py::str(given.substr(point + 1))), "routing", 0, 5);
}

[[nodiscard]] Plans plan(const py::object& system, const py::object& model, const py::object& gpus, const py::object& global_batch,
                         const py::object& sequence, const py::object& precision, const py::object& stack, const py::object& top,
                         const py::object& tp, const py::object& pp, const py::object& vp, const py::object& cp, const py::object& ep,
                         const py::object& dp, const py::object& expert_tp, const py::object& zero, const py::object& microbatch,
                         const py::object& schedule, const py::object& recompute, const py::object& sequence_parallel,
                         const py::object& placing, const py::object& max_tp, const py::object& headroom, const py::object& shard,
                         const py::object& stack_scale, const py::object& routing, const py::object& capacity) {
  needed(gpus, "gpus", "gpus=512");
  needed(global_batch, "global_batch", "global_batch=1024 sequences a step");
  TrainingQuestion q;
  q.gpus = whole(gpus, "gpus");
  q.global_batch = whole(global_batch, "global_batch");
  q.sequence = whole(sequence, "sequence");
  q.precision = word<Precision>(precision, "precision", "a precision", precision_names);
  q.top = whole(top, "top");
  q.tp = whole_or_none(tp, "tp");
  q.pp = whole_or_none(pp, "pp");
  q.vp = whole_or_none(vp, "vp");
  q.cp = whole_or_none(cp, "cp");
  q.ep = whole_or_none(ep, "ep");
  q.dp = whole_or_none(dp, "dp");
  q.expert_tp = whole_or_none(expert_tp, "expert_tp");
  q.zero = whole_or_none(zero, "zero", 0, 3);
  q.microbatch = whole_or_none(microbatch, "microbatch");
  if (!schedule.is_none()) {
    const std::string given = text(schedule, "schedule");
    q.schedule = parse_pipeline_schedule(given);
    if (!q.schedule || *q.schedule == PipelineSchedule::none)
      throw RequestError("schedule: " + cli::unknown_text(given, "a pipeline schedule", cli::listed(pipeline_schedule_names)));
  }
  if (q.vp && *q.vp > 1 && !q.schedule) q.schedule = PipelineSchedule::interleaved;
  q.recompute = word_or_none<Recompute>(recompute, "recompute", "a kind of recomputation", recompute_names);
  q.sequence_parallel = flag_or_none(sequence_parallel, "sequence_parallel");
  q.placing = word_or_none<Placing>(placing, "placing", "a placing of stages", placing_names);
  q.max_tp = whole_or_none(max_tp, "max_tp").value_or(0);
  q.headroom = real_or_none(headroom, "headroom", 0, 0.9);
  q.shard = whole_or_none(shard, "shard").value_or(0);
  q.stack = stack_from(stack);
  if (const auto scale = real_or_none(stack_scale, "stack_scale", 0.2, 5)) q.stack.scale = *scale;
  choose_routing(routing, q.stack);
  if (const auto rows = real_or_none(capacity, "capacity", 0.1, 100)) q.stack.capacity = *rows;
  q.model = model_from(model);
  System machine = system_from(system);
  return searched([&] { return search(std::move(q), std::move(machine)); });
}

void add_training_plan(py::module_& module) {
  using P = PlannedTraining;
  add_record<P>(
      module, "TrainingPlan", "One layout of a training job, with its step. Made by plan.",
      field("system", &P::system, "Name of the machine."), field("model", &P::model, "Name of the model."),
      field("stack", &P::stack, "Name of the software stack."), field("gpus", &P::gpus, "GPUs: tp x pp x cp x dp."),
      field("global_batch", &P::global_batch, "Sequences of a step."), field("sequence", &P::sequence, "Tokens of a sequence."),
      field("precision", &P::precision, "Of the matrix products: bf16, fp16, fp8 or fp4."),
      field("headroom", &P::headroom, "Share of a GPU's memory left free."), field("tp", &P::tp, "Tensor ranks."),
      field("pp", &P::pp, "Pipeline stages."), field("vp", &P::vp, "Chunks of layers a stage holds."),
      field("cp", &P::cp, "Context ranks."), field("ep", &P::ep, "Expert ranks."), field("dp", &P::dp, "Data replicas."),
      field("expert_tp", &P::expert_tp, "Tensor ranks of one expert."),
      field("zero", &P::zero, "Sharded over data and context: 0 nothing, 1 optimizer, 2 + gradients, 3 + weights."),
      field("shard", &P::shard, "Replicas that share the states (HSDP); 0: all of them."),
      field("microbatch", &P::microbatch, "Sequences of a microbatch."),
      field("schedule", &P::schedule, "Of the pipeline: 1f1b, interleaved, ..., dualpipe; none for one stage."),
      field("recompute", &P::recompute, "none, selective or full."), field("placing", &P::placing, "data_inside or stages_inside."),
      field("sequence_parallel", &P::sequence_parallel, "Whether tensor ranks share the sequence between products."),
      field("fits", &P::fits, "Whether its memory fits; False only where the layout was named."),
      field("step_seconds", &P::step_seconds, "Time of one step, s: the sum of terms[i].seconds."),
      field("memory_bytes", &P::memory_bytes, "Bytes on a GPU of the stage that needs most."),
      field("exposed_communication_seconds", &P::exposed_communication_seconds,
            "Tensor + context + expert + hand-over + data, with the stack's factor: s of a step that nothing hides."),
      field("tokens_per_second", &P::tokens_per_second, "Of all GPUs: global_batch x sequence / step_seconds."),
      field("tokens_per_second_per_gpu", &P::tokens_per_second_per_gpu, "The same over gpus."),
      field("flops_per_second_per_gpu", &P::flops_per_second_per_gpu,
            "Every matrix product and all scores, forward and backward, over the step, FLOP/s; at most the peak. Rows that a capacity "
            "below 1 "
            "drops are not counted."),
      field("mfu", &P::mfu,
            "flops_per_second_per_gpu over the GPU's dense peak in the precision of the products, 0 to 1: all scores count."),
      field("flops_per_second_per_gpu_causal", &P::flops_per_second_per_gpu_causal,
            "The same with the scores that a causal mask leaves, which are those that kernels compute, FLOP/s."),
      field("mfu_causal", &P::mfu_causal, "flops_per_second_per_gpu_causal over the same peak, 0 to 1."),
      field("gpu_hours_per_trillion_tokens", &P::gpu_hours_per_trillion_tokens, "gpus x step_seconds / 3600 x 10^12 / tokens of a step."),
      field("interval_seconds", &P::interval_seconds,
            "(low, high), s: nine steps in ten should fall between. No MFU at its fast end is above 1."),
      field("idle_gpus", &P::idle_gpus, "GPUs of the scale-up domains the job takes that its groups leave idle; in no figure."),
      field("terms", &P::terms, "What a step is spent on, a list of StepTerm."))
      .def_property_readonly(
          "bottleneck", [](const P& p) { return largest(p.terms); }, "The largest StepTerm.")
      .def("__repr__", [](const P& p) {
        return fmt::format("tp {} pp {} cp {} ep {} dp {}, microbatch {}, {}: {:.4g} s a step, {:.1f} GiB, MFU {:.1f} % (all scores)", p.tp,
                           p.pp, p.cp, p.ep, p.dp, p.microbatch, p.schedule, p.step_seconds, p.memory_bytes / gibibyte, 100 * p.mfu);
      });
}

void add_sensitivity(py::module_& module) {
  using S = StepSensitivity;
  add_record<S>(module, "Sensitivity", "What one change of the machine gives a training job. Made by Plans.sensitivity.",
                field("change", &S::change, "As in `nvlink bandwidth + 10 %`."),
                field("step_seconds", &S::seconds, "Step of the fastest layout then, s."),
                field("gain", &S::gain, "Step before over step after, less 1."))
      .def("__repr__", [](const S& s) { return fmt::format("{}: {:.4g} s, {:+.2f} %", s.change, s.seconds, 100 * s.gain); });
}

void add_plans(py::module_& module) {
  py::class_<Plans> type(module, "Plans",
                         "Layouts of a training job, fastest first: `plans[0]`, `plans[:3]`, `for plan in plans`. Made by plan.");
  type.def_property_readonly(
      "gpus", [](const Plans& p) { return p.question.gpus; }, "GPUs of the job.");
  type.def_property_readonly(
      "global_batch", [](const Plans& p) { return p.question.global_batch; }, "Sequences of a step.");
  type.def_property_readonly(
      "sequence", [](const Plans& p) { return p.question.sequence; }, "Tokens of a sequence.");
  type.def_property_readonly(
      "precision", [](const Plans& p) { return std::string{precision_names[static_cast<std::size_t>(p.question.precision)]}; },
      "Of the matrix products.");
  type.def_property_readonly(
      "headroom", [](const Plans& p) { return headroom_of(p.question); }, "Share of a GPU's memory left free.");
  type.def_readonly("evaluated", &Plans::evaluated, "Layouts whose step was priced in full.");
  type.def_property_readonly(
      "pruned", [](const Plans& p) { return p.unfit + p.bounded; },
      "Layouts left out: those that do not fit, and those that cannot be among the best.");
  type.def_readonly("unfit", &Plans::unfit, "Of those, the ones that need more memory than a GPU has.");
  type.def_readonly("search_seconds", &Plans::seconds, "How long the search took, s.");
  type.def_property_readonly(
      "fits", [](const Plans& p) { return p.advice.empty(); },
      "Whether the layouts fit; False only where one layout was named: they are priced as named then.");
  type.def_readonly("advice", &Plans::advice, "Of a layout that does not fit, what it lacks and what would fit; else empty.");
  add_sequence(type, &Plans::layouts);
  type.def(
      "sensitivity",
      [](const Plans& p) { return searched([&] { return sensitivity_of(p.question, p.system, p.layouts.front().step_seconds); }); },
      R"(sensitivity(self)
--

The search again with 10 % more of each tier's bandwidth, of memory and of arithmetic, and with a domain twice as large: a list of
Sensitivity, the most helpful first.

>>> import fabricost as fc
>>> plans = fc.plan("dgx-h100", "llama3-8b", gpus=16, global_batch=64)
>>> plans.sensitivity()[0].gain > 0
True
)");
  type.def(
      "pareto",
      [](const Plans& p) {
        return searched([&] {
          Plans out = p;
          const std::vector<PricedLayout> front = pareto_of(p.question, p.system);
          out.layouts = all_planned(p.question, p.system, front);
          return out;
        });
      },
      "pareto(self)\n--\n\nLayouts that no other beats in both time and memory, fastest first: Plans. Every layout that fits is priced for "
      "it.");
  type.def("__repr__", [](const Plans& p) {
    std::string out =
        fmt::format("{} layouts of {} on {} GPUs of {}", p.layouts.size(), p.question.model.name, p.question.gpus, p.system.name);
    if (!p.layouts.empty()) out += "; fastest " + py::cast<std::string>(py::repr(py::cast(p.layouts.front())));
    return out;
  });
}

}  // namespace

PlannedTraining planned(const TrainingQuestion& q, const System& system, const PricedLayout& p) {
  const Layout& l = p.layout;
  const TrainingFigures f = figures_of(q, system, p.time.seconds);
  PlannedTraining out{.system = system.name,
                      .model = q.model.name,
                      .stack = q.stack.name,
                      .gpus = q.gpus,
                      .global_batch = q.global_batch,
                      .sequence = q.sequence,
                      .precision = std::string{precision_names[static_cast<std::size_t>(q.precision)]},
                      .headroom = headroom_of(q),
                      .tp = l.tp,
                      .pp = l.pp,
                      .vp = l.vp,
                      .cp = l.cp,
                      .ep = l.ep,
                      .dp = l.dp,
                      .expert_tp = l.expert_tp,
                      .zero = l.zero,
                      .shard = l.shard,
                      .microbatch = l.microbatch,
                      .schedule = std::string{name(l.schedule)},
                      .recompute = std::string{recompute_names[static_cast<std::size_t>(l.recompute)]},
                      .placing = std::string{placing_names[static_cast<std::size_t>(l.placing)]},
                      .sequence_parallel = l.sequence_parallel,
                      .fits = fits(p.memory, Processor::of(system).memory, headroom_of(q)),
                      .step_seconds = p.time.seconds,
                      .memory_bytes = p.memory.total(),
                      .exposed_communication_seconds = p.time.exposed(),
                      .tokens_per_second = f.tokens_per_gpu * q.gpus,
                      .tokens_per_second_per_gpu = f.tokens_per_gpu,
                      .flops_per_second_per_gpu = f.flops_per_gpu,
                      .mfu = f.mfu,
                      .flops_per_second_per_gpu_causal = f.causal_flops_per_gpu,
                      .mfu_causal = f.causal_mfu,
                      .gpu_hours_per_trillion_tokens = f.gpu_hours_per_trillion,
                      .interval_seconds = {f.low, f.high},
                      .idle_gpus = idle_gpus(l, system.domain),
                      .terms = {}};
  for (const TimeTerm& term : terms_of(p.time)) out.terms.push_back({std::string{term.name}, term.seconds});
  return out;
}

void add_plan(py::module_& module) {
  add_record<NamedSeconds>(module, "StepTerm", "One thing a step or a token is spent on.",
                           field("name", &NamedSeconds::name, "What it is."),
                           field("seconds", &NamedSeconds::seconds, "Its share of the time, s."))
      .def("__repr__", [](const NamedSeconds& t) { return fmt::format("{}: {:.4g} s", t.name, t.seconds); });
  add_training_plan(module);
  add_sensitivity(module);
  add_plans(module);
  const py::none none;
  module.def("plan", &plan, "system"_a, "model"_a, py::kw_only(), "gpus"_a = none, "global_batch"_a = none, "sequence"_a = 4096,
             "precision"_a = "bf16", "stack"_a = default_stack, "top"_a = 10, "tp"_a = none, "pp"_a = none, "vp"_a = none, "cp"_a = none,
             "ep"_a = none, "dp"_a = none, "expert_tp"_a = none, "zero"_a = none, "microbatch"_a = none, "schedule"_a = none,
             "recompute"_a = none, "sequence_parallel"_a = none, "placing"_a = none, "max_tp"_a = none, "headroom"_a = none,
             "shard"_a = none, "stack_scale"_a = none, "routing"_a = none, "capacity"_a = none,
             R"(plan(system, model, *, gpus, global_batch, sequence=4096, precision='bf16', stack='megatron-core', top=10, tp=None, pp=None,
    vp=None, cp=None, ep=None, dp=None, expert_tp=None, zero=None, microbatch=None, schedule=None, recompute=None,
    sequence_parallel=None, placing=None, max_tp=None, headroom=None, shard=None, stack_scale=None, routing=None, capacity=None)
--

The layouts that train a model fastest on a machine, Plans: every layout of the space is priced or shown not to be needed.

step = microbatches x (forward + backward + weight gradient of the fullest stage + accumulation) + bubble + exposed communication
+ optimizer

system, model, stack: things loaded, or their names or paths.
gpus, global_batch (sequences a step), sequence (tokens): the job. precision: bf16, fp16, fp8 or fp4.
tp, pp, vp, cp, ep, dp, expert_tp, zero, microbatch, schedule, recompute, sequence_parallel, placing: fix what is given, search the rest.
max_tp: most tensor ranks, default a scale-up domain's GPUs.
headroom: share of a GPU's memory to leave free, default 0.05 (near its last bytes PyTorch's allocator frees its cache and asks again, and
steps slow down), and 0 for one layout given in full (tp, pp, cp, microbatch, zero, recompute).
shard: replicas that share the states (HSDP), default all of them.
stack_scale: the stack's factor on every step, from a step of yours; no step may be shorter than its products take at the peak.
routing: balanced, uniform or zipf:EXPONENT.
capacity: rows kept for an expert over the mean; below 1 the rest is dropped, and not counted in MFU. top: how many layouts.

A layout is named where tp, pp and one of cp, dp, microbatch are given: without recompute it is priced with none, whether it
fits or not (Plans.fits, Plans.advice).

Other Python threads run during the search. Raises RequestError where nothing fits or is possible, with what comes nearest.

>>> import fabricost as fc
>>> plans = fc.plan(fc.load_system("dgx-h100"), fc.load_model("llama3-8b"), gpus=16, global_batch=64)
>>> best = plans[0]
>>> best.tp * best.pp * best.cp * best.dp, best.bottleneck.name
(16, 'compute')
>>> abs(sum(term.seconds for term in best.terms) / best.step_seconds - 1) < 1e-9
True
)");
}

}  // namespace fabricost::python
