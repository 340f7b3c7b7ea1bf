#pragma once
/// The search over training layouts: every layout of a space is priced or proven to be unnecessary.
///
/// The space: tensor ranks dividing the heads, stages, any number of chunks that leaves none idle, context, expert
/// and data ranks, microbatch, ZeRO stage, recomputation, schedule, placement of stages. Layouts with the
/// same (tensor, context, expert ranks, microbatch, recomputation) share their layers and take at least
///
///   batch x t x c / (gpus x microbatch) x (all layers' time)         one stage's share of the layers, all microbatches of its replica
///
/// so once a group's bound is above the best K found, none of its layouts can be among them: the search is
/// exact (tests compare it with pricing everything). Groups are visited in the order of their bounds. Within a group a
/// pipeline takes at least its fullest stage's layers and the bubble of its schedule with the output matrix on the last stage, which leaves
/// out most chunks that divide the layers badly. Microbatches grow until one layer's activations, or the logits, no longer fit.
///
/// Then layouts of fewer GPUs, and of batches near the one given where they are allowed, as far as they are faster than the fastest of all
/// GPUs and the batch given: tensor, context and expert ranks and stages are any that the model allows, replicas any that divide a batch.
/// So no number of GPUs is ever slower than a smaller one. Steps of different batches are compared by their seconds a sequence.
/// With fewer replicas a pipeline runs more microbatches and needs no less memory, so the first that is too slow or too large ends
/// its group. Of the layouts near the fastest, the plainest comes first (plain.hpp).
///
/// Memory is checked from coarse to fine, and a layout is rejected at the first check that fails: the minimal
/// states of its ranks (memory/memory.hpp) reject a number of stages with all its schedules, the most sharded
/// layout rejects the less sharded ones, and the rest is checked stage by stage. The contents of the stages
/// are computed once per pipeline, not per layout.

#include <fabricost/hardware/system.hpp>
#include <fabricost/in_order.hpp>
#include <fabricost/plan/memory/memory.hpp>
#include <fabricost/plan/memory/min_change.hpp>
#include <fabricost/plan/model/dimension.hpp>
#include <fabricost/plan/training/idle_gpus.hpp>
#include <fabricost/plan/training/question.hpp>
#include "training/search_space.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace fabricost::plan {

namespace detail {

class TrainingSearch {
 public:
  /// \param any_memory layouts are priced whatever memory they need
  TrainingSearch(const TrainingQuestion& q, const System& system, bool any_memory = false)
      : q_(q),
        gpu_(Processor::of(system)),
        costs_(system, {.ways = q.ways}),
        domain_(system.domain),
        has_host_(host_tier(system) != nullptr),
        stated_(stated_gpus(system)),
        count_(parameters_of(q.model)) {
    if (!any_memory) {
      capacity_ = gpu_.memory * (1 - headroom_of(q));
      host_ = host_room(system);
    }
    if (system.slice) stated_ = (q.gpus + 0LL + domain_ - 1) / domain_ * domain_;  // no other slice is the job's
    ceiling_ = q.wanted.most_seconds;
    recomputations_ = recomputations(q);
    fewest_ = recomputes_fewest(q) && !any_memory;
    states_away_ = offloads_states(q, system) && !any_memory;
  }

  [[nodiscard]] TrainingPlan run();

 private:
  /// A longer list is that of all layouts, and would take the square of its length.
  static constexpr int longest_without_twins = 4096;
  [[nodiscard]] bool full() const { return static_cast<int>(plan_.layouts.size()) >= q_.top; }
  /// Seconds a sequence beyond which no layout is wanted: neither among the best nor near enough to the fastest to be preferred as plainer.
  [[nodiscard]] double limit() const;

  /// Prices the groups of one part of the space, in the order of their bounds.
  void visit();
  /// The plainest of the layouts near the fastest goes first.
  void propose();

  [[nodiscard]] std::vector<LayerGroup> layer_groups();

  void add_group(std::vector<LayerGroup>& out, const Layout& l, long long count);

