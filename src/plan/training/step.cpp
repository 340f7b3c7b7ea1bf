#include <fabricost/plan/training/recommender.hpp>
#include <fabricost/plan/training/step.hpp>

namespace fabricost::plan {

double head_time(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu) {
  const ComputeConstants& c = gpu.constants;
  const double T = layout.tokens() * model.head_share, vocab = std::ceil(model.vocab / (128.0 * layout.tp)) * 128;
  return (layout.trains_all() ? 3 : 2) * product_seconds(gpu, Precision::bf16, T, vocab, model.hidden) +
         stream_seconds(gpu, (stack.eager_loss ? c.logit_bytes_eager : c.logit_bytes) * T * vocab);
}

Processor driven_by(const Stack& stack, const Layout& layout, Processor gpu) {
  gpu.use(stack.kernels);
  if (layout.block_scales) gpu.use_block_scales();
  gpu.peak16 *= stack.compute_share;
  gpu.peak8 *= stack.compute_share;
  gpu.peak4 *= stack.compute_share;
  if (!stack.scale_given) gpu.most = std::min(gpu.most, stack.scale);
  gpu.constants.memory = std::min(gpu.constants.memory, gpu.most);
  for (double* const rate : {&gpu.peak16, &gpu.peak8, &gpu.peak4, &gpu.memory_rate}) *rate /= stack.scale;
  for (double* const time : {&gpu.constants.gemm_start, &gpu.constants.layer_floor, &gpu.constants.form.attention_block}) *time *= stack.scale;
  for (auto& kind : gpu.own.at)
    for (KernelRate& own : kind) own.start *= stack.scale, own.depth *= stack.scale;
  return gpu;
}

LayerTimes layer_times(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu, GroupCosts& costs) {
  const Processor left = driven_by(stack, layout, gpu);
  LayerTimes out;
  const bool whole = !has_single_blocks(model);
  if (model.dense_layers() > 0) out.dense = layer_time(model, layout, stack, left, costs, {whole, true, false});
  if (model.expert_layers() > 0) out.mixed = layer_time(model, layout, stack, left, costs, {whole, true, true});
  if (!whole) out.mixing = layer_time(model, layout, stack, left, costs, {true, false, false});
  out.head = head_time(model, layout, stack, left);
  if (model.predict_layers > 0)
    out.join = (layout.trains_all() ? 3 : 2) *
               product_seconds(left, layout.precision, layout.tokens(), double(model.hidden) / layout.tp, 2.0 * model.hidden);
  if (model.images > 0) out.vision = all_layers(*model.vision, layer_times(*model.vision, vision_layout(model, layout), stack, gpu, costs));
  out.parameters = parameters_of(model);
  if (model.frozen)
    out.second = std::make_shared<LayerTimes>(layer_times(*model.frozen, frozen_layout(layout, *model.frozen), stack, gpu, costs));
  if (!layout.recompute_by_stage.empty())
    out.kept = std::make_shared<LayerTimes>(layer_times(model, without_recompute(layout), stack, gpu, costs));
  return out;
}

LayerTime all_layers(const Model& model, const LayerTimes& layers) {
  LayerTime out;
  if (model.dense_layers() > 0) out.add(layers.dense, model.dense_layers());
  if (model.expert_layers() > 0) out.add(layers.mixed, model.expert_layers());
  if (has_single_blocks(model)) out.add(layers.mixing, model.layers - model.dense_layers() - model.expert_layers());
  return out;
}

LayerTime stage_time(const Model& model, const LayerTimes& layers, const StageContent& at) {
  LayerTime out;
  if (layers.kept && at.layers > 0) {
    LayerTimes whole = layers;
    whole.kept = nullptr;
    const double again = static_cast<double>(at.again) / at.layers;
    out.add(stage_time(model, whole, at), again);
    out.add(stage_time(model, *layers.kept, at), 1 - again);
    return out;
  }
  if (at.dense_layers > 0) out.add(layers.dense, at.dense_layers);
  if (at.expert_layers > 0) out.add(layers.mixed, at.expert_layers);
  if (has_single_blocks(model)) out.add(layers.mixing, at.mixing_layers);
  return out;
}

double end_time(const Model& model, const LayerTimes& layers) {
  const double module = layers.join + layers.mixing.sum() + (model.mixture() ? layers.mixed : layers.dense).sum() + layers.head;
  return layers.head + model.predict_layers * module;
}

double longest_stage(const Model& model, const LayerTimes& layers, const LongStages& stages) {
  double out = 0;
  for (const StageContent& at : stages)
    out = std::max(
        out, stage_time(model, layers, at).sum() + (at.embedding ? layers.vision.sum() : 0) + (at.head ? end_time(model, layers) : 0));
  return out;
}

double waiting_for_slowest(const Processor& gpu, double nodes) {
  return nodes > 1 ? gpu.constants.straggle * std::sqrt(2 * std::log(nodes)) : 0;
}

std::pair<double, double> StepModel::offloaded(const StageContent& at, const LayerTime& stage) const {
  if (l.offload_layers == 0 || at.layers == 0) return {0, 0};
  const double share = std::min(1.0, double(l.offload_layers) / at.layers);
  const MemoryStack memory = with_load(stack.memory, expert_load(m, l, stack, costs));
  const double copy = l.tokens() * kept_activations(layer_activations(m, l, memory), at, m, l, memory).kept / host_rate(costs.system());
  return {share * std::max(0.0, copy - stage.forward), share * std::max(0.0, copy - stage.backward - stage.weight)};
}

StepModel::Replicas StepModel::expert_replicas() const {
  const int held = l.ep * l.expert_tp;
  const long long copies = static_cast<long long>(l.tp) * l.cp * l.dp / held;
  return replicas(static_cast<int>(copies), held, static_cast<int>(expert_shard_ranks(l)));
}

DataExchanges StepModel::data_exchanges(const RankParameters& local, const RankParameters& trained) const {
  DataExchanges out;
  const bool sharded = l.zero == 3;
  const double early = sharded || (l.zero == 2 && l.pp == 1) ? 1 : 0;  // gradients are not kept between microbatches
  const double gathers = !l.reshards ? 1 : 2;                          // of a microbatch, its forward's and its backward's
  const bool fp8_only = stack.memory.fp8_parameters && l.precision == Precision::fp8;
  const bool adapters_alone = !sharded && !l.trains_all();  // which are in 16 bit
  const double weight_bytes = adapters_alone ? 2 : l.adapters.in_4_bit ? stack.memory.weight_in_4_bit : fp8_only ? 1 : 2;
  const auto of = [&](StepGroup group, const Replicas& at, double weights, double gradients) {
    const auto add = [&](Collective collective, Placement on, double bytes, double each, double last) {
      if (bytes > 0 && on.ranks() > 1)
        out.add({group, collective, on, bytes, costs.seconds(collective, on, bytes), each, last, costs.min(collective, on, bytes)});
    };
    const double bytes = stack.gradient_bytes * gradients;
    if (l.zero == 0) return add(Collective::all_reduce, at.all, bytes, 0, 1);
    add(Collective::reduce_scatter, at.shard, bytes, early, 1);
    add(Collective::all_gather, at.shard, weight_bytes * weights, !sharded || (l.pp > 1 && !l.reshards) ? 0 : gathers,
        sharded ? gathers : 1);
    add(Collective::all_reduce, at.across, bytes / at.shard.ranks(), 0, 1);  // among the ranks with the same share
  };
  const RankParameters& held = sharded ? local : trained;
  const double wide = l.adapters.in_4_bit ? (2 / weight_bytes - 1) * held.vocabulary : 0;  // tables are in 16 bit
  of(StepGroup::data, data_replicas(), held.shared() + wide, trained.shared());
  of(StepGroup::expert_data, expert_replicas(), held.experts, trained.experts);
  return out;
}

double StepModel::share_alone() const {
  const bool interleaved = schedule_of(l) == PipelineSchedule::interleaved;
  const double chunks = l.vp;
  const double fill = interleaved ? 2 * (l.pp - 1) + (chunks - 1) * l.pp : std::max(1, l.pp - 1);
  return std::min(1.0, fill / (chunks * l.microbatches()));
}

double StepModel::owned(const RankParameters& trained) const {
  return l.zero > 0 ? trained.shared() / shard_ranks(l) + trained.experts / expert_shard_ranks(l) : trained.shared() + trained.experts;
}

StepModel::Stages StepModel::stages() const {
  Stages out;
  out.fullest = long_ones.front();
  out.stage = content(out.fullest);
  out.local = parameters(out.fullest);
  StageContent last = out.fullest;
  if (l.pp > 1) {
    last = last_of(long_ones);
    for (const StageContent& other : std::span{long_ones}.subspan(1)) {
      const LayerTime t = content(other);
      if (t.sum() > out.stage.sum()) {
        out.stage = t;
        out.fullest = other;
      }
      if (const RankParameters p = parameters(other); p.shared() + p.experts > out.local.shared() + out.local.experts) out.local = p;
    }
  }
  out.trained = trained_parameters(out.local, m, l, out.fullest);
  out.owned = owned(out.trained);
  if (l.pp > 1)
    for (const StageContent& one : long_ones) out.owned = std::max(out.owned, owned(trained_parameters(parameters(one), m, l, one)));
  if (layers.kept && l.pp > 1) {
    const double longest = content(out.fullest).sum();
    for (int stage = 0; stage < l.pp; ++stage) out.slack += longest - content(stage_content(m, l, stage)).sum();
  }
  out.alone = share_alone() * out.stage.expert_hidden;
  out.stage.forward += out.alone / 2;
  out.stage.backward += out.alone / 2;
  out.stage.expert += out.alone;
  std::tie(out.out_of_gpu, out.into_gpu) = offloaded(out.fullest, out.stage);
  out.stage.forward += out.out_of_gpu;
  out.stage.backward += out.into_gpu;
  const double after_first = 1 - 1.0 / l.microbatches();  // a mean over all microbatches
  out.accumulate = after_first * stack.accumulation_bytes * (out.trained.shared() + out.trained.experts) / (gpu.most * gpu.memory_rate);
  out.body = out.stage.sum() + out.accumulate;
  out.ends = ends();
  const LayerTime of_last = content(last);
  const auto [last_out, last_in] = offloaded(last, of_last);  // every stage copies its own layers
  // with DualPipe the first stage of the other direction, on the same GPU, waits for its tokens as well
  const double last_alone = schedule_of(l) == PipelineSchedule::dualpipe ? out.alone : share_alone() * of_last.expert_hidden;
  const double tail = of_last.sum() + last_alone + last_out + last_in + out.accumulate + out.ends;
  out.times = {.forward = out.stage.forward, .backward = out.stage.backward, .weight = out.stage.weight + out.accumulate};
  out.times.last_extra = l.pp > 1 ? std::max(0.0, tail - out.body) : out.ends;
  if (l.pp > 1) out.times.exchange = costs.send(hands_over_across(), handed_over());
  out.chunks = l.vp;
  return out;
}

double StepModel::frozen_seconds(double micro) const {
  if (!m.frozen) return 0;
  const Model& other = *m.frozen;
  const Layout on = frozen_layout(l, other);
  const LayerTimes& times = *layers.second;
  double stage = 0, gather = 0;
  for (const StageContent& at : long_stages(other, on)) {
    stage = std::max(stage, stage_time(other, times, at).forward + (at.head ? times.head / 3 : 0));
    if (l.zero < 3 || at.layers == 0) continue;
    const RankParameters own = rank_parameters(stage_parameters(times.parameters, other, at), other, on, at.layers);
    double all = costs.seconds(Collective::all_gather, data_replicas().shard, 2 * own.shared());
    if (own.experts > 0) all += costs.seconds(Collective::all_gather, expert_replicas().shard, 2 * own.experts);
    gather = std::max(gather, all);
  }
  const double sends = l.pp > 1 ? costs.send(hands_over_across(), handed_over() * other.hidden / m.hidden) : 0;
  return micro * (stage + exposed_gather(gather, stage)) + (l.pp - 1) * (stage + sends);
}

StepTime StepModel::run() const {
  const double micro = l.microbatches();
  const Stages at = stages();
  const LayerTime& stage = at.stage;
  StepTime out;
  out.compute = micro * stage.kernels;
  out.floor = micro * stage.floor;
  out.tensor = micro * stage.tensor;
  out.context = micro * stage.context;
  out.expert = micro * stage.expert;
  double work = micro * at.body;
  if (l.pp == 1) {
    out.compute += micro * at.ends;
    work += micro * at.ends;
  } else {
    StageTimes times = at.times;
    times.exchange = 0;
    const double waiting = bubble_of(schedule_of(l), l.pp, at.chunks, l.microbatches(), times).seconds;
    const double with = bubble_of(schedule_of(l), l.pp, at.chunks, l.microbatches(), at.times).seconds;
    const PipelineSchedule runs = schedule_of(l);
    const bool fills = takes_chunks(runs) || runs == PipelineSchedule::one_f_one_b;
    out.bubble = std::max(0.0, waiting) - (fills ? at.slack / at.chunks : 0);
    out.pipeline = std::max(0.0, std::max(0.0, with) - std::max(0.0, waiting));
  }
  LinkTime links;
  links.add(stage.links, micro);
  if (l.pp > 1)
    links.add(costs.min_send(hands_over_across(), handed_over()), at.chunks * micro);  // one way: the first stage sends none back
  exchange_data(out, links, at.local, at.trained, at.body + (l.pp == 1 ? at.ends : 0), micro);
  const double away = l.offload_optimizer * at.owned;
  const double update = update_seconds(bare, stack, at.owned - away);
  const double on_host = away > 0 ? updated_on_host(away) : 0;
  out.accumulation = micro * at.accumulate;
  out.optimizer = update;
  out.offload = micro * (at.out_of_gpu + at.into_gpu) + on_host;
  out.frozen = frozen_seconds(micro);
  out.seconds = work + out.bubble + out.pipeline + out.data + update + on_host + out.frozen;
  out.least = links.least();
  // what hid shares the links
  if (const double more = out.least - out.seconds; more > 0) {
    out.data += more;
    out.seconds = out.least;
  }
  out.stragglers = waiting_for_slowest(gpu, domains_taken(l, costs.system().domain)) * out.seconds;
  out.input = stack.input;
  out.seconds += out.stragglers + out.input;
  out.evaluation = stack.evaluation * out.seconds;
  out.seconds += out.evaluation;
  return out;
}

void StepModel::exchange_data(StepTime& out, LinkTime& links, const RankParameters& local, const RankParameters& trained, double work,
                              double micro) const {
  double each = 0, last = 0;
  for (const DataExchange& x : data_exchanges(local, trained)) {
    each += x.each * x.seconds;
    last += x.last * x.seconds;
    links.add(x.least, (micro - 1) * x.each + x.last);
  }
  // a stage's gradients are complete in the drain of its pipeline, where little work is left to hide them
  const double hidden = l.pp > 1 ? 0 : 1 - stack.data_exposed;
  const auto exposed = [&](double exchange) {
    if (l.zero < 3) return exchange - hidden * exchange + std::max(0.0, hidden * exchange - work);
    return exposed_gather(exchange, work);
  };
  out.data = (micro - 1) * exposed(each) + exposed(last);
}

StepTime step_time(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu, GroupCosts& costs,
                   const LayerTimes& layers, const LongStages& stages) {
  const Processor driven = driven_by(stack, layout, gpu);
  return StepModel{model, layout, stack, driven, gpu, costs, layers, stages}.run();
}

StepTime step_time(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu, GroupCosts& costs) {
  if (model.recommends()) return recommender_step(model, layout, stack, gpu, costs);
  return step_time(model, layout, stack, gpu, costs, layer_times(model, layout, stack, gpu, costs), long_stages(model, layout));
}

}  // namespace fabricost::plan
