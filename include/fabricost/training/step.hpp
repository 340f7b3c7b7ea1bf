#pragma once
/// \file step.hpp
/// Time of one training step of a layout: a stage's layers, the pipeline around them, the exchange of
/// gradients and weights, the optimizer.
///
///   stage      layers of the fullest stage (model/stages.hpp): forward, input gradient, weight gradient (layer.hpp). The last
///              stage adds the output matrix and its loss, and for multi-token prediction a layer and that matrix again per
///              module; these count where they make it the slowest stage
///   pipeline   m microbatches and the bubble of the schedule with one hand-over of 2 T h bytes (/ t with sequence parallel)
///   expert     exchange of tokens that is not hidden (layer.hpp); the part that another microbatch's kernels hide is exposed while the
///              pipeline fills and drains
///   data       reduce-scatter of gradients and all-gather of weights (one all-reduce without sharding): shared parameters over
///              dp x cp ranks, t GPUs apart; routed experts over the t c D / (e t_e) ranks with the same ones, e t_e GPUs
///              apart; one after the other, since both use the same links. With stages nothing hides them; without, the hidden
///              part fits behind one microbatch. Without stages ZeRO-2 reduces gradients after every microbatch. ZeRO-3: per microbatch
///              0.54 z + norm_4(work, 0.46 z) - work with z = 2 all-gathers + reduce-scatter: at most z, and with the work
///              at least z. With states sharded over only S of the replicas (HSDP) these run inside the S nearest ranks, and
///              each rank's part, 1 / S, is all-reduced across the replicas / S groups once per step (FSDP2: fully_shard on
///              a 2-D mesh, set_requires_all_reduce(False) until the last microbatch; docs.pytorch.org,
///              distributed.fsdp.fully_shard)
///   accumulation  adding a microbatch's gradients to the previous ones: memory traffic per microbatch and local parameter
///   optimizer  30 bytes of memory traffic per parameter of the rank, once per step
///   offload    copies of activations to host memory behind the forward of their layer and back behind its backward, what
///              they take longer; the optimizer's share in host memory: gradients out and weights back, or its memory traffic
///              there if that takes longer (ZeRO-Offload, arXiv 2101.06840)
///   stragglers all ranks wait for the slowest of n nodes: straggle x (2 ln n)^(1/2) of it, the expected largest of n normal deviations
///   stack      the stack's factor on all of it, minus 1
///
/// Only trained parameters are accumulated, exchanged and updated; frozen ones are gathered where they are sharded.
///
/// Form: fitted to 30 groups of published runs (docs/training-accuracy.md). T = b s / c tokens of a
/// microbatch on a rank.

#include <fabricost/hardware/host_rate.hpp>
#include <fabricost/memory/activations.hpp>
#include <fabricost/memory/in_flight.hpp>
#include <fabricost/model/stage_parameters.hpp>
#include <fabricost/pipeline/pipeline.hpp>
#include <fabricost/training/idle_gpus.hpp>
#include <fabricost/training/layer.hpp>

#include <span>
#include <tuple>

namespace fabricost {

/// Seconds of a step by cause; they sum to `seconds`.
struct StepTime {
  double seconds = 0;
  double compute = 0;  ///< kernels of layers and head, recomputation included
  double floor = 0;    ///< added by launches and small kernels
  double tensor = 0;   ///< exposed tensor-parallel communication
  double context = 0;
  double expert = 0;
  double pipeline = 0;      ///< exposed hand-over between stages
  double bubble = 0;        ///< stages waiting for the pipeline to fill and drain, and for the slowest of them
  double data = 0;          ///< exposed exchange of gradients and weights
  double accumulation = 0;  ///< adding up gradients, microbatch by microbatch
  double optimizer = 0;     ///< the update of parameters and states
  double stragglers = 0;    ///< waiting for the slowest node
  double stack = 0;         ///< added by the stack's own factor; negative for a factor below 1
  double offload = 0;       ///< copies to and from host memory that nothing hides, and the update of states there

