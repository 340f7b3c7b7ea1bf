#include "training/search.hpp"

namespace fabricost::plan::detail {

TrainingPlan TrainingSearch::run() {
  make_pipelines();
  visit();
  const bool named = names_one_layout(q_) && (!plan_.layouts.empty() || plan_.nearest);  // it exists on all GPUs
  if (may_leave_idle(q_) && !named && capacity_ < std::numeric_limits<double>::infinity()) {
    part_ = Part::smaller;
    ceiling_ = std::min(ceiling_, fastest_);
    if (least_batch() == most_batch()) parts_of_batch_ = divisors(static_cast<int>(most_batch()), static_cast<int>(most_batch()));
    make_pipelines();
    visit();
  }
  std::stable_sort(plan_.layouts.begin(), plan_.layouts.end(), is_faster);
  if (!plan_.layouts.empty()) plan_.fastest = plan_.layouts.front();
  propose();
  return std::move(plan_);
}

double TrainingSearch::limit() const {
  const double among =
      full() ? seconds_a_sequence(plan_.layouts.front()) : std::numeric_limits<double>::infinity();  // the slowest is on top
  return std::min(ceiling_, std::max(among, fastest_ * (1 + q_.plain_within)));
}

void TrainingSearch::visit() {
  const std::vector<LayerGroup> groups = layer_groups();
  std::vector<const LayerGroup*> in_order;
  for (const LayerGroup& group : groups) in_order.push_back(&group);
  std::stable_sort(in_order.begin(), in_order.end(), [](const LayerGroup* a, const LayerGroup* b) { return a->bound < b->bound; });
  for (const LayerGroup* const at : in_order) {
    const LayerGroup& group = *at;
    const bool hopeless = q_.prune && group.bound > limit();
    if (hopeless) {
      plan_.bounded += group.count;
      continue;
    }
    part_ == Part::given ? price(group) : price_smaller(group);
  }
}

void TrainingSearch::keep_plain(const PricedLayout& priced) {
  const double seconds = seconds_a_sequence(priced), near = 1 + q_.plain_within;
  fastest_ = std::min(fastest_, seconds);
  if (seconds > fastest_ * near) return;
  const auto burden = burden_of(q_, priced.layout, domain_);
  for (const PricedLayout& kept : plain_)
    if (burden_of(q_, kept.layout, domain_) <= burden && !is_faster(priced, kept)) return;
  std::erase_if(plain_, [&](const PricedLayout& kept) {
    return seconds_a_sequence(kept) > fastest_ * near || (burden_of(q_, kept.layout, domain_) >= burden && !is_faster(kept, priced));
  });
  plain_.push_back(priced);
}

void TrainingSearch::propose() {
  if (plain_.empty() || !(q_.plain_within > 0)) return;  // the fastest is first already
  const auto first = std::min_element(plain_.begin(), plain_.end(), [&](const PricedLayout& a, const PricedLayout& b) {
    const auto one = burden_of(q_, a.layout, domain_), other = burden_of(q_, b.layout, domain_);
    return one != other ? one < other : is_faster(a, b);
  });
  const bool with_twins = q_.top > longest_without_twins;
  std::erase_if(plan_.layouts, [&](const PricedLayout& one) {
    return one.layout == first->layout || (!with_twins && are_twins(one.layout, first->layout, domain_));
  });
  if (full()) plan_.layouts.pop_back();
  plan_.layouts.insert(plan_.layouts.begin(), *first);
}

std::vector<LayerGroup> TrainingSearch::layer_groups() {
  std::vector<LayerGroup> out;
  const int max_tp = q_.max_tp > 0 ? q_.max_tp : std::max(1, domain_);
  const bool smaller = part_ == Part::smaller;
  const std::vector<int> microbatches = either(q_.microbatch, divisors(q_.global_batch, q_.global_batch));
  for (const int tp : either(q_.tp, smaller ? up_to(std::min(q_.gpus, max_tp)) : divisors(q_.gpus, max_tp))) {
    if (q_.model.heads % tp != 0 || (!smaller && q_.gpus % tp != 0) || tp > q_.gpus) continue;
    for (const int cp : either(q_.cp, context_sizes(q_, q_.gpus / tp, smaller)))
      for (const int ep : either(q_.ep, q_.model.mixture() ? divisors(q_.model.experts, q_.gpus) : std::vector<int>{1}))
        for (const int expert_tp : either(q_.expert_tp, expert_widths(q_, ep, tp)))
          for (const int microbatch : microbatches) {
            Layout l;
            l.tp = tp;
            l.cp = cp;
            l.ep = ep;
            l.expert_tp = expert_tp;
            l.microbatch = microbatch;
            q_.set_common(l);
            l.sequence_parallel = q_.sequence_parallel.value_or(tp > 1 && q_.sequence % (tp * cp) == 0);
            if (microbatch > microbatches.front() && q_.prune && min_activations(q_.model, l, q_.stack.memory) > capacity_) break;
            long long count = smaller ? 1 : 0;  // of those beside the job given only the priced ones are counted
            if (!smaller) for_each_pipeline(l, [&](const Layout& at, const Pipeline&) { count += layouts_of(at); });
            for (const ContextParallel context : contexts(q_, l))
              for (const Again& again : recomputations_) {
                l.context = context;
                l.recompute = again.kind;
                l.recompute_modules = again.modules;
                if (count > 0) add_group(out, l, count);
              }
          }
  }
  return out;
}

void TrainingSearch::add_group(std::vector<LayerGroup>& out, const Layout& l, long long count) {
  LayerGroup group{l, {}, {}, 0, count, 1};
  try {
    group.layers = group.fastest = layer_times(q_.model, l, q_.stack, gpu_, costs_);
    if (fewest(l) || !l.recompute_by_stage.empty()) group.fastest = layer_times(q_.model, without_recompute(l), q_.stack, gpu_, costs_);
    group.load = expert_load(q_.model, l, q_.stack, costs_);
  } catch (const RequestError&) {
    return;  // the machine cannot join these ranks but may join others
  }
  const double all = all_layers(q_.model, group.fastest).sum();
  group.bound = factor(q_.gpus) * all * l.tp * l.cp / (static_cast<double>(q_.gpus) * l.microbatch);
  if (part_ == Part::given || !q_.prune || group.bound <= limit()) out.push_back(std::move(group));
}

TrainingSearch::Hope TrainingSearch::hope_of(const Layout& l, const Pipeline& pipeline, const LayerTimes& layers) const {
  const double most = limit();
  if (!q_.prune || std::isinf(most)) return Hope::yes;
  LayerTime fullest;
  for (const StageContent& at : pipeline.longest)
    if (const LayerTime t = stage_time(q_.model, layers, at); t.sum() > fullest.sum()) fullest = t;
  const double slower = factor(l.gpus()), within = most * l.global_batch * (1 + 1e-9);  // beyond rounding
  const double ends = end_time(q_.model, layers), works = slower * l.microbatches() * (fullest.sum() + (l.pp == 1 ? ends : 0));
  if (works > within) return Hope::none_with_fewer;
  StageTimes times{.forward = fullest.forward, .backward = fullest.backward, .weight = fullest.weight};
  // these grow with every part of a stage's time; a schedule with W apart may wait less when W is longer
  const bool grows = takes_chunks(l.schedule) || l.schedule == PipelineSchedule::one_f_one_b;
  for (const StageContent& at : pipeline.long_stages)
    if (at.head && l.pp > 1 && grows) times.last_extra = std::max(0.0, stage_time(q_.model, layers, at).sum() + ends - fullest.sum());
  const double waits = l.pp > 1 && grows ? bubble_of(l.schedule, l.pp, l.vp, l.microbatches(), times).seconds : 0;
  if (works + slower * waits <= within) return Hope::yes;
  return q_.batch_within > 0 ? Hope::none : Hope::none_with_fewer;  // of one batch the share of a bubble in a sequence stays as it is
}

std::vector<PipelineSchedule> TrainingSearch::schedules(int pp) const {
  if (pp == 1) return {PipelineSchedule::none};
  if (q_.schedule) return {*q_.schedule};
  return q_.stack.schedules;
}

std::vector<int> TrainingSearch::chunks(PipelineSchedule schedule, int pp) const {
  if (q_.vp == 1 && schedule == PipelineSchedule::interleaved && !q_.schedule) return {};  // that is 1f1b
  if (q_.vp) return {*q_.vp};
  if (!takes_chunks(schedule)) return {1};
  const bool loops = schedule == PipelineSchedule::gpipe;  // embedding and output matrix are no chunks of it
  std::vector<int> out;
  for (int v = loops ? 1 : 2; pp * v <= q_.model.layers + (loops ? 0 : 2); ++v) out.push_back(v);
  return out;
}

void TrainingSearch::make_pipelines() {
  const int most = q_.model.layers + 2;
  pipelines_.clear();
  for (const int pp : either(q_.pp, part_ == Part::smaller ? up_to(std::min(q_.gpus, most)) : divisors(q_.gpus, most))) {
    if (pp < 1 || (pp > 1 && (q_.model.layers < pp || q_.zero == 2 || offloads_layers(q_)))) continue;
    if (pp > 1 && !q_.pp && q_.schedule == PipelineSchedule::none) continue;
    for (const PipelineSchedule schedule : schedules(pp))
      for (const int vp : chunks(schedule, pp)) {
        Layout l;
        l.pp = pp;
        l.vp = vp;
        l.schedule = schedule;
        l.split = q_.split;
        l.recompute_by_stage = q_.recompute_by_stage;
        if (!divides_as_given(q_.model, l) || (!q_.vp && !repeats_as_given(q_, l))) continue;
        const bool exposed = q_.overlaps_tokens && schedule_of(l) == PipelineSchedule::one_f_one_b;
        if (vp < 1 || (pp > 1 && (has_idle_chunk(q_.model, l) || exposed))) continue;
        const LongStages usual = long_stages(q_.model, l);
        pipelines_.push_back({pp, vp, schedule, l.split, heavy_stages(q_.model, l), usual, longest_of(usual)});
        if (q_.split.given() || names_one_layout(q_) || !q_.stack.runs.divides_any) continue;
        for (const PipelineSplit& split : uneven_splits(q_.model, l)) {
          l.split = split;
          const LongStages own = long_stages(q_.model, l);
          pipelines_.push_back({pp, vp, schedule, split, heavy_stages(q_.model, l), own, longest_of(own), usual});
        }
      }
  }
}

std::span<const Placing> TrainingSearch::placings(const Layout& l) const {
  static constexpr std::array both{Placing::data_inside, Placing::stages_inside};
  if (q_.placing) return std::span{both}.subspan(*q_.placing == Placing::data_inside ? 0 : 1, 1);
  const bool matters = q_.stack.runs.any_rank_order && l.pp > 1 && l.dp > 1 && domain_ >= 2 * l.tp * l.cp;
  return std::span{both}.first(matters ? 2 : 1);
}

Shardings TrainingSearch::shardings(const Layout& l) const {
  Shardings out;
  if (q_.zero) {
    out.add(*q_.zero);
    return out;
  }
  for (int zero = 0; zero <= (l.dp * l.cp > 1 ? 3 : 0); ++zero)
    if ((zero != 2 || l.pp == 1) && runs_sharded(q_.stack, zero, l.pp)) out.add(zero);  // with stages 2 equals 1
  return out;
}

void TrainingSearch::price(const LayerGroup& group) {
  start(group);
  for_each_pipeline(group.layout, [&](const Layout& l, const Pipeline& pipeline) { price(l, pipeline, group); });
}

std::vector<TrainingSearch::Job> TrainingSearch::smaller_jobs(const Layout& l, double least) const {
  const long long taken = static_cast<long long>(l.tp) * l.cp * l.pp, low = least_batch(), high = most_batch();
  std::vector<Job> out;
  const auto add = [&](long long replicas) {
    const long long step = replicas * l.microbatch, largest = high / step * step, in_groups = high / (step * l.pp) * (step * l.pp);
    // of as many replicas the largest batch takes least time a sequence, where chunks interleave the largest in groups of pp microbatches;
    // with few microbatches a smaller one holds less in its stages
    const auto job = [&](long long batch) {
      if (batch >= low && (replicas * taken != q_.gpus || batch != q_.global_batch))
        out.push_back({static_cast<int>(replicas), static_cast<int>(batch)});
    };
    job(largest);
    if (in_groups != largest) job(in_groups);
    for (long long batch = std::min(in_groups, (3LL * l.pp + 1) * step) - step; l.pp > 1 && batch >= low; batch -= step) job(batch);
  };
  const long long most = std::min(q_.gpus / taken, high / l.microbatch);
  const auto is_tried = [&](long long replicas) {
    return static_cast<double>(replicas * taken) >= least && (!q_.dp || *q_.dp == replicas);
  };
  if (low == high) {  // one batch, which only so many replicas divide
    if (high % l.microbatch != 0) return out;
    for (auto replicas = parts_of_batch_.rbegin(); replicas != parts_of_batch_.rend(); ++replicas) {
      if (static_cast<double>(*replicas * taken) < least) break;  // the rest are fewer
      if (*replicas <= most && high / l.microbatch % *replicas == 0 && is_tried(*replicas)) add(*replicas);
    }
  } else {
    for (long long replicas = most; replicas > 0 && static_cast<double>(replicas * taken) >= least; --replicas)
      if (is_tried(replicas)) add(replicas);
  }
  return out;
}

double TrainingSearch::least_gpus(const LayerGroup& group) const {
  const double most = limit();
  if (!q_.prune || std::isinf(most)) return 1;
  const double alone = group.bound * q_.gpus / factor(q_.gpus) / most;  // x factor of so many GPUs, which is that of fewer at least
  return alone * factor(static_cast<int>(std::max(1.0, alone))) * (1 - 1e-9);
}

void TrainingSearch::price_smaller(const LayerGroup& group) {
  start(group);
  std::vector<Job> jobs;
  int stages = 0;  // of the jobs
  double within = -1, least = 0;  // GPUs under that limit, which seldom moves
  Layout l = group.layout;
  l.zero = q_.zero.value_or(0);
  for (const Pipeline& pipeline : pipelines_) {
    if (pipeline.pp != stages) {
      if (const double now = limit(); now != within) within = now, least = least_gpus(group);
      l.pp = stages = pipeline.pp;
      jobs = smaller_jobs(l, least);
    }
    if (jobs.empty()) continue;
    l.vp = pipeline.vp;
    l.schedule = pipeline.schedule;
    l.split = pipeline.split;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      l.dp = jobs[i].replicas;
      l.global_batch = jobs[i].batch;
      const bool smallest = i + 1 == jobs.size() || jobs[i + 1].replicas != l.dp;  // which needs least memory of as many replicas
      if (q_.shard <= l.dp * l.cp && is_possible(q_.model, l) && !price(l, pipeline, group) && smallest) break;
    }
  }
}