  /// The least ratio of a step to the sum of its parts: a layout may take more domains than its GPUs fill.
  [[nodiscard]] double factor(int gpus) const { return 1 + waiting_for_slowest(gpu_, double(gpus) / domain_); }

  /// Whether a layout of this pipeline can be among the best. Its fullest stage's layers and the bubble around them may take longer than
  /// those; where the layers alone do, every layout of fewer replicas does.
  enum class Hope : unsigned char { yes, none, none_with_fewer };
  [[nodiscard]] Hope hope_of(const Layout& l, const Pipeline& pipeline, const LayerTimes& layers) const;

  [[nodiscard]] std::vector<PipelineSchedule> schedules(int pp) const;

  /// Chunks of a stage to try: on the path of a microbatch at most the layers and two, for embedding and output matrix.
  /// They need not divide the layers: DeepSeek-V3's 61 run as 16 chunks (stages.hpp).
  [[nodiscard]] std::vector<int> chunks(PipelineSchedule schedule, int pp) const;

  /// All pipelines of the request by their stages, without those that always leave a chunk idle.
  void make_pipelines();

  /// Stages inside data only if that brings ranks nearer: a domain larger than tensor x context ranks.
  [[nodiscard]] std::span<const Placing> placings(const Layout& l) const;

  [[nodiscard]] Shardings shardings(const Layout& l) const;
  /// Number of layouts that differ only in placing and sharding.
  [[nodiscard]] long long layouts_of(const Layout& l) const { return static_cast<long long>(placings(l).size() * shardings(l).count); }

  /// The possible layouts of all GPUs up to placing and sharding, each with its pipeline.
  template <class Visit>
  void for_each_pipeline(Layout l, Visit&& visit) const {
    for (const Pipeline& pipeline : pipelines_) {
      const long long taken = static_cast<long long>(l.tp) * l.cp * pipeline.pp;
      if (q_.gpus % taken != 0) continue;
      l.pp = pipeline.pp;
      l.vp = pipeline.vp;
      l.schedule = pipeline.schedule;
      l.split = pipeline.split;
      l.dp = static_cast<int>(q_.gpus / taken);
      if ((q_.dp && *q_.dp != l.dp) || q_.shard > l.dp * l.cp) continue;
      l.zero = q_.zero.value_or(0);
      if (is_possible(q_.model, l)) visit(static_cast<const Layout&>(l), pipeline);
    }
  }

  /// Replicas and the batch that they train.
  struct Job {
    int replicas = 1, batch = 1;
  };
  /// The jobs beside the one given, on at most the GPUs given and at least `least` of them, the most replicas first, of as many the largest
  /// batch. \param l its tensor and context ranks, stages and microbatch
  [[nodiscard]] std::vector<Job> smaller_jobs(const Layout& l, double least) const;
  /// The fewest GPUs on which a layout of the group could be wanted.
  [[nodiscard]] double least_gpus(const LayerGroup& group) const;
  [[nodiscard]] long long least_batch() const { return std::max(1LL, std::llround(std::ceil(q_.global_batch * (1 - q_.batch_within)))); }
  [[nodiscard]] long long most_batch() const { return std::llround(std::floor(q_.global_batch * (1 + q_.batch_within))); }

  /// While nothing fits, the layout that lacks least memory is wanted, so all are checked; those of fewer GPUs only until one is known.
  /// Where a layout must be faster than a known one, none is missed.
  [[nodiscard]] bool wants_nearest() const {
    return plan_.layouts.empty() && std::isinf(q_.wanted.most_seconds) && !(part_ == Part::smaller && plan_.nearest);
  }
  /// Bytes that a layout needs beyond those there are, on the GPU or beside it; at most 0: it fits.
  [[nodiscard]] double lacking(const MemoryUse& use) const { return fabricost::plan::lacking(use, capacity_, host_); }
  [[nodiscard]] bool clearly_above(double bytes) const { return bytes > capacity_ * (1 + 1e-9); }  // beyond rounding

