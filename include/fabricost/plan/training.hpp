#pragma once
/// \file training.hpp
/// Which layout trains a model fastest on a machine: every layout of a space is priced or shown not to be needed.
///
/// The space: tensor ranks dividing the heads, stages, chunks of stages that leave none idle, context, expert and data ranks, microbatch,
/// ZeRO stage, recomputation, schedule, placement of stages. Layouts with the same (tensor, context, expert ranks, microbatch, recompute)
/// share their layers; whatever the rest, they take at least
///
///   batch x t x c / (gpus x microbatch) x (all layers' time)         one stage's share of the layers, all microbatches of its replica
///
/// so once a group's bound is above the best K found, none of its layouts can be among them: the search cannot lose the best (tests compare
/// it with pricing everything). Groups are visited by their bound.

#include <fabricost/workload/layout_check.hpp>
#include <fabricost/workload/memory.hpp>
#include <fabricost/workload/step.hpp>

#include <optional>
#include <vector>

namespace fabricost {

/// What is asked, and what of the layout is given; the rest is searched.
struct TrainingQuestion {
  Model model;
  Stack stack;
  int gpus = 0;
  int global_batch = 0;
  int sequence = 4096;
  Precision precision = Precision::bf16;
  int max_tp = 0;       ///< 0: as many as a scale-up domain has
  double headroom = 0;  ///< share of the memory to be left free
  int top = 10;         ///< layouts to return
  bool prune = true;    ///< false: price every layout that fits
  std::optional<int> tp{}, pp{}, vp{}, cp{}, ep{}, dp{}, expert_tp{}, zero{}, microbatch{};
  std::optional<PipelineSchedule> schedule{};
  std::optional<Recompute> recompute{};
  std::optional<bool> sequence_parallel{};
  std::optional<Placing> placing{};
};

struct PricedLayout {
  Layout layout;
  StepTime time;
  MemoryUse memory;  ///< of the worst stage
};

struct TrainingPlan {
  std::vector<PricedLayout> layouts;      ///< fastest first
  long long evaluated = 0;                ///< layouts whose full step time was priced
  long long unfit = 0;                    ///< left out because they need more memory than a GPU has
  long long bounded = 0;                  ///< left out because no layout with their layers can be among the best
  std::optional<PricedLayout> nearest{};  ///< where none fits, the one that lacks least; it is priced where it is the only one asked for
};

namespace detail {

/// Divisors of n up to `most`, ascending.
[[nodiscard]] inline std::vector<int> divisors(int n, int most) {
  std::vector<int> out;
  for (int d = 1; d <= std::min(n, most); ++d)
    if (n % d == 0) out.push_back(d);
  return out;
}

/// The values of one dimension: the given one, or all that are allowed.
[[nodiscard]] inline std::vector<int> either(const std::optional<int>& given, std::vector<int> all) {
  return given ? std::vector<int>{*given} : all;
}

/// Layouts with these layers in common.
struct LayerGroup {
  Layout layout;
  LayerTimes layers;
  double bound = 0;
  long long count = 0;  ///< of its layouts
};

class TrainingSearch {
 public:
  TrainingSearch(const TrainingQuestion& q, const System& system)
      : q_(q), gpu_(Processor::of(system)), costs_(system), domain_(system.domain) {}

  [[nodiscard]] TrainingPlan run() {
    std::vector<LayerGroup> groups = layer_groups();
    std::sort(groups.begin(), groups.end(), [](const LayerGroup& a, const LayerGroup& b) { return a.bound < b.bound; });
    for (const LayerGroup& group : groups) {
      const bool hopeless = q_.prune && full() && group.bound > worst();
      if (hopeless) {
        plan_.bounded += group.count;
        continue;
      }
      for_each_layout(group.layout, [&](const Layout& l) { price(l, group.layers); });
    }
    std::sort(plan_.layouts.begin(), plan_.layouts.end(), faster);
    return std::move(plan_);
  }