void TrainingSearch::start(const LayerGroup& group) {
  too_large_ = {};
  memory_ = with_load(q_.stack.memory, group.load);
  activations_ = layer_activations(q_.model, group.layout, memory_);
  inside_.clear();
}

bool TrainingSearch::price(const Layout& l, const Pipeline& pipeline, const LayerGroup& group) {
  const auto longest = [&](const LongStages& stages) { return longest_stage(q_.model, group.fastest, stages); };
  const Hope hope =
      pipeline.even && !(longest(pipeline.long_stages) < longest(*pipeline.even)) ? Hope::none : hope_of(l, pipeline, group.fastest);
  if (hope != Hope::yes) {
    if (part_ == Part::given) plan_.bounded += layouts_of(l);
    return hope != Hope::none_with_fewer;
  }
  const Shardings zeros = shardings(l);
  if (!wants_nearest() && is_too_large(l, pipeline, zeros)) {
    plan_.unfit += layouts_of(l);
    return false;
  }
  price(l, pipeline, zeros, group);
  return true;
}

bool TrainingSearch::is_too_large(const Layout& l, const Pipeline& pipeline, const Shardings& zeros) {
  Layout least = may_offload(l) ? offloaded(l) : l;
  least.offload_optimizer = states_away_ ? 1 : l.offload_optimizer;
  // what more sharding saves, its buffers may take again; mostly it needs least
  const auto every = [&](const auto& needs) {
    return std::all_of(zeros.all().rbegin(), zeros.all().rend(), [&](int zero) {
      least.zero = zero;
      return clearly_above(needs());
    });
  };
  if (too_large_.pp != l.pp || too_large_.dp != l.dp)
    too_large_ = {l.pp, l.dp, every([&] { return min_memory(q_.model, count_, least, memory_); })};
  return too_large_.value || every([&] { return memory_at(least, pipeline.stages.front()).total(); });
}

