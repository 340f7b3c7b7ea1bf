#pragma once
/// \file search.hpp
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
/// pipeline takes at least its fullest stage's layers and the bubble of its schedule, which leaves out most chunks that
/// divide the layers badly.
///
/// Memory is checked from coarse to fine, and a layout is rejected at the first check that fails: the minimal
/// states of its ranks (memory/bound.hpp) reject a number of stages with all its schedules, the most sharded
/// layout rejects the less sharded ones, and the rest is checked stage by stage. The contents of the stages
/// are computed once per pipeline, not per layout.

#include <fabricost/hardware/machine_size.hpp>
#include <fabricost/in_order.hpp>
#include <fabricost/memory/bound.hpp>
#include <fabricost/memory/min_change.hpp>
#include <fabricost/model/dimension.hpp>
#include <fabricost/training/idle_gpus.hpp>
#include <fabricost/training/question.hpp>
#include <fabricost/training/search_parts.hpp>
#include <fabricost/training/search_space.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace fabricost {

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
    if (!any_memory) capacity_ = gpu_.memory * (1 - headroom_of(q)), host_ = host_room(system);
    make_pipelines();
    recomputations_ = recomputations(q);
    fewest_ = recomputes_fewest(q) && !any_memory, states_away_ = offloads_states(q, system) && !any_memory;
  }

  [[nodiscard]] TrainingPlan run() {
    const std::vector<LayerGroup> groups = layer_groups();
    std::vector<const LayerGroup*> in_order;
    for (const LayerGroup& group : groups) in_order.push_back(&group);
    std::stable_sort(in_order.begin(), in_order.end(), [](const LayerGroup* a, const LayerGroup* b) { return a->bound < b->bound; });
    for (const LayerGroup* const at : in_order) {
      const LayerGroup& group = *at;
      const bool hopeless = q_.prune && full() && group.bound > worst();
      if (hopeless) {
        plan_.bounded += group.count;
        continue;
      }
      price(group);
    }
    std::stable_sort(plan_.layouts.begin(), plan_.layouts.end(), faster);
    return std::move(plan_);
  }

 private:
  /// A longer list is that of all layouts, and would take the square of its length.
  static constexpr int longest_without_twins = 4096;
  [[nodiscard]] bool full() const { return static_cast<int>(plan_.layouts.size()) >= q_.top; }
  [[nodiscard]] double worst() const { return plan_.layouts.front().time.seconds; }  // a heap, slowest on top

  [[nodiscard]] std::vector<LayerGroup> layer_groups() {
    std::vector<LayerGroup> out;
    const int max_tp = q_.max_tp > 0 ? q_.max_tp : std::max(1, domain_);
    for (const int tp : either(q_.tp, divisors(q_.gpus, max_tp))) {
      if (q_.model.heads % tp != 0 || q_.gpus % tp != 0) continue;
      for (const int cp : either(q_.cp, context_sizes(q_, q_.gpus / tp)))
        for (const int ep : either(q_.ep, q_.model.mixture() ? divisors(q_.model.experts, q_.gpus) : std::vector<int>{1}))
          for (const int expert_tp : either(q_.expert_tp, expert_widths(q_, ep, tp)))
            for (const int microbatch : either(q_.microbatch, divisors(q_.global_batch, 16))) {
              Layout l;
              l.tp = tp, l.cp = cp, l.ep = ep, l.expert_tp = expert_tp, l.microbatch = microbatch;
              q_.set_common(l);
              l.sequence_parallel = q_.sequence_parallel.value_or(tp > 1 && q_.sequence % (tp * cp) == 0);
              long long count = 0;
              for_each_pipeline(l, [&](const Layout& at, const Pipeline&) { count += layouts_of(at); });
              for (const ContextParallel context : contexts(q_, l))
                for (const Again& again : recomputations_) {
                  l.context = context, l.recompute = again.kind, l.recompute_modules = again.modules;
                  if (count > 0) add_group(out, l, count);
                }
            }
    }
    return out;
  }

  void add_group(std::vector<LayerGroup>& out, const Layout& l, long long count) {
    LayerGroup group{l, {}, {}, 0, count, 1};
    try {
      group.layers = group.fastest = layer_times(q_.model, l, q_.stack, gpu_, costs_);
      if (fewest(l)) group.fastest = layer_times(q_.model, without_recompute(l), q_.stack, gpu_, costs_);
      group.load = expert_load(q_.model, l, q_.stack, costs_);
    } catch (const RequestError&) {
      return;  // the machine cannot join these ranks but may join others
    }
    const double all = all_layers(q_.model, group.fastest).sum();
    group.bound = factor() * all * q_.global_batch * l.tp * l.cp / (static_cast<double>(q_.gpus) * l.microbatch);
    out.push_back(group);
  }

  /// The least ratio of a step to the sum of its parts: a layout may take more domains than its GPUs fill.
  [[nodiscard]] double factor() const { return (1 + waiting_for_slowest(gpu_, static_cast<double>(q_.gpus) / domain_)) * q_.stack.scale; }

  /// Whether no layout of this pipeline can be among the best: its fullest stage's layers and the bubble around them take longer.
  [[nodiscard]] bool is_hopeless(const Layout& l, const Pipeline& pipeline, const LayerTimes& layers) const {
    if (!q_.prune || !full()) return false;
    LayerTime fullest;
    for (const StageContent& at : pipeline.longest)
      if (const LayerTime t = stage_time(q_.model, layers, at); t.sum() > fullest.sum()) fullest = t;
    const StageTimes times{.forward = fullest.forward, .backward = fullest.backward, .weight = fullest.weight};
    // these grow with every part of a stage's time; a schedule with W apart may wait less when W is longer
    const bool grows = l.schedule == PipelineSchedule::one_f_one_b || l.schedule == PipelineSchedule::interleaved;
    const double waits = l.pp > 1 && grows ? bubble_of(l.schedule, l.pp, l.vp, l.microbatches(), times).seconds : 0;
    return factor() * (l.microbatches() * fullest.sum() + waits) > worst() * (1 + 1e-9);  // beyond rounding
  }

  [[nodiscard]] std::vector<PipelineSchedule> schedules(int pp) const {
    if (pp == 1) return {PipelineSchedule::none};
    if (q_.schedule) return {*q_.schedule};
    return q_.stack.schedules;
  }

  /// Chunks of a stage to try: on the path of a microbatch at most the layers and two, for embedding and output matrix.
  /// They need not divide the layers: DeepSeek-V3's 61 run as 16 chunks (stages.hpp).
  [[nodiscard]] std::vector<int> chunks(PipelineSchedule schedule, int pp) const {
    if (q_.vp) return {*q_.vp};
    if (schedule != PipelineSchedule::interleaved) return {1};
    std::vector<int> out;
    for (int v = 2; pp * v <= q_.model.layers + 2; ++v) out.push_back(v);
    return out;
  }

  /// All pipelines of the request by their stages, without those that always leave a chunk idle.
  void make_pipelines() {
    const bool searched = q_.stack.searches_stages || q_.vp || q_.schedule || q_.dp;
    for (const int pp : either(q_.pp, divisors(q_.gpus, searched ? q_.model.layers + 2 : 1))) {
      if (pp < 1 || (pp > 1 && (q_.model.layers < pp || q_.zero == 2 || offloads_layers(q_)))) continue;
      for (const PipelineSchedule schedule : schedules(pp))
        for (const int vp : chunks(schedule, pp)) {
          Layout l;
          l.pp = pp, l.vp = vp, l.schedule = schedule;
          const bool exposed = q_.overlaps_tokens && schedule_of(l) == PipelineSchedule::one_f_one_b;
          if (vp < 1 || (pp > 1 && (has_idle_chunk(q_.model, l) || exposed))) continue;
          const LongStages long_ones = long_stages(q_.model, l);
          pipelines_.push_back({pp, vp, schedule, heavy_stages(q_.model, l), long_ones, longest_of(long_ones)});
        }
    }
  }

  /// Stages inside data only if that brings ranks nearer: a domain larger than tensor x context ranks.
  [[nodiscard]] std::span<const Placing> placings(const Layout& l) const {
    static constexpr std::array both{Placing::data_inside, Placing::stages_inside};
    if (q_.placing) return std::span{both}.subspan(*q_.placing == Placing::data_inside ? 0 : 1, 1);
    // a single named layout has the usual placement
    const bool matters = !names_one_layout(q_) && l.pp > 1 && l.dp > 1 && domain_ >= 2 * l.tp * l.cp;
    return std::span{both}.first(matters ? 2 : 1);
  }

  [[nodiscard]] Shardings shardings(const Layout& l) const {
    Shardings out;
    if (q_.zero) {
      out.add(*q_.zero);
      return out;
    }
    for (int zero = 0; zero <= (l.dp * l.cp > 1 ? 3 : 0); ++zero)
      if (zero != 2 || l.pp == 1) out.add(zero);  // with stages 2 equals 1
    return out;
  }
  /// Number of layouts that differ only in placing and sharding.
  [[nodiscard]] long long layouts_of(const Layout& l) const { return static_cast<long long>(placings(l).size() * shardings(l).count); }

  /// The possible layouts of a group up to placing and sharding, each with its pipeline.
  template <class Visit>
  void for_each_pipeline(Layout l, Visit&& visit) const {
    for (const Pipeline& pipeline : pipelines_) {
      const long long taken = static_cast<long long>(l.tp) * l.cp * pipeline.pp;
      if (q_.gpus % taken != 0) continue;
      l.pp = pipeline.pp, l.vp = pipeline.vp, l.schedule = pipeline.schedule;
      l.dp = static_cast<int>(q_.gpus / taken);
      if (q_.dp && *q_.dp != l.dp) continue;
      l.zero = q_.zero.value_or(0);
      if (is_possible(q_.model, l)) visit(static_cast<const Layout&>(l), pipeline);
    }
  }

  /// While nothing fits, the layout that lacks least memory is wanted, so all are checked.
  [[nodiscard]] bool wants_nearest() const { return plan_.layouts.empty(); }
  /// Bytes that a layout needs beyond those there are, on the GPU or beside it; at most 0: it fits.
  [[nodiscard]] double lacking(const MemoryUse& use) const { return fabricost::lacking(use, capacity_, host_); }
  [[nodiscard]] bool clearly_above(double bytes) const { return bytes > capacity_ * (1 + 1e-9); }  // beyond rounding

  void price(const LayerGroup& group) {
    int looked_at = 0;  // stages the bound was last computed for
    bool hopeless = false;
    memory_ = with_load(q_.stack.memory, group.load);
    activations_ = layer_activations(q_.model, group.layout, memory_);
    inside_.clear();
    for_each_pipeline(group.layout, [&](const Layout& l, const Pipeline& pipeline) {
      if (is_hopeless(l, pipeline, group.fastest)) {
        plan_.bounded += layouts_of(l);
        return;
      }
      const Shardings zeros = shardings(l);
      if (!wants_nearest()) {
        Layout max = may_offload(l) ? offloaded(l) : l;
        max.zero = zeros.all().back(), max.offload_optimizer = states_away_ ? 1 : l.offload_optimizer;
        if (looked_at != l.pp) hopeless = clearly_above(min_memory(q_.model, count_, max, memory_));
        looked_at = l.pp;
        if (hopeless || clearly_above(memory_at(max, pipeline.stages.front()).total())) {
          plan_.unfit += layouts_of(l);
          return;
        }
      }
      price(l, pipeline, zeros, group);
    });
  }

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
  [[nodiscard]] static Layout without_recompute(Layout l) {
    l.recompute = Recompute::none, l.recompute_layers = 0;
    return l;
  }

  /// The layout with the least of what makes it fit: recomputed layers, or states in host memory. As it is where nothing does, and where it
  /// fits without any recomputation: then that is the faster one.
  [[nodiscard]] std::optional<PricedLayout> fitted(const Layout& l, const Pipeline& pipeline) const {
    const auto memory = [&](const Layout& one) { return worst_stage(q_.model, count_, activations_, one, memory_, pipeline.stages); };
    const auto lacks = [&](const Layout& one) { return lacking(memory(one)); };
    const double none = fewest(l) ? lacks(without_recompute(l)) : 0;
    if (fewest(l) && none <= 0) return std::nullopt;
    PricedLayout out{l, {}, memory(l)};
    const auto take = [&](const Layout& other) { out = {other, {}, memory(other)}; };
    if (const double all = lacking(out.memory); all <= 0) {
      if (fewest(l)) take(with_min_recomputed(l, q_.model.layers, none, all, lacks));
      return out;
    }
    if (may_offload(l)) take(offloaded(l));
    const double kept = lacking(out.memory);
    if (!states_away_ || kept <= 0) return out;
    Layout away = out.layout;
    away.offload_optimizer = 1;
    if (const double all = lacks(away); all <= 0) take(with_min_offloaded(away, kept, all, lacks));
    return out;
  }

  /// Placings and shardings of one pipeline; memory does not depend on the placing.
  void price(const Layout& l, const Pipeline& pipeline, const Shardings& zeros, const LayerGroup& group) {
    std::array<std::optional<PricedLayout>, 4> sharded;
    for (const int zero : zeros.all()) {
      Layout one = l;
      one.zero = zero;
      sharded[static_cast<std::size_t>(zero)] = fitted(one, pipeline);
    }
    for (const Placing placing : placings(l))
      for (const int zero : zeros.all()) {
        std::optional<PricedLayout>& at = sharded[static_cast<std::size_t>(zero)];
        if (!at) {
          ++plan_.bounded;
          continue;
        }
        at->layout.placing = placing;
        const int again = at->layout.recompute_layers;
        if (again == 0 || !fewest(l)) {
          price(at->layout, at->memory, group.layers, pipeline);
          continue;
        }
        const LayerTimes layers = between(group.fastest, group.layers, static_cast<double>(again) / q_.model.layers);
        if (is_hopeless(at->layout, pipeline, layers))
          ++plan_.bounded;
        else
          price(at->layout, at->memory, layers, pipeline);
      }
  }

  /// Layers of a layout of the group whose stages lie inside data: they differ by the ranks that such a domain leaves.
  [[nodiscard]] const LayerTimes& layers_inside(const Layout& l) {
    const std::pair key{domain_for_data(l, domain_), l.recompute_layers};
    const auto known = inside_.find(key);
    return known != inside_.end() ? known->second : inside_.emplace(key, layer_times(q_.model, l, q_.stack, gpu_, costs_)).first->second;
  }

  void price(const Layout& l, const MemoryUse& memory, const LayerTimes& layers, const Pipeline& pipeline) {
    if (lacking(memory) > 0) {
      ++plan_.unfit;
      if (wants_nearest() && (!plan_.nearest || lacking(memory) < lacking(plan_.nearest->memory)))
        plan_.nearest = PricedLayout{l, {}, memory};
      return;
    }
    ++plan_.evaluated;
    if (stated_ && l.gpus() + static_cast<long long>(idle_gpus(l, domain_)) > *stated_) return;  // takes more domains than there are
    // with stages inside data, experts reach fewer ranks of a domain than the shared layers were priced for
    const bool own = l.ep > 1 && l.placing == Placing::stages_inside;
    StepTime time;
    try {
      time = step_time(q_.model, l, q_.stack, gpu_, costs_, own ? layers_inside(l) : layers, pipeline.long_stages);
    } catch (const RequestError&) {
      return;  // these ranks cannot be joined, other layouts' may
    }
    const PricedLayout priced{l, time, memory};
    if (full() && !faster(priced, plan_.layouts.front())) return;
    const auto among = plan_.layouts.begin() + (q_.top > longest_without_twins ? 0 : std::ssize(plan_.layouts));
    const auto same = [&](const PricedLayout& one) { return are_twins(one.layout, l, domain_); };
    const auto twin = std::find_if(plan_.layouts.begin(), among, same);
    if (twin != among) {
      if (!faster(priced, *twin)) return;
      *twin = priced;
      std::make_heap(plan_.layouts.begin(), plan_.layouts.end(), faster);
      return;
    }
    if (full()) {
      std::pop_heap(plan_.layouts.begin(), plan_.layouts.end(), faster);
      plan_.layouts.pop_back();
    }
    plan_.layouts.push_back(priced);
    std::push_heap(plan_.layouts.begin(), plan_.layouts.end(), faster);
  }

  const TrainingQuestion& q_;
  Processor gpu_;
  GroupCosts costs_;
  int domain_;
  bool has_host_;  ///< a link to the host
  std::optional<long long> stated_;  ///< GPUs of the machine
  ParameterCount count_;
  MemoryStack memory_;   ///< of the stack, in the group that is priced
  LayerActivations activations_;  ///< of a layer, in that group
  double capacity_ = std::numeric_limits<double>::infinity();  ///< bytes of a GPU that may be used
  double host_ = capacity_;                                    ///< and of its share of the host's memory
  std::vector<Pipeline> pipelines_;
  std::vector<Again> recomputations_;
  bool fewest_ = false, states_away_ = false;
  std::map<std::pair<int, int>, LayerTimes> inside_;  ///< of the group that is priced, by domain and recomputed layers
  TrainingPlan plan_;
};

}  // namespace detail

}  // namespace fabricost