 private:
  static bool faster(const PricedLayout& a, const PricedLayout& b) { return a.time.seconds < b.time.seconds; }
  [[nodiscard]] bool full() const { return static_cast<int>(plan_.layouts.size()) >= q_.top; }
  [[nodiscard]] double worst() const { return plan_.layouts.front().time.seconds; }  // a heap, slowest on top

  [[nodiscard]] std::vector<int> context_sizes(int ranks) const {
    std::vector<int> out;
    for (const int c : divisors(ranks, 64))
      if (q_.sequence % (2 * c) == 0 && (c == 1 || q_.sequence / c >= 1024)) out.push_back(c);
    return out;
  }

  [[nodiscard]] std::vector<LayerGroup> layer_groups() {
    std::vector<LayerGroup> out;
    const int most_tp = q_.max_tp > 0 ? q_.max_tp : std::max(1, domain_);
    for (const int tp : either(q_.tp, divisors(q_.gpus, most_tp))) {
      if (q_.model.heads % tp != 0 || q_.gpus % tp != 0) continue;
      for (const int cp : either(q_.cp, context_sizes(q_.gpus / tp)))
        for (const int ep : either(q_.ep, q_.model.mixture() ? divisors(q_.model.experts, q_.gpus) : std::vector<int>{1}))
          for (const int expert_tp : either(q_.expert_tp, ep > 1 && tp > 1 ? std::vector<int>{1, tp} : std::vector<int>{1}))
            for (const int microbatch : either(q_.microbatch, divisors(q_.global_batch, 16)))
              for (int r = 0; r < 3; ++r) {
                if (q_.recompute && *q_.recompute != static_cast<Recompute>(r)) continue;
                Layout l;
                l.tp = tp, l.cp = cp, l.ep = ep, l.expert_tp = expert_tp, l.microbatch = microbatch;
                l.recompute = static_cast<Recompute>(r);
                l.sequence = q_.sequence, l.global_batch = q_.global_batch, l.precision = q_.precision;
                l.sequence_parallel = q_.sequence_parallel.value_or(tp > 1 && q_.sequence % (tp * cp) == 0);
                add_group(out, l);
              }
    }
    return out;
  }

  void add_group(std::vector<LayerGroup>& out, const Layout& l) {
    LayerGroup group{l, {}, 0, 0};
    for_each_layout(l, [&](const Layout&) { ++group.count; });
    if (group.count == 0) return;
    try {
      group.layers = layer_times(q_.model, l, q_.stack, gpu_, costs_);
    } catch (const RequestError&) {
      return;  // the machine cannot join these ranks, another layout may
    }
    const double all = q_.model.dense_layers() * group.layers.dense.sum() + q_.model.expert_layers() * group.layers.mixed.sum();
    group.bound = q_.stack.scale * all * q_.global_batch * l.tp * l.cp / (static_cast<double>(q_.gpus) * l.microbatch);
    out.push_back(std::move(group));
  }

  [[nodiscard]] std::vector<PipelineSchedule> schedules(int pp) const {
    if (pp == 1) return {PipelineSchedule::none};
    if (q_.schedule) return {*q_.schedule};
    return q_.stack.schedules;
  }

  /// Chunks that leave no stage without work: layers, with embedding and output matrix as one more each, divide over them.
  [[nodiscard]] std::vector<int> chunks(PipelineSchedule schedule, int pp) const {
    if (q_.vp) return {*q_.vp};
    if (schedule != PipelineSchedule::interleaved) return {1};
    std::vector<int> out;
    for (int v = 2; pp * v <= q_.model.layers + 2; ++v)
      for (int extra = 0; extra <= 2; ++extra)
        if ((q_.model.layers + extra) % (pp * v) == 0) {
          out.push_back(v);
          break;
        }
    return out;
  }