std::optional<PricedLayout> TrainingSearch::fitted(const Layout& l, const Pipeline& pipeline) const {
  const auto memory = [&](const Layout& one) {
    const bool by_stage = !one.recompute_by_stage.empty();
    return worst_stage(q_.model, count_, activations_, one, memory_, by_stage ? heavy_stages(q_.model, one) : pipeline.stages);
  };
  const auto lacks = [&](const Layout& one) { return lacking(memory(one)); };
  const double none = fewest(l) ? lacks(without_recompute(l)) : 0;
  if (fewest(l) && none <= 0) return std::nullopt;
  PricedLayout out{l, {}, memory(l)};
  const auto take = [&](const Layout& other) { out = {other, {}, memory(other)}; };
  if (const double all = lacking(out.memory); all <= 0) {
    if (fewest(l))
      take(q_.fewest_by_stage && l.pp > 1 ? with_fewest_by_stage(l)
                                          : as_the_stack_recomputes(with_min_recomputed(l, q_.model.layers, none, all, lacks)));
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

Layout TrainingSearch::as_the_stack_recomputes(Layout l) const {
  if (q_.stack.runs.recomputes != Recomputes::chunks || l.recompute_layers == 0) return l;
  const int all = recomputed_of_chunks(q_.model, l, recomputed_of_each_chunk(q_.model, l));
  l.recompute_layers = all < q_.model.layers ? all : 0;
  return l;
}

Layout TrainingSearch::with_fewest_by_stage(Layout l) const {
  const LayerSplit split = split_layers(q_.model, l);
  l.recompute_by_stage.assign(static_cast<std::size_t>(l.pp), 0);
  for (int stage = 0; stage < l.pp; ++stage) {
    int& again = l.recompute_by_stage[static_cast<std::size_t>(stage)];
    const auto lacks = [&](int layers) {
      again = layers;
      return lacking(memory_at(l, stage_of(split, q_.model, l, stage)));
    };
    const int all = stage_content(split, q_.model, l, stage).layers;
    if (const double none = lacks(0); none > 0 && all > 0) again = least(all, none, lacks(all), lacks);
  }
  return l;
}

void TrainingSearch::price(const Layout& l, const Pipeline& pipeline, const Shardings& zeros, const LayerGroup& group) {
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
        if (part_ == Part::given) ++plan_.bounded;
        continue;
      }
      at->layout.placing = placing;
      const int again = at->layout.recompute_layers;
      if (fewest(l) && !at->layout.recompute_by_stage.empty()) {
        LayerTimes layers = group.layers;
        layers.kept = std::make_shared<LayerTimes>(group.fastest);
        price(at->layout, at->memory, layers, long_stages(q_.model, at->layout));
        continue;
      }
      if (again == 0 || !fewest(l)) {
        price(at->layout, at->memory, group.layers, pipeline.long_stages);
        continue;
      }
      const LayerTimes layers = between(group.fastest, group.layers, static_cast<double>(again) / q_.model.layers);
      if (hope_of(at->layout, pipeline, layers) == Hope::yes)
        price(at->layout, at->memory, layers, pipeline.long_stages);
      else if (part_ == Part::given)
        ++plan_.bounded;
    }
}