  /// Whatever the layouts of a group share.
  void start(const LayerGroup& group);
  void price(const LayerGroup& group);
  void price_smaller(const LayerGroup& group);
  /// Prices the layouts of a pipeline. \returns whether those with fewer replicas may be wanted
  bool price(const Layout& l, const Pipeline& pipeline, const LayerGroup& group);
  /// Whether so many replicas surely need more memory than there is.
  [[nodiscard]] bool is_too_large(const Layout& l, const Pipeline& pipeline, const Shardings& zeros);

  [[nodiscard]] MemoryUse memory_at(const Layout& l, const HeavyStage& at) const {
    return memory_of(q_.model, count_, activations_, l, memory_, at, microbatches_in_flight(l, at.stage));
  }

  /// Whether the inputs of this layout's layers, which their recomputation starts from, may wait in host memory.
  [[nodiscard]] bool may_offload(const Layout& l) const {
    const bool all_again = l.recompute == Recompute::full && l.recompute_layers == 0;
    return q_.stack.offloads_inputs && has_host_ && all_again && !q_.offload_layers;
  }
  [[nodiscard]] Layout offloaded(Layout l) const {
    l.offload_layers = q_.model.layers;
    return l;
  }

  /// Whether as few layers are recomputed as fit.
  [[nodiscard]] bool fewest(const Layout& l) const { return fewest_ && l.recompute == Recompute::full; }
  /// The layout with as many more layers recomputed as the stack's program needs to run it.
  [[nodiscard]] Layout as_the_stack_recomputes(Layout l) const;
  /// A layout that fits with all layers recomputed and not without, with as few of them on each stage as fit there.
  [[nodiscard]] Layout with_fewest_by_stage(Layout l) const;

  /// The layout with the least of what makes it fit: recomputed layers, or states in host memory. As it is where nothing does, and where it
  /// fits without any recomputation: then that is the faster one.
  [[nodiscard]] std::optional<PricedLayout> fitted(const Layout& l, const Pipeline& pipeline) const;

  /// Placings and shardings of one pipeline; memory does not depend on the placing.
  void price(const Layout& l, const Pipeline& pipeline, const Shardings& zeros, const LayerGroup& group);

  /// Layers of a layout of the group whose stages lie inside data: they differ by the ranks that such a domain leaves.
  [[nodiscard]] const LayerTimes& layers_inside(const Layout& l);

  void price(const Layout& l, const MemoryUse& memory, const LayerTimes& layers, const LongStages& stages);

  /// Keeps a layout if none of those kept is both as plain and as fast.
  void keep_plain(const PricedLayout& priced);

  /// Layouts of all GPUs and the batch given, and those of fewer GPUs or another batch.
  enum class Part : unsigned char { given, smaller };

  const TrainingQuestion& q_;
  Part part_ = Part::given;
  Processor gpu_;
  GroupCosts costs_;
  int domain_;
  bool has_host_;                    ///< a link to the host
  std::optional<long long> stated_;  ///< GPUs of the machine
  ParameterCount count_;
  MemoryStack memory_;                                         ///< of the stack, in the group that is priced
  LayerActivations activations_;                               ///< of a layer, in that group
  double capacity_ = std::numeric_limits<double>::infinity();  ///< bytes of a GPU that may be used
  double host_ = capacity_;                                    ///< and of its share of the host's memory
  std::vector<Pipeline> pipelines_;
  std::vector<int> parts_of_batch_;  ///< the numbers that divide the one batch which smaller jobs may have, ascending
  std::vector<Again> recomputations_;
  bool fewest_ = false, states_away_ = false;
  double fastest_ = std::numeric_limits<double>::infinity();  ///< seconds a sequence
  double ceiling_ = fastest_;                                 ///< seconds a sequence that a layout must stay below
  std::vector<PricedLayout> plain_;                           ///< near the fastest, the plainest of each time
  struct TooLarge {
    int pp = 0, dp = 0;
    bool value = false;
  } too_large_;                                       ///< the last answer by the states alone, in the group that is priced
  std::map<std::pair<int, int>, LayerTimes> inside_;  ///< of the group that is priced, by domain and recomputed layers
  TrainingPlan plan_;
};

}  // namespace detail

}  // namespace fabricost::plan
