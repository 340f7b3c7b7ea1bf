#include <fabricost/plan/training/question.hpp>

#include <fabricost/in_order.hpp>

#include <fmt/format.h>

namespace fabricost::plan {

bool is_faster(const PricedLayout& a, const PricedLayout& b) {
  const auto order = [](const PricedLayout& p) {
    const Layout& l = p.layout;
    return in_order(seconds_a_sequence(p), p.time.seconds, p.memory.total(), l.tp, l.pp, l.vp, l.cp, l.ep, l.expert_tp, l.dp, l.zero,
                    l.shard, l.microbatch, l.recompute, l.recompute_layers, l.recompute_modules.bits, l.schedule, l.placing, l.context,
                    l.sequence_parallel, l.offload_layers, l.offload_optimizer, l.split.first, l.split.last);
  };
  return order(a) < order(b);
}

void TrainingQuestion::set_common(Layout& l) const {
  l.sequence = sequence;
  l.global_batch = global_batch;
  l.precision = precision;
  l.shard = shard;
  l.recompute_modules = recompute_modules;
  l.block_scales = block_scales();
  l.recompute_layers = recompute_layers.value_or(0);
  l.recompute_by_stage = recompute_by_stage;
  l.offload_layers = offload_layers.value_or(0);
  l.offload_optimizer = offload_optimizer.value_or(0);
  l.document = document.value_or(0);
  l.cuda_graphs = cuda_graphs;
  l.adapters = adapters;
  l.split = split;
  l.reshards = reshards;
}

bool offloads_layers(const TrainingQuestion& q) { return q.offload_layers.value_or(0) > 0 && !q.stack.offloads_inputs; }

TrainingQuestion with_open_layout(TrainingQuestion q) {
  for (std::optional<int>* const size : {&q.tp, &q.pp, &q.vp, &q.cp, &q.ep, &q.dp, &q.expert_tp, &q.zero, &q.microbatch, &q.recompute_layers,
                                         &q.offload_layers})
    size->reset();
  q.shard = 0;
  q.context.reset();
  q.schedule.reset();
  q.recompute.reset();
  q.sequence_parallel.reset();
  q.placing.reset();
  q.offload_optimizer.reset();
  q.recompute_modules = {};
  q.recompute_by_stage.clear();
  q.split = {};
  return q;
}

TrainingQuestion as_named(TrainingQuestion q) {
  const bool recomputes = q.stack.offloads_inputs;  // as it comes (maxtext, configs/base.yml: remat_policy full)
  if (!q.recompute && q.zero && names_one_layout(q) && !recomputes && !q.fewest_by_stage) q.recompute = Recompute::none;
  return q;
}

double headroom_of(const TrainingQuestion& q) { return q.headroom.value_or(names_one_layout(q) ? 0 : default_headroom); }

MemoryStack memory_stack(const System& system, const TrainingQuestion& q, const Layout& layout) {
  GroupCosts costs(system, {.ways = q.ways});
  return with_load(memory_on(q.stack.memory, system.gpu.generation), expert_load(q.model, layout, q.stack, costs));
}

void check(const TrainingQuestion& q, const System& system) {
  check(system);
  check(q.model);
  if (q.model.hybrid() && q.adapters.on())
    throw RequestError(q.model.name + ": adapters are priced beside attention only, it has other layers");
  if (q.model.cross_tokens > 0 && q.adapters.on())
    throw RequestError(q.model.name + ": adapters are priced beside attention to a layer's own tokens only, it attends to a text, too");
  if (q.gpus < 1) throw Refusal("<gpus> must be at least 1");
  if (q.global_batch < 1) throw Refusal("<global_batch> must be at least 1 sequence");
  if (q.sequence < 1) throw Refusal("<sequence> must be at least 1 token");
  if (q.microbatch && q.batch_within == 0 && q.global_batch % *q.microbatch != 0)
    throw Refusal("<microbatch> " + std::to_string(*q.microbatch) + " does not divide <global_batch> " + std::to_string(q.global_batch) +
                  "; take " + std::to_string(nearest_divisor(q.global_batch, *q.microbatch)));
  if (!(headroom_of(q) >= 0 && headroom_of(q) < 1)) throw Refusal("<headroom> is a share of the memory, 0 to below 1");
  if (q.tp && q.max_tp > 0 && *q.tp > q.max_tp)
    throw Refusal("<tp> " + std::to_string(*q.tp) + " is more than <max_tp> " + std::to_string(q.max_tp) + "; leave one of them out");
  check_size(system, q.gpus);
  if (q.gpus > system.domain && system.tier(TierRole::nic) == nullptr)
    throw RequestError(system.name + ": " + std::to_string(q.gpus) + " GPUs do not fit its domain of " + std::to_string(system.domain) +
                       ", and it has no NICs to leave it by; take at most " + std::to_string(system.domain));
  const double offered = q.precision == Precision::fp4   ? system.gpu.fp4.value.value()
                         : q.precision == Precision::fp8 ? system.gpu.fp8.value.value()
                                                         : 1;
  if (!(offered > 0))
    throw RequestError(system.gpu.name + " offers no " + std::string(precision_names[static_cast<std::size_t>(q.precision)]) +
                       " products; take bf16 or another GPU");
  if (q.offload_layers || q.offload_optimizer) (void)host_rate(system);  // which says what the machine lacks
  if (q.model.recommends()) return;                                      // it has one layout
  Layout ranks;  // of the model alone: what it cannot be cut into is no remedy for the number of GPUs
  ranks.tp = q.tp.value_or(1);
  ranks.pp = q.pp.value_or(1);
  ranks.vp = q.vp.value_or(1);
  ranks.cp = q.cp.value_or(1);
  ranks.sequence = q.sequence;
  ranks.microbatch = 1;
  ranks.global_batch = ranks.pp;
  if (q.pp && q.split.given()) {
    ranks.split = q.split;
    ranks.schedule = q.schedule.value_or(ranks.schedule);
  }
  if (const LayoutFault fault = fault_of(q.model, ranks);
      fault == LayoutFault::heads || fault == LayoutFault::sequence || fault == LayoutFault::split || fault == LayoutFault::idle_chunk)
    throw RequestError(why_impossible(q.model, ranks, q.gpus));
  const bool staged = q.pp ? *q.pp > 1 : q.tp && q.cp && q.dp && static_cast<long long>(*q.tp) * *q.cp * *q.dp < q.gpus;
  if (q.zero == 2 && staged)
    throw Refusal(
        "<zero> 2 with pipeline stages: microbatches add up their gradients before these are reduced, so there are none to shard "
        "between them (DeepSpeed refuses it, runtime/pipe/engine.py); take 1, which is the same, or 3");
  constexpr long long more_than_any = 2'000'000'000;  // more GPUs than any machine; fits an int
  long long given = 1;
  for (const std::optional<int>& size : {q.tp, q.pp, q.cp, q.dp}) given = std::clamp<long long>(given * size.value_or(1), 0, more_than_any);
  if (given < 1 || given > q.gpus || (q.gpus % given != 0 && !may_leave_idle(q)))
    throw RequestError("tp x pp x cp x dp = " + std::string{given == more_than_any ? "at least " : ""} + std::to_string(given) +
                       " does not divide " + std::to_string(q.gpus) + " GPUs; take " +
                       std::to_string(given < 1                    ? q.gpus
                                      : q.gpus / given * given > 0 ? q.gpus / given * given
                                                                   : given) +
                       " GPUs");
  const long long ranks_of_model = 1LL * q.tp.value_or(1) * q.pp.value_or(1);
  const int replicas = q.dp && q.cp ? *q.dp * *q.cp : static_cast<int>(q.gpus / ranks_of_model);
  if (q.shard > 0 && replicas % q.shard != 0) {
    int below = std::min(q.shard, replicas), above = q.shard;
    while (replicas % below != 0) --below;
    while (above < replicas && replicas % above != 0) ++above;
    throw Refusal(fmt::format("<shard> {} does not divide the {} replicas of dp x cp; take {}{}", q.shard, replicas, below,
                              above <= replicas ? fmt::format(" or {}", above) : ""));
  }
}

}  // namespace fabricost::plan

namespace fabricost::plan::detail {

Layout stated(const TrainingQuestion& q) {
  Layout l;
  l.tp = q.tp.value_or(1);
  l.pp = q.pp.value_or(1);
  l.vp = q.vp.value_or(1);
  l.cp = q.cp.value_or(1);
  l.ep = q.ep.value_or(1);
  l.expert_tp = q.expert_tp.value_or(1);
  l.microbatch = q.microbatch.value_or(1);
  l.context = q.context.value_or(l.context);
  l.zero = q.zero.value_or(0);
  q.set_common(l);
  l.recompute = q.recompute.value_or(Recompute::none);
  l.sequence_parallel = q.sequence_parallel.value_or(false);
  l.schedule = q.schedule.value_or(l.vp > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b);
  l.placing = q.placing.value_or(Placing::data_inside);
  if (q.dp && !q.tp && !q.pp && !q.cp) l.pp = q.gpus / *q.dp;
  l.dp = q.dp.value_or(std::max(1, q.gpus / (l.tp * l.pp * l.cp)));
  return l;
}

}  // namespace fabricost::plan::detail