  /// Communication that nothing hides, as a part of the step, including the stack's factor.
  [[nodiscard]] double exposed() const {
    const double unscaled = seconds - stack;
    return unscaled > 0 ? (tensor + context + expert + pipeline + data) * (seconds / unscaled) : 0;
  }
};

/// The part of a step that does not depend on the spread of layers, microbatches and data: shared by all
/// layouts with the same tensor, context and expert ranks, microbatch, sequence, recomputation and precision.
struct LayerTimes {
  LayerTime dense, mixed;  ///< with a dense feed-forward block, with experts; of single blocks that block alone
  LayerTime mixing;        ///< of single blocks, those that mix tokens
  double head = 0;
  double join = 0;  ///< product of a prediction module with the next token's embedding
  ParameterCount parameters;
};

/// The output matrix with its loss, forward and backward, vocabulary padded to 128 t; always in 16 bit.
[[nodiscard]] inline double head_time(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu) {
  const ComputeConstants& c = gpu.constants;
  const double T = layout.tokens(), vocab = std::ceil(model.vocab / (128.0 * layout.tp)) * 128;
  return (layout.trains_all() ? 3 : 2) * product_seconds(gpu, Precision::bf16, T, vocab, model.hidden) +
         stream_seconds(gpu, (stack.eager_loss ? c.logit_bytes_eager : c.logit_bytes) * T * vocab);
}

/// Share of the peak that products, and of the memory's rate that an update, reach at most before the stack's factor: with it none is
/// faster than the hardware.
[[nodiscard]] inline double max_before(const Stack& stack, const Processor& gpu) {
  return stack.scale_given ? gpu.most : std::min(gpu.most, stack.scale);
}

/// The GPU that a stack leaves to products.
[[nodiscard]] inline Processor left_to_products(Processor gpu, const Stack& stack, const Layout& layout) {
  if (layout.block_scales) gpu.constants.gemm_fp8 *= gpu.constants.block_scales;
  gpu.peak16 *= stack.compute_share;
  gpu.peak8 *= stack.compute_share;
  gpu.peak4 *= stack.compute_share;
  gpu.most = max_before(stack, gpu);
  return gpu;
}

/// \throws RequestError when the machine cannot join the ranks of a group
[[nodiscard]] inline LayerTimes layer_times(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu,
                                            GroupCosts& costs) {
  const Processor left = left_to_products(gpu, stack, layout);
  LayerTimes out;
  const bool whole = !has_single_blocks(model);
  if (model.dense_layers() > 0) out.dense = layer_time(model, layout, stack, left, costs, {whole, true, false});
  if (model.expert_layers() > 0) out.mixed = layer_time(model, layout, stack, left, costs, {whole, true, true});
  if (!whole) out.mixing = layer_time(model, layout, stack, left, costs, {true, false, false});
  out.head = head_time(model, layout, stack, left);
  if (model.predict_layers > 0)
    out.join = (layout.trains_all() ? 3 : 2) *
               product_seconds(left, layout.precision, layout.tokens(), double(model.hidden) / layout.tp, 2.0 * model.hidden);
  out.parameters = parameters_of(model);
  return out;
}

/// All layers of the model.
[[nodiscard]] inline LayerTime all_layers(const Model& model, const LayerTimes& layers) {
  LayerTime out;
  if (model.dense_layers() > 0) out.add(layers.dense, model.dense_layers());
  if (model.expert_layers() > 0) out.add(layers.mixed, model.expert_layers());
  if (has_single_blocks(model)) out.add(layers.mixing, model.layers - model.dense_layers() - model.expert_layers());
  return out;
}

/// The layers of one stage.
[[nodiscard]] inline LayerTime stage_time(const Model& model, const LayerTimes& layers, const StageContent& at) {
  LayerTime out;
  if (at.dense_layers > 0) out.add(layers.dense, at.dense_layers);
  if (at.expert_layers > 0) out.add(layers.mixed, at.expert_layers);
  if (has_single_blocks(model)) out.add(layers.mixing, at.mixing_layers);
  return out;
}

/// The time that the slowest of a job's nodes (scale-up domains) takes beyond their mean, as a share of a step.
[[nodiscard]] inline double waiting_for_slowest(const Processor& gpu, double nodes) {
  return nodes > 1 ? gpu.constants.straggle * std::sqrt(2 * std::log(nodes)) : 0;
}

namespace detail {

struct StepModel {
  const Model& m;
  const Layout& l;
  const Stack& stack;
  const Processor& gpu;
  GroupCosts& costs;
  const LayerTimes& layers;
  LongStages long_ones;

