/// \file plan.cpp
/// Searches or prices layouts of a training job.

#include <fabricost/answers/plan.hpp>
#include <fabricost/economics/idle_gpus.hpp>
#include <fabricost/economics/unmet.hpp>
#include <fabricost/explain/nearest_plan.hpp>
#include <fabricost/training/figures.hpp>

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace fabricost {
namespace {

void choose_routing(const Routing& routing, Stack& out) {
  constexpr double steepest = 5;
  if (routing.kind == RoutingKind::histogram) throw Refusal("<routing>: training takes balanced, uniform or zipf, no counts");
  if (routing.kind == RoutingKind::zipf && routing.exponent > steepest)
    throw Refusal(fmt::format("<routing>: {} is not an exponent from 0 to {}", routing.exponent, steepest));
  out.routing = routing.kind;
  if (routing.kind == RoutingKind::zipf) out.zipf_exponent = routing.exponent;
}

[[nodiscard]] PlannedLayout planned(const TrainingQuestion& q, const System& system, const PricedLayout& p) {
  const Layout& l = p.layout;
  const TrainingFigures f = figures_of(q, system, p.time.seconds);
  return {.system = system.name,
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
          .zero = l.zero,
          .microbatch = l.microbatch,
          .schedule = std::string{name(l.schedule)},
          .recompute = std::string{recompute_names[static_cast<std::size_t>(l.recompute)]},
          .step_seconds = p.time.seconds,
          .tokens_per_second = f.tokens_per_gpu * q.gpus,
          .tokens_per_second_per_gpu = f.tokens_per_gpu,
          .flops_per_second_per_gpu = f.flops_per_gpu,
          .mfu = f.mfu,
          .memory_bytes = p.memory.total(),
          .exposed_communication_seconds = p.time.exposed(),
          .terms = listed_terms(terms_of(p.time)),
          .expert_tp = l.expert_tp,
          .shard = l.shard,
          .fits = fits(p.memory, Processor::of(system).memory, headroom_of(q)),
          .sequence_parallel = l.sequence_parallel,
          .placing = std::string{placing_names[static_cast<std::size_t>(l.placing)]},
          .interval_seconds = {f.low, f.high},
          .gpu_hours_per_trillion_tokens = f.gpu_hours_per_trillion,
          .mfu_causal = f.causal_mfu,
          .flops_per_second_per_gpu_causal = f.causal_flops_per_gpu,
          .idle_gpus = idle_gpus(l, system.domain)};
}

}  // namespace

TrainingQuestion training_question(const PlanRequest& r) {
  if (!r.model) throw Refusal("which model? Name it with <model> (fabricost models lists them)", true);
  if (!r.gpus) throw Refusal("on how many GPUs? Say it with <gpus>", true);
  if (!r.global_batch) throw Refusal("how many sequences a step? Say it with <global_batch>", true);
  check_ranges(r);
  TrainingQuestion q;
  q.gpus = *r.gpus, q.global_batch = *r.global_batch, q.sequence = r.sequence;
  q.precision = r.precision;
  q.max_tp = r.max_tp.value_or(0);
  q.tp = r.tp, q.pp = r.pp, q.vp = r.vp, q.cp = r.cp, q.ep = r.ep, q.dp = r.dp, q.expert_tp = r.expert_tp;
  q.zero = r.zero, q.shard = r.shard.value_or(0), q.microbatch = r.microbatch;
  q.schedule = r.schedule;
  if (q.vp && *q.vp > 1 && !q.schedule) q.schedule = PipelineSchedule::interleaved;
  q.recompute = r.recompute, q.sequence_parallel = r.sequence_parallel, q.placing = r.placing;
  q.headroom = r.headroom, q.top = r.top;
  q.stack = r.stack.load();
  q.stack.scale = r.stack_scale.value_or(q.stack.scale);
  q.stack.capacity = r.capacity.value_or(q.stack.capacity);
  if (r.routing) choose_routing(*r.routing, q.stack);
  q.model = r.model.load();
  q.ways = ways_of({.symmetric = r.symmetric, .nvls = r.nvls}, true);
  if (r.library && !is_nccl(*r.library)) throw Refusal("<library>: of training a release of NCCL, as in <library=nccl-2.18>");
  return q;
}

std::vector<PlannedLayout> planned(const TrainingQuestion& question, const System& system, const std::vector<PricedLayout>& layouts) {
  std::vector<PlannedLayout> out;
  out.reserve(layouts.size());
  for (const PricedLayout& one : layouts) out.push_back(planned(question, system, one));
  return out;
}

std::vector<PlanChange> changes_of(const FoundPlan& found) {
  std::vector<PlanChange> out;
  for (const StepSensitivity& s : sensitivity_of(found.question, found.system, found.plan.layouts.front().time.seconds))
    out.push_back({s.change, s.seconds, s.gain});
  return out;
}

PlanAnswer answer(const PlanRequest& request) {
  if (request.model && !request.system) throw Refusal("on which machine? Name it with <system> (fabricost systems lists them)", true);
  const auto found = std::make_shared<FoundPlan>();
  found->question = training_question(request);
  const KernelSets kernels{.compute = true, .custom = request.symmetric, .moe = false};
  found->system = *with_library(request.system.get(request.overrides, kernels, request.calibration), request.library);
  const TrainingQuestion& q = found->question;
  const auto start = std::chrono::steady_clock::now();
  found->plan = plan_training(q, found->system);
  const TrainingPlan& plan = found->plan;
  PlanAnswer out;
  out.search_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (plan.layouts.empty()) throw UnmetError(Unmet::memory, nothing_fits(q, found->system, *plan.nearest));
  out.layouts = planned(q, found->system, plan.layouts);
  out.evaluated = plan.evaluated, out.pruned = plan.unfit + plan.bounded, out.unfit = plan.unfit;
  out.model = q.model.name, out.system = found->system.name, out.stack = q.stack.name;
  out.gpus = q.gpus, out.global_batch = q.global_batch, out.sequence = q.sequence;
  out.precision = out.layouts.front().precision, out.headroom = headroom_of(q);
  out.fits = plan.fits;
  if (!plan.fits) out.advice = does_not_fit(q, found->system, plan.layouts.front());
  out.kernels = kernels_assumed(found->system) ? "assumed" : "measured";
  if (request.sensitivity) out.sensitivity = changes_of(*found);
  if (request.pareto) {
    found->pareto = pareto_of(q, found->system);
    out.pareto = planned(q, found->system, found->pareto);
  }
  out.found = found;
  return out;
}

}  // namespace fabricost