const LayerTimes& TrainingSearch::layers_inside(const Layout& l) {
  const std::pair key{domain_for_data(l, domain_), l.recompute_by_stage.empty() ? l.recompute_layers : -1};
  const auto known = inside_.find(key);
  return known != inside_.end() ? known->second : inside_.emplace(key, layer_times(q_.model, l, q_.stack, gpu_, costs_)).first->second;
}

void TrainingSearch::price(const Layout& l, const MemoryUse& memory, const LayerTimes& layers, const LongStages& stages) {
  if (lacking(memory) > 0) {
    ++plan_.unfit;
    if (wants_nearest() && (!plan_.nearest || lacking(memory) < lacking(plan_.nearest->memory)))
      plan_.nearest = PricedLayout{l, {}, memory};
    return;
  }
  ++plan_.evaluated;
  const long long taken = l.gpus() + static_cast<long long>(idle_gpus(l, domain_));
  if (stated_ && taken > *stated_) return;  // takes more domains than there are
  if (q_.wanted.within_given && needed_gpus(l, domain_) > q_.gpus) return;
  if (q_.wanted.most_idle && taken > q_.gpus + *q_.wanted.most_idle) return;
  // with stages inside data, experts reach fewer ranks of a domain than the shared layers were priced for
  const bool own = l.ep > 1 && l.placing == Placing::stages_inside;
  StepTime time;
  try {
    time = step_time(q_.model, l, q_.stack, gpu_, costs_, own ? layers_inside(l) : layers, stages);
  } catch (const RequestError&) {
    return;  // these ranks cannot be joined, other layouts' may
  }
  const PricedLayout priced{l, time, memory};
  if (seconds_a_sequence(priced) >= ceiling_) return;
  keep_plain(priced);
  if (full() && !is_faster(priced, plan_.layouts.front())) return;
  const auto among = plan_.layouts.begin() + (q_.top > longest_without_twins ? 0 : std::ssize(plan_.layouts));
  const auto same = [&](const PricedLayout& one) { return are_twins(one.layout, l, domain_); };
  const auto twin = std::find_if(plan_.layouts.begin(), among, same);
  if (twin != among) {
    if (!is_faster(priced, *twin)) return;
    *twin = priced;
    std::make_heap(plan_.layouts.begin(), plan_.layouts.end(), is_faster);
    return;
  }
  if (full()) {
    std::pop_heap(plan_.layouts.begin(), plan_.layouts.end(), is_faster);
    plan_.layouts.pop_back();
  }
  plan_.layouts.push_back(priced);
  std::push_heap(plan_.layouts.begin(), plan_.layouts.end(), is_faster);
}

}  // namespace fabricost::plan::detail