  [[nodiscard]] int domain() const { return domain_for_data(l, costs.system().domain); }
  [[nodiscard]] LayerTime content(const StageContent& at) const { return stage_time(m, layers, at); }

  [[nodiscard]] RankParameters parameters(const StageContent& at) const {
    return rank_parameters(stage_parameters(layers.parameters, m, at), m, l, with_predictions(at, m).layers);
  }

  /// Copies of a microbatch's activations that its layers do not hide, forward and backward.
  [[nodiscard]] std::pair<double, double> offloaded(const StageContent& at, const LayerTime& stage) const {
    if (l.offload_layers == 0 || at.layers == 0) return {0, 0};
    const double share = std::min(1.0, double(l.offload_layers) / at.layers);
    const MemoryStack memory = with_load(stack.memory, expert_load(m, l, stack, costs));
    const double copy = l.tokens() * kept_activations(layer_activations(m, l, memory), at, m, l, memory).kept / host_rate(costs.system());
    return {share * std::max(0.0, copy - stage.forward), share * std::max(0.0, copy - stage.backward - stage.weight)};
  }
  /// Update of `owned` parameters whose states are in host memory.
  [[nodiscard]] double updated_on_host(double owned) const {
    const double copies = (stack.memory.gradient + stack.memory.gathered_weight) * owned / host_rate(costs.system());
    return std::max(copies, prior::memory::host_update * owned / host_memory_rate(costs.system()));
  }

  /// Ranks that hold the same parameters: all of them, those that share the states, and those with the same
  /// share (one: no HSDP).
  struct Replicas {
    Placement all, shard, across;
  };
  /// \param stride GPUs from one replica to the next \param shared number of them that share states; all if
  /// nothing is sharded
  [[nodiscard]] Replicas replicas(int count, int stride, int shared) const {
    if (l.zero == 0 || shared >= count) return {place(count, stride, domain()), place(count, stride, domain()), {}};
    return {place(count, stride, domain()), place(shared, stride, domain()), place(count / shared, stride * shared, domain())};
  }
  [[nodiscard]] Replicas data_replicas() const { return replicas(l.dp * l.cp, l.tp, shard_ranks(l)); }
  /// For routed experts: with e expert ranks of t_e tensor ranks each, every e t_e-th rank holds the same.
  [[nodiscard]] Replicas expert_replicas() const {
    const int held = l.ep * l.expert_tp;
    const long long copies = static_cast<long long>(l.tp) * l.cp * l.dp / held;
    return replicas(static_cast<int>(copies), held, static_cast<int>(expert_shard_ranks(l)));
  }