  /// Stages inside data only where it puts ranks nearer each other: a domain larger than tensor x context ranks.
  [[nodiscard]] std::vector<Placing> placings(const Layout& l) const {
    if (q_.placing) return {*q_.placing};
    const bool in_full = q_.tp && q_.pp && q_.cp && q_.microbatch && q_.zero && q_.recompute;  // one layout is asked for, as people place it
    const bool matters = !in_full && l.pp > 1 && l.dp > 1 && domain_ >= 2 * l.tp * l.cp;
    return matters ? std::vector<Placing>{Placing::data_inside, Placing::stages_inside} : std::vector<Placing>{Placing::data_inside};
  }

  template <class Visit>
  void for_each_layout(Layout l, Visit&& visit) const {
    const int rest = q_.gpus / l.tp;
    for (const int pp : either(q_.pp, divisors(rest, q_.model.layers + 2))) {
      const long long taken = static_cast<long long>(l.tp) * l.cp * pp;
      if (q_.gpus % taken != 0) continue;
      l.pp = pp;
      l.dp = static_cast<int>(q_.gpus / taken);
      if (q_.dp && *q_.dp != l.dp) continue;
      for (const PipelineSchedule schedule : schedules(pp))
        for (const int v : chunks(schedule, pp)) {
          l.schedule = schedule;
          l.vp = v;
          if (!is_possible(q_.model, l)) continue;
          for (const Placing placing : placings(l)) {
            l.placing = placing;
            for (int zero = 0; zero <= (l.dp * l.cp > 1 ? 3 : 0); ++zero) {
              if (zero == 2 && pp > 1 && !q_.zero) continue;  // the same as 1
              l.zero = q_.zero.value_or(zero);
              visit(static_cast<const Layout&>(l));
              if (q_.zero) break;
            }
          }
        }
    }
  }

  void price(const Layout& l, const LayerTimes& layers) {
    const MemoryUse memory = worst_stage(q_.model, l, q_.stack.memory);
    if (!fits(memory, gpu_.memory, q_.headroom)) {
      ++plan_.unfit;
      if (plan_.layouts.empty() && (!plan_.nearest || memory.total() < plan_.nearest->memory.total()))
        plan_.nearest = PricedLayout{l, {}, memory};
      return;
    }
    ++plan_.evaluated;
    // with stages inside data, experts reach over fewer ranks of a domain than the shared layers were priced for
    const bool own = l.ep > 1 && l.placing == Placing::stages_inside;
    StepTime time;
    try {
      time = own ? step_time(q_.model, l, q_.stack, gpu_, costs_) : step_time(q_.model, l, q_.stack, gpu_, costs_, layers);
    } catch (const RequestError&) {
      return;  // these ranks cannot be joined, other layouts' can
    }
    if (full() && time.seconds >= worst()) return;
    if (full()) {
      std::pop_heap(plan_.layouts.begin(), plan_.layouts.end(), faster);
      plan_.layouts.pop_back();
    }
    plan_.layouts.push_back({l, time, memory});
    std::push_heap(plan_.layouts.begin(), plan_.layouts.end(), faster);
  }

