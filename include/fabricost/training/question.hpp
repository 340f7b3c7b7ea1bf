#pragma once
/// \file question.hpp
/// Request and answer of a search over training layouts, and the check for requests that no layout can meet.

#include <fabricost/hardware/check.hpp>
#include <fabricost/hardware/machine_size.hpp>
#include <fabricost/memory/memory.hpp>
#include <fabricost/model/layout_check.hpp>
#include <fabricost/refusal.hpp>
#include <fabricost/training/step.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

/// Words for how context ranks exchange keys and values: Megatron Core's `cp_comm_type` (p2p is the ring, a2a Ulysses).
inline constexpr std::array<std::string_view, 3> context_names{"p2p", "all_gather", "a2a"};

/// The request: given fields of the layout are fixed, the others are searched.
struct TrainingQuestion {
  Model model;
  Stack stack;
  int gpus = 0;
  int global_batch = 0;
  int sequence = 4096;
  Precision precision = Precision::bf16;
  int max_tp = 0;                    ///< 0: as many as a scale-up domain has
  std::optional<double> headroom{};  ///< share of the memory to keep free; not given: headroom_of
  int top = 10;                      ///< layouts to return
  bool prune = true;                 ///< false: price every layout that fits
  int shard = 0;                     ///< replicas that share the states; 0: all of them (fewer: HSDP)
  std::optional<int> tp{}, pp{}, vp{}, cp{}, ep{}, dp{}, expert_tp{}, zero{}, microbatch{};
  std::optional<ContextParallel> context{};
  std::optional<PipelineSchedule> schedule{};
  std::optional<Recompute> recompute{};
  std::optional<bool> sequence_parallel{};
  std::optional<Placing> placing{};
  Ways ways{};  ///< to communicate, where collectives of the step can go them
  SetOf<RecomputeModule> recompute_modules{};  ///< of selective recomputation; none: the stack's own
  std::optional<int> recompute_layers{};       ///< of full recomputation
  std::optional<int> offload_layers{};
  std::optional<double> offload_optimizer{};
  std::optional<int> document{};
  bool cuda_graphs = false;
  bool overlaps_tokens = false;  ///< exchanges tokens behind the other microbatch: not with one chunk a stage, nor recomputed experts
  bool block_scales = false;     ///< of fp8: one for each block of values
  bool delayed_scales = false;   ///< of fp8, from earlier steps: with them neither moe_act nor layernorm is recomputed
  Adapters adapters{};

  /// The part of the request that is the same for every layout of the search.
  void set_common(Layout& l) const {
    l.sequence = sequence, l.global_batch = global_batch, l.precision = precision, l.shard = shard;
    l.recompute_modules = recompute_modules, l.block_scales = block_scales;
    l.recompute_layers = recompute_layers.value_or(0);
    l.offload_layers = offload_layers.value_or(0), l.offload_optimizer = offload_optimizer.value_or(0);
    l.document = document.value_or(0), l.cuda_graphs = cuda_graphs, l.adapters = adapters;
  }
};

/// Share of a GPU's memory that a search leaves free by default. Near the limit, PyTorch's allocator releases
/// its cache and retries, and throughput collapses (github.com/mosaicml/composer, pull request 1998;
/// num_alloc_retries of torch.cuda.memory_stats), so a layout that fills the GPU is slower than predicted. 5
/// % exceeds the mean error of the estimate on three of the five groups of published peaks (0.8, 3.0, 4.3 %;
/// docs/training-accuracy.md).
inline constexpr double default_headroom = prior::memory::headroom;

/// Whether the model has layers whose window is shorter than a sequence, whose keys no ring of context ranks passes on.
[[nodiscard]] inline bool has_windows(const TrainingQuestion& q) { return q.model.window_layers > 0 && q.model.window < q.sequence; }
/// Whether activations of whole layers wait in host memory: without stages and recomputation. A stack that offloads what its recomputation
/// starts from does so with both.
[[nodiscard]] inline bool offloads_layers(const TrainingQuestion& q) {
  return q.offload_layers.value_or(0) > 0 && !q.stack.offloads_inputs;
}

/// Whether a request names one layout rather than a space to search: tensor ranks and stages, together with
/// context ranks, replicas or microbatch.
[[nodiscard]] inline bool names_one_layout(const TrainingQuestion& q) { return q.tp && q.pp && (q.cp || q.dp || q.microbatch); }
/// The request with defaults: a named layout with its ZeRO stage and without a recomputation runs without it, even if it does not fit.
/// With neither, both are searched: ZeRO 3 alone may cost far more than recomputing.
[[nodiscard]] inline TrainingQuestion as_named(TrainingQuestion q) {
  const bool recomputes = q.stack.offloads_inputs;  // as it comes (maxtext, configs/base.yml: remat_policy full)
  if (!q.recompute && q.zero && names_one_layout(q) && !recomputes) q.recompute = Recompute::none;
  return q;
}
/// The share to keep free: as given, else none for a named layout and default_headroom for a search.
[[nodiscard]] inline double headroom_of(const TrainingQuestion& q) {
  return q.headroom.value_or(names_one_layout(q) ? 0 : default_headroom);
}