  /// Gradients and weights of shared parameters and of experts; one after the other, since they cross the same links.
  [[nodiscard]] DataExchanges data_exchanges(const RankParameters& local, const RankParameters& trained) const {
    DataExchanges out;
    const bool sharded = l.zero == 3;
    const double early = sharded || (l.zero == 2 && l.pp == 1) ? 1 : 0;  // gradients are not kept between microbatches
    const double weight_bytes = stack.memory.fp8_parameters && l.precision == Precision::fp8 ? 1 : 2;
    const auto of = [&](StepGroup group, const Replicas& at, double weights, double gradients) {
      const auto add = [&](Collective collective, Placement on, double bytes, double each, double last) {
        if (bytes > 0 && on.ranks() > 1) out.add({group, collective, on, bytes, costs.seconds(collective, on, bytes), each, last});
      };
      const double bytes = stack.gradient_bytes * gradients;
      if (l.zero == 0) return add(Collective::all_reduce, at.all, bytes, 0, 1);
      add(Collective::reduce_scatter, at.shard, bytes, early, 1);
      add(Collective::all_gather, at.shard, weight_bytes * weights, sharded ? 2 : 0, sharded ? 2 : 1);
      add(Collective::all_reduce, at.across, bytes / at.shard.ranks(), 0, 1);  // among the ranks with the same share
    };
    const RankParameters& held = sharded ? local : trained;
    of(StepGroup::data, data_replicas(), held.shared(), trained.shared());
    of(StepGroup::expert_data, expert_replicas(), held.experts, trained.experts);
    return out;
  }

  /// The last stage's additional work: the output matrix; per prediction module a layer, the product before it and the output matrix.
  [[nodiscard]] double ends() const {
    const double module = layers.join + layers.mixing.sum() + (m.mixture() ? layers.mixed : layers.dense).sum() + layers.head;
    return layers.head + m.predict_layers * module;
  }
  /// Share of a stage's passes without another microbatch's in the other direction, behind which tokens could be exchanged: the first
  /// stage's forwards before its first backward, as many backwards after its last forward (Megatron-LM's interleaved 1F1B: 2 (p - 1) +
  /// (v - 1) p of v m; 1F1B: p - 1 of m).
  [[nodiscard]] double share_alone() const {
    const bool interleaved = schedule_of(l) == PipelineSchedule::interleaved;
    const double chunks = interleaved ? l.vp : 1;
    const double fill = interleaved ? 2 * (l.pp - 1) + (chunks - 1) * l.pp : std::max(1, l.pp - 1);
    return std::min(1.0, fill / (chunks * l.microbatches()));
  }
  [[nodiscard]] bool hands_over_across() const { return stages_cross_domains(l, costs.system().domain); }
  /// Activations that a microbatch hands to the next stage.
  [[nodiscard]] double handed_over() const { return 2 * l.tokens() * m.hidden / (l.sequence_parallel ? l.tp : 1); }

  /// The fullest stage, the one that all others wait for, and the times of the pipeline around it.
  struct Stages {
    StageContent fullest;
    LayerTime stage;
    RankParameters local, trained;
    double out_of_gpu = 0, into_gpu = 0;  ///< copies of a microbatch's activations
    double accumulate = 0, body = 0, ends = 0;
    double alone = 0;  ///< exchange of a microbatch's tokens that no other one hides, as a mean over all
    StageTimes times;
    int chunks = 1;
  };
  /// The stage that has the end of the model: the last one, or in a V the first.
  template <class Contents>
  [[nodiscard]] StageContent last_of(const Contents& stages) const {
    return folds_in_v(l.schedule) ? stages.front() : stages.back();
  }
  [[nodiscard]] Stages stages() const {
    Stages out;
    out.fullest = long_ones.front();
    out.stage = content(out.fullest);
    out.local = parameters(out.fullest);
    StageContent last = out.fullest;
    if (l.pp > 1) {
      last = last_of(long_ones);
      for (const StageContent& other : std::span{long_ones}.subspan(1)) {
        const LayerTime t = content(other);
        if (t.sum() > out.stage.sum()) out.stage = t, out.fullest = other;
        if (const RankParameters p = parameters(other); p.shared() + p.experts > out.local.shared() + out.local.experts) out.local = p;
      }
    }
    out.trained = trained_parameters(out.local, m, l, out.fullest);
    out.alone = share_alone() * out.stage.expert_hidden;
    out.stage.forward += out.alone / 2;
    out.stage.backward += out.alone / 2;
    out.stage.expert += out.alone;
    std::tie(out.out_of_gpu, out.into_gpu) = offloaded(out.fullest, out.stage);
    out.stage.forward += out.out_of_gpu;
    out.stage.backward += out.into_gpu;
    out.accumulate = stack.accumulation_bytes * (out.trained.shared() + out.trained.experts) / gpu.memory_rate;
    out.body = out.stage.sum() + out.accumulate;
    out.ends = ends();
    const LayerTime of_last = content(last);
    const auto [last_out, last_in] = offloaded(last, of_last);  // every stage copies its own layers
    const double tail = of_last.sum() + last_out + last_in + out.alone + out.accumulate + out.ends;
    out.times = {.forward = out.stage.forward, .backward = out.stage.backward, .weight = out.stage.weight + out.accumulate};
    out.times.last_extra = l.pp > 1 ? std::max(0.0, tail - out.body) : out.ends;
    if (l.pp > 1) out.times.exchange = costs.send(hands_over_across(), handed_over());
    out.chunks = schedule_of(l) == PipelineSchedule::interleaved ? l.vp : 1;
    return out;
  }

