#pragma once
/// \file step.hpp
/// Time of one training step of a layout: a stage's layers, the pipeline around them, the exchange of gradients and weights, the optimizer.
///
///   stage      layers of the fullest stage (stages.hpp), forward, input gradient, weight gradient (layer.hpp); the last one has the output
///              matrix and its loss besides, and for multi-token prediction a layer and that matrix again per module, which counts where it
///              makes that stage the slowest
///   pipeline   m microbatches and the bubble of the schedule with one hand-over of 2 T h bytes (/ t with sequence parallel): pipeline.hpp
///   data       reduce-scatter of gradients and all-gather of weights (one all-reduce without sharding) over dp x cp ranks, experts over
///              their own; what the stack hides fits behind one microbatch; without stages ZeRO-2
///              reduces gradients after every microbatch. ZeRO-3: per microbatch norm_4(work, z) - work + 0.54 z with
///              z = 2 all-gathers + reduce-scatter
///   optimizer  30 bytes per parameter a rank owns; adding up gradients per microbatch and local parameter
///
/// Form: measurements of 30 groups of published runs (docs/training-accuracy.md). T = b s / c tokens of a microbatch on a rank.

#include <fabricost/workload/in_flight.hpp>
#include <fabricost/workload/layer.hpp>
#include <fabricost/workload/pipeline.hpp>
#include <fabricost/workload/stage_parameters.hpp>

namespace fabricost {

/// Seconds of a step by what they are spent on; they sum to `seconds`.
struct StepTime {
  double seconds = 0;
  double compute = 0;  ///< kernels of layers and head, recomputation included
  double floor = 0;    ///< what launches and small kernels add to them
  double tensor = 0;   ///< exposed tensor-parallel communication
  double context = 0;
  double expert = 0;
  double pipeline = 0;   ///< exposed hand-over between stages
  double bubble = 0;     ///< stages waiting for the pipeline to fill and drain, and for the slowest of them
  double data = 0;       ///< exposed exchange of gradients and weights
  double optimizer = 0;  ///< and the adding up of gradients
  double stack = 0;      ///< what the stack's own factor adds

  [[nodiscard]] double exposed() const { return tensor + context + expert + pipeline + data; }
};

/// What of a step does not depend on how layers, microbatches and data are spread: shared by all layouts with the same tensor, context and
/// expert ranks, microbatch, sequence, recomputation and precision.
struct LayerTimes {
  LayerTime dense, mixed;
  double head = 0;
  ParameterCount parameters;
};

/// \throws RequestError when the machine cannot join the ranks of a group
[[nodiscard]] inline LayerTimes layer_times(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu,
                                            GroupCosts& costs) {
  Processor left = gpu;
  left.peak16 *= stack.compute_share;
  left.peak8 *= stack.compute_share;
  left.peak4 *= stack.compute_share;
  LayerTimes out;
  if (model.dense_layers() > 0) out.dense = layer_time(model, layout, stack, left, costs, false);
  if (model.expert_layers() > 0) out.mixed = layer_time(model, layout, stack, left, costs, true);
  out.head = head_time(model, layout, stack, left);
  out.parameters = parameters_of(model);
  return out;
}

namespace detail {

struct StepModel {
  const Model& m;
  const Layout& l;
  const Stack& stack;
  const Processor& gpu;
  GroupCosts& costs;
  const LayerTimes& layers;

  [[nodiscard]] int domain() const { return domain_for_data(l, costs.system().domain); }
  [[nodiscard]] LayerTime content(const StageContent& at) const {
    LayerTime out;
    if (at.dense_layers > 0) out.add(layers.dense, at.dense_layers);
    if (at.expert_layers > 0) out.add(layers.mixed, at.expert_layers);
    return out;
  }

  [[nodiscard]] RankParameters parameters(const StageContent& at) const {
    return rank_parameters(stage_parameters(layers.parameters, m, at), m, l, at.layers);
  }

  /// Reduce-scatter and all-gather, or one all-reduce, of `count` parameters.
  [[nodiscard]] double gradients(const Placement& at, double count) const {
    const double bytes = stack.gradient_bytes * count;
    if (l.zero == 0) return costs.seconds(Collective::all_reduce, at, bytes);
    return costs.seconds(Collective::reduce_scatter, at, bytes) + costs.seconds(Collective::all_gather, at, 2 * count);
  }