  const TrainingQuestion& q_;
  Processor gpu_;
  GroupCosts costs_;
  int domain_;
  TrainingPlan plan_;
};

}  // namespace detail

/// \throws RequestError for a question no layout can answer, with the nearest that one can
inline void check(const TrainingQuestion& q, const System& system) {
  check(q.model);
  if (q.model.hybrid()) throw RequestError(q.model.name + ": training is priced for layers of attention only, it has others");
  if (q.gpus < 1) throw RequestError("--gpus must be at least 1");
  if (q.global_batch < 1) throw RequestError("--global-batch must be at least 1 sequence");
  if (q.sequence < 1) throw RequestError("--sequence must be at least 1 token");
  if (!(q.headroom >= 0 && q.headroom < 1)) throw RequestError("--headroom is a share of the memory, 0 to below 1");
  if (q.gpus > system.domain && system.tier(TierRole::nic) == nullptr)
    throw RequestError(system.name + ": " + std::to_string(q.gpus) + " GPUs do not fit its domain of " + std::to_string(system.domain) +
                       ", and it has no NICs to leave it by; take at most " + std::to_string(system.domain));
  const double offered = q.precision == Precision::fp4   ? system.gpu.fp4.value.value()
                         : q.precision == Precision::fp8 ? system.gpu.fp8.value.value()
                                                         : 1;
  if (!(offered > 0))
    throw RequestError(system.gpu.name + " offers no " + std::string(precision_names[static_cast<std::size_t>(q.precision)]) +
                       " products; take bf16 or another GPU");
  long long given = 1;
  for (const std::optional<int>& size : {q.tp, q.pp, q.cp, q.dp}) given *= size.value_or(1);
  if (given < 1 || q.gpus % given != 0)
    throw RequestError("tp x pp x cp x dp = " + std::to_string(given) + " does not divide " + std::to_string(q.gpus) + " GPUs; take " +
                       std::to_string(given < 1                    ? q.gpus
                                      : q.gpus / given * given > 0 ? q.gpus / given * given
                                                                   : given) +
                       " GPUs");
}

namespace detail {
/// The layout a question comes nearest to stating, for saying what is wrong with it.
[[nodiscard]] inline Layout stated(const TrainingQuestion& q) {
  Layout l;
  l.tp = q.tp.value_or(1), l.pp = q.pp.value_or(1), l.vp = q.vp.value_or(1), l.cp = q.cp.value_or(1), l.ep = q.ep.value_or(1);
  l.expert_tp = q.expert_tp.value_or(1);
  l.microbatch = q.microbatch.value_or(1);
  l.zero = q.zero.value_or(0);
  l.global_batch = q.global_batch, l.sequence = q.sequence, l.precision = q.precision;
  l.recompute = q.recompute.value_or(Recompute::none);
  l.sequence_parallel = q.sequence_parallel.value_or(false);
  l.schedule = q.schedule.value_or(l.vp > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b);
  l.placing = q.placing.value_or(Placing::data_inside);
  if (q.dp && !q.tp && !q.pp && !q.cp) l.pp = q.gpus / *q.dp;
  l.dp = q.dp.value_or(std::max(1, q.gpus / (l.tp * l.pp * l.cp)));
  return l;
}
}  // namespace detail

/// The fastest layouts. Deterministic. \throws RequestError when no layout is possible, saying why and what the nearest possible is
[[nodiscard]] inline TrainingPlan plan_training(const TrainingQuestion& question, const System& system) {
  check(question, system);
  TrainingPlan plan = detail::TrainingSearch{question, system}.run();
  if (plan.layouts.empty() && plan.nearest && plan.unfit == 1 && plan.bounded == 0) {  // one layout, given in full: priced all the same
    GroupCosts costs{system};
    plan.nearest->time = step_time(question.model, plan.nearest->layout, question.stack, Processor::of(system), costs);
    plan.layouts.push_back(*plan.nearest);
    plan.evaluated = 1;
    plan.unfit = 0;
  }
  if (!plan.layouts.empty() || plan.nearest) return plan;
  const std::string why = why_impossible(question.model, detail::stated(question));
  if (!why.empty()) throw RequestError(why);
  // no fault in what is stated: the rest found nothing, most often because replicas outnumber sequences or do not divide the batch
  const int most = std::min(question.gpus, question.global_batch);
  throw RequestError("no layout of " + std::to_string(question.gpus) + " GPUs divides a batch of " + std::to_string(question.global_batch) +
                     " sequences and the layers and heads of " + question.model.name + "; take " +
                     std::to_string(detail::nearest_divisor(question.global_batch, most)) + " GPUs, or another batch");
}

}  // namespace fabricost
