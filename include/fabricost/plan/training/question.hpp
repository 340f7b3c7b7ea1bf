#pragma once
/// Request and answer of a search over training layouts, and the check for requests that no layout can meet.

#include <fabricost/error.hpp>
#include <fabricost/hardware/check.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/plan/memory/memory.hpp>
#include <fabricost/plan/model/layout_check.hpp>
#include <fabricost/plan/training/step.hpp>
#include <fabricost/error.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// Words for how context ranks exchange keys and values: Megatron Core's `cp_comm_type` (p2p is the ring, a2a Ulysses).
inline constexpr std::array<std::string_view, 3> context_names{"p2p", "all_gather", "a2a"};

/// Share of the fastest step that a plainer layout may take longer to be preferred. Steps of one recipe differ by as much from run to run,
/// and the error of a prediction is larger.
inline constexpr double plainer_within = 0.01;

/// Limits to the layouts that a search returns.
struct WantedLayouts {
  std::optional<int> most_idle{};  ///< GPUs that they leave idle in the domains that they take, beyond the job's; none: any number
  bool within_given = false;         ///< they run on the job's GPUs alone, with those that they leave idle between them (needed_gpus)
  double most_seconds = std::numeric_limits<double>::infinity();  ///< of a step over its sequences
};

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
  WantedLayouts wanted{};
  bool prune = true;                 ///< false: price every layout of all GPUs that fits
  bool fewer = true;                 ///< some of the GPUs may stay idle where that is faster (may_leave_idle)
  double batch_within = 0;  ///< share by which the batch may differ from the one given, where its layout trains more tokens a second
  double plain_within =
      plainer_within;  ///< share of the fastest step within which a plainer layout is preferred (plain.hpp); 0: the fastest
  int shard = 0;       ///< replicas that share the states; 0: all of them (fewer: HSDP)
  std::optional<int> tp{}, pp{}, vp{}, cp{}, ep{}, dp{}, expert_tp{}, zero{}, microbatch{};
  std::optional<ContextParallel> context{};
  std::optional<PipelineSchedule> schedule{};
  std::optional<Recompute> recompute{};
  std::optional<bool> sequence_parallel{};
  std::optional<Placing> placing{};
  Ways ways{};                                 ///< to communicate, where collectives of the step can go them
  SetOf<RecomputeModule> recompute_modules{};  ///< of selective recomputation; none: the stack's own
  std::optional<int> recompute_layers{};       ///< of full recomputation
  std::vector<int> recompute_by_stage{};       ///< the same of each stage
  bool fewest_by_stage = false;                ///< where layers are recomputed so that a layout fits, each stage repeats as few as it must
  std::optional<int> offload_layers{};
  std::optional<double> offload_optimizer{};
  std::optional<int> document{};
  bool cuda_graphs = false;
  bool overlaps_tokens = false;  ///< exchanges tokens behind the other microbatch: not with one chunk a stage, nor recomputed experts
  bool delayed_scales = false;   ///< of fp8, from earlier steps: with them neither moe_act nor layernorm is recomputed
  Adapters adapters{};
  PipelineSplit split{};
  bool reshards = true;

  /// Whether blocks of fp8 values have a scale each, rather than whole tensors.
  [[nodiscard]] bool block_scales() const { return precision == Precision::fp8 && !stack.memory.fp8_tensor_scaled; }
  /// The part of the request that is the same for every layout of the search.
  void set_common(Layout& l) const;
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
[[nodiscard]] bool offloads_layers(const TrainingQuestion& q);

/// Whether a request names one layout rather than a space to search: tensor ranks and stages, together with
/// context ranks, replicas or microbatch.
[[nodiscard]] inline bool names_one_layout(const TrainingQuestion& q) { return q.tp && q.pp && (q.cp || q.dp || q.microbatch); }
/// The request with all that a search can choose left to it.
[[nodiscard]] TrainingQuestion with_open_layout(TrainingQuestion q);
/// The request with defaults: a named layout with its ZeRO stage and without a recomputation runs without it, even if it does not fit.
/// With neither, both are searched: ZeRO 3 alone may cost far more than recomputing.
[[nodiscard]] TrainingQuestion as_named(TrainingQuestion q);
/// Whether layouts of fewer GPUs are searched, too: not where all sizes of one layout are given.
[[nodiscard]] inline bool may_leave_idle(const TrainingQuestion& q) { return q.fewer && q.prune && !(names_one_layout(q) && q.dp); }
/// The share to keep free: as given, else none for a named layout and default_headroom for a search.
[[nodiscard]] double headroom_of(const TrainingQuestion& q);

/// The stack's use of memory on this machine: the copies of its generation, the rows of the layout's fullest expert rank.
[[nodiscard]] MemoryStack memory_stack(const System& system, const TrainingQuestion& q, const Layout& layout);

struct PricedLayout {
  Layout layout;
  StepTime time;
  MemoryUse memory;  ///< of the worst stage
};

/// Seconds of a step over its sequences, by which steps of different batches compare.
[[nodiscard]] inline double seconds_a_sequence(const PricedLayout& p) { return p.time.seconds / p.layout.global_batch; }

/// Ties in time are broken by memory, then by every field: the order does not depend on a library's sort.
[[nodiscard]] bool is_faster(const PricedLayout& a, const PricedLayout& b);

struct TrainingPlan {
  std::vector<PricedLayout> layouts;      ///< the proposed one (plain.hpp), then fastest first
  long long evaluated = 0;                ///< layouts whose full step time was priced
  long long unfit = 0;                    ///< rejected because they need more memory than a GPU has
  long long bounded = 0;                  ///< rejected because no layout with their layers can be among the best
  std::optional<PricedLayout> fastest{};  ///< however plain, where there are layouts of a transformer
  std::optional<PricedLayout> nearest{};  ///< if none fits, the one that lacks least memory
  /// Whether `layouts` fit. If a request names one layout and none of its open choices makes it fit, they are
  /// its fastest variants, whatever memory they need.
  bool fits = true;
};

/// \throws RequestError for a request that no layout can meet, with the nearest possible one
void check(const TrainingQuestion& q, const System& system);

namespace detail {
/// The layout that is closest to the given fields, for naming its fault.
[[nodiscard]] Layout stated(const TrainingQuestion& q);
}  // namespace detail

}  // namespace fabricost::plan