  /// `copies` of a chain of stages work at once when microbatches come from both ends; each holds both ends' parameters.
  [[nodiscard]] StepTime run() const {
    const double micro = l.microbatches();
    const int replicas = l.dp * l.cp;
    const Placement data = place(replicas, l.tp, domain());
    // the fullest stage: the first, one in the middle, or the last
    const LayerSplit split = split_layers(m, l);
    StageContent fullest = stage_content(split, m, l, 0);
    LayerTime stage = content(fullest);
    RankParameters local = parameters(fullest);
    StageContent last = fullest;
    if (l.pp > 1) {
      const StageContent middle = stage_content(split, m, l, l.pp / 2);
      last = stage_content(split, m, l, l.pp - 1);
      for (const StageContent& other : {middle, last}) {
        const LayerTime t = content(other);
        if (t.sum() > stage.sum()) stage = t, fullest = other;
        if (const RankParameters p = parameters(other); p.shared() + p.experts > local.shared() + local.experts) local = p;
      }
    }
    const double accumulate = stack.accumulation_bytes * (local.shared() + local.experts) / gpu.memory_rate;
    const double body = stage.sum() + accumulate;
    // the last stage besides: the output matrix, and for every prediction module a layer and the output matrix once more
    const double ends = layers.head + m.predict_layers * ((m.mixture() ? layers.mixed : layers.dense).sum() + layers.head);
    const double tail = content(last).sum() + accumulate + ends;

    StepTime out;
    out.compute = micro * stage.kernels;
    out.floor = micro * stage.floor;
    out.tensor = micro * stage.tensor;
    out.context = micro * stage.context;
    out.expert = micro * stage.expert;
    double work = micro * body;
    if (l.pp == 1) {
      out.compute += micro * ends;
      work += micro * ends;
    } else {
      StageTimes times{.forward = stage.forward, .backward = stage.backward, .weight = stage.weight + accumulate};
      times.last_extra = std::max(0.0, tail - body);
      const int chunks = schedule_of(l) == PipelineSchedule::interleaved ? l.vp : 1;
      const double waiting = bubble_of(schedule_of(l), l.pp, chunks, l.microbatches(), times).seconds;
      times.exchange =
          costs.send(stages_cross_domains(l, costs.system().domain), 2 * l.tokens() * m.hidden / (l.sequence_parallel ? l.tp : 1));
      const double with = bubble_of(schedule_of(l), l.pp, chunks, l.microbatches(), times).seconds;
      out.bubble = std::max(0.0, waiting);
      out.pipeline = std::max(0.0, std::max(0.0, with) - out.bubble);
    }
    exchange_data(out, data, local, body + (l.pp == 1 ? ends : 0), micro);
    const bool owned_in_part = l.zero > 0;
    const double owned = owned_in_part ? local.shared() / replicas : local.shared();
    const double expert_copies = static_cast<double>(l.tp) * replicas / (static_cast<double>(l.ep) * l.expert_tp);
    const double owned_experts = owned_in_part ? local.experts / std::max(1.0, expert_copies) : local.experts;
    const double update = gpu.constants.optimizer_bytes * (owned + owned_experts) / gpu.memory_rate;
    out.optimizer = micro * accumulate + update;
    out.seconds = work + out.bubble + out.pipeline + out.data + update;
    out.stack = (stack.scale - 1) * out.seconds;
    out.seconds += out.stack;
    return out;
  }

  void exchange_data(StepTime& out, const Placement& data, const RankParameters& local, double work, double micro) const {
    double z = 0;
    if (data.ranks() > 1 && l.zero == 3) {
      z = 2 * costs.seconds(Collective::all_gather, data, 2 * (local.shared() + local.experts)) +
          costs.seconds(Collective::reduce_scatter, data, stack.gradient_bytes * (local.shared() + local.experts));
      out.data = micro * (joined(work, z, 4) - work + stack.shard_exposed * z);
      return;
    }
    const double hidden = 1 - stack.data_exposed;
    const auto left = [&](double exchange) { return exchange - hidden * exchange + std::max(0.0, hidden * exchange - work); };
    if (data.ranks() > 1) z = gradients(data, local.shared());
    const long long copies = static_cast<long long>(l.tp) * l.cp * l.dp / (static_cast<long long>(l.ep) * l.expert_tp);
    if (local.experts > 0 && copies > 1) z += gradients(place(static_cast<int>(copies), l.ep * l.expert_tp, domain()), local.experts);
    out.data = left(z);
    if (l.zero == 2 && l.pp == 1 && data.ranks() > 1)  // gradients are not kept between microbatches
      out.data += (micro - 1) * left(costs.seconds(Collective::reduce_scatter, data, stack.gradient_bytes * local.shared()));
  }
};

}  // namespace detail

/// Time of one step from layers that are known already. The layout must be possible (check it first).
[[nodiscard]] inline StepTime step_time(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu,
                                        GroupCosts& costs, const LayerTimes& layers) {
  return detail::StepModel{model, layout, stack, gpu, costs, layers}.run();
}

/// Time of one step. The layout must be possible on the machine and for the model. \throws RequestError when the machine cannot join the
/// ranks of a group
[[nodiscard]] inline StepTime step_time(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu,
                                        GroupCosts& costs) {
  return step_time(model, layout, stack, gpu, costs, layer_times(model, layout, stack, gpu, costs));
}

}  // namespace fabricost