  /// The whole step: the fullest stage, its pipeline, the exchange of data, the optimizer.
  [[nodiscard]] StepTime run() const {
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
      out.bubble = std::max(0.0, waiting);
      out.pipeline = std::max(0.0, std::max(0.0, with) - out.bubble);
    }
    exchange_data(out, at.local, at.trained, at.body + (l.pp == 1 ? at.ends : 0), micro);
    const bool owned_in_part = l.zero > 0;
    const double owned = owned_in_part ? at.trained.shared() / shard_ranks(l) : at.trained.shared();
    const double owned_experts = owned_in_part ? at.trained.experts / expert_shard_ranks(l) : at.trained.experts;
    const double away = l.offload_optimizer * (owned + owned_experts);
    const double update =
        gpu.constants.optimizer_bytes * stack.update_share * (owned + owned_experts - away) / (max_before(stack, gpu) * gpu.memory_rate);
    const double on_host = away > 0 ? updated_on_host(away) : 0;
    out.accumulation = micro * at.accumulate;
    out.optimizer = update;
    out.offload = micro * (at.out_of_gpu + at.into_gpu) + on_host;
    out.seconds = work + out.bubble + out.pipeline + out.data + update + on_host;
    out.stragglers = waiting_for_slowest(gpu, domains_taken(l, costs.system().domain)) * out.seconds;
    out.seconds += out.stragglers;
    out.stack = (stack.scale - 1) * out.seconds;
    out.seconds += out.stack;
    return out;
  }

  void exchange_data(StepTime& out, const RankParameters& local, const RankParameters& trained, double work, double micro) const {
    double each = 0, last = 0;
    for (const DataExchange& x : data_exchanges(local, trained)) each += x.each * x.seconds, last += x.last * x.seconds;
    // a stage's gradients are complete in the drain of its pipeline, where little work is left to hide them
    const double hidden = l.pp > 1 ? 0 : 1 - stack.data_exposed;
    const auto exposed = [&](double exchange) {
      if (l.zero < 3) return exchange - hidden * exchange + std::max(0.0, hidden * exchange - work);
      const double open = stack.shard_exposed * exchange;
      return open + p_norm(work, exchange - open, 4) - work;
    };
    out.data = (micro - 1) * exposed(each) + exposed(last);
  }
};

}  // namespace detail

/// Time of one step with given layers and stages, long_stages(model, layout). The layout must be possible (check it first).
[[nodiscard]] inline StepTime step_time(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu,
                                        GroupCosts& costs, const LayerTimes& layers, const LongStages& stages) {
  return detail::StepModel{model, layout, stack, gpu, costs, layers, stages}.run();
}

/// Time of one step. The layout must be possible on the machine and for the model. \throws RequestError when the machine cannot join the
/// ranks of a group
[[nodiscard]] inline StepTime step_time(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu,
                                        GroupCosts& costs) {
  return step_time(model, layout, stack, gpu, costs, layer_times(model, layout, stack, gpu, costs), long_stages(model, layout));
}

}  // namespace fabricost