/// The stack's use of memory on this machine: the copies of its generation, the rows of the layout's fullest expert rank.
[[nodiscard]] inline MemoryStack memory_stack(const TrainingQuestion& q, const System& system, const Layout& layout) {
  GroupCosts costs(system, {.ways = q.ways});
  return with_load(memory_on(q.stack.memory, system.gpu.generation), expert_load(q.model, layout, q.stack, costs));
}

struct PricedLayout {
  Layout layout;
  StepTime time;
  MemoryUse memory;  ///< of the worst stage
};

struct TrainingPlan {
  std::vector<PricedLayout> layouts;      ///< fastest first
  long long evaluated = 0;                ///< layouts whose full step time was priced
  long long unfit = 0;                    ///< rejected because they need more memory than a GPU has
  long long bounded = 0;                  ///< rejected because no layout with their layers can be among the best
  std::optional<PricedLayout> nearest{};  ///< if none fits, the one that lacks least memory
  /// Whether `layouts` fit. If a request names one layout and none of its open choices makes it fit, they are
  /// its fastest variants, whatever memory they need.
  bool fits = true;
};

/// \throws RequestError for a request that no layout can meet, with the nearest possible one
inline void check(const TrainingQuestion& q, const System& system) {
  check(system);
  check(q.model);
  if (q.model.hybrid() && q.adapters.on())
    throw RequestError(q.model.name + ": adapters are priced beside attention only, it has other layers");
  if (q.gpus < 1) throw Refusal("<gpus> must be at least 1");
  if (q.global_batch < 1) throw Refusal("<global_batch> must be at least 1 sequence");
  if (q.sequence < 1) throw Refusal("<sequence> must be at least 1 token");
  if (!(headroom_of(q) >= 0 && headroom_of(q) < 1)) throw Refusal("<headroom> is a share of the memory, 0 to below 1");
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
  Layout ranks;  // of the model alone: what it cannot be cut into is no remedy for the number of GPUs
  ranks.tp = q.tp.value_or(1), ranks.pp = q.pp.value_or(1), ranks.vp = q.vp.value_or(1), ranks.cp = q.cp.value_or(1);
  ranks.sequence = q.sequence, ranks.microbatch = 1, ranks.global_batch = ranks.pp;
  if (const detail::LayoutFault fault = detail::fault_of(q.model, ranks);
      fault == detail::LayoutFault::heads || fault == detail::LayoutFault::sequence || fault == detail::LayoutFault::idle_chunk)
    throw RequestError(why_impossible(q.model, ranks, q.gpus));
  const bool staged = q.pp ? *q.pp > 1 : q.tp && q.cp && q.dp && static_cast<long long>(*q.tp) * *q.cp * *q.dp < q.gpus;
  if (q.zero == 2 && staged)
    throw Refusal("<zero> 2 with pipeline stages: microbatches add up their gradients before these are reduced, so there are none to shard "
                  "between them (DeepSpeed refuses it, runtime/pipe/engine.py); take 1, which is the same, or 3");
  constexpr long long more_than_any = 2'000'000'000;  // more GPUs than any machine; fits an int
  long long given = 1;
  for (const std::optional<int>& size : {q.tp, q.pp, q.cp, q.dp}) given = std::clamp<long long>(given * size.value_or(1), 0, more_than_any);
  if (given < 1 || q.gpus % given != 0)
    throw RequestError("tp x pp x cp x dp = " + std::string{given == more_than_any ? "at least " : ""} + std::to_string(given) +
                       " does not divide " + std::to_string(q.gpus) + " GPUs; take " +
                       std::to_string(given < 1                    ? q.gpus
                                      : q.gpus / given * given > 0 ? q.gpus / given * given
                                                                   : given) +
                       " GPUs");
}

namespace detail {
/// The layout that is closest to the given fields, for naming its fault.
[[nodiscard]] inline Layout stated(const TrainingQuestion& q) {
  Layout l;
  l.tp = q.tp.value_or(1), l.pp = q.pp.value_or(1), l.vp = q.vp.value_or(1), l.cp = q.cp.value_or(1), l.ep = q.ep.value_or(1);
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
}  // namespace detail

}  // namespace fabricost
