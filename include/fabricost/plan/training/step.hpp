#pragma once
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
///   accumulation  adding a microbatch's gradients to the previous ones: memory traffic per microbatch after the first and local parameter
///   optimizer  the update of the rank's parameters, once per step (kernels/compute.hpp); its kernel's rate is measured by itself, so
///              that the stack's factor is not on it
///   offload    copies of activations to host memory behind the forward of their layer and back behind its backward, what
///              they take longer; the optimizer's share in host memory: gradients out and weights back, or its memory traffic
///              there if that takes longer (ZeRO-Offload, arXiv 2101.06840)
///   frozen     forward passes of a second, frozen model on the same ranks (a reference, a teacher): its fullest stage once a microbatch
///              and once more for each other stage that fills, with the gathers of its weights where they are sharded
///   input, evaluation  seconds a step and share of a step that the user states
///   stragglers all ranks wait for the slowest of n nodes: straggle x (2 ln n)^(1/2) of it, the expected largest of n normal deviations
///
/// The stack's factor is in the time of kernels and of the host's launches, whose form is that of other software; exchanges cost what predict
/// says of them. Together they take at least their bytes over the links' one-way rate, inside domains and across them.
///
/// Only trained parameters are accumulated, exchanged and updated; frozen ones are gathered where they are sharded.
///
/// Form: fitted to 30 groups of published runs (docs/training-accuracy.md). T = b s / c tokens of a
/// microbatch on a rank.

#include <fabricost/hardware/host_rate.hpp>
#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/plan/memory/activations.hpp>
#include <fabricost/plan/memory/memory.hpp>
#include <fabricost/plan/model/stage_parameters.hpp>
#include <fabricost/plan/pipeline/pipeline.hpp>
#include <fabricost/plan/training/idle_gpus.hpp>
#include <fabricost/plan/training/layer.hpp>

#include <memory>

namespace fabricost::plan {

/// Seconds of a step by cause; they sum to `seconds`.
struct StepTime {
  double seconds = 0;
  double least = 0;    ///< no term: seconds that the bytes of all exchanges, hidden or not, need at the links' full rate
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
  double tables = 0;        ///< of a recommendation model: lookups of rows and their update
  double rows = 0;          ///< exchange of what was looked up, and of its gradients
  double offload = 0;       ///< copies to and from host memory that nothing hides, and the update of states there
  double frozen = 0;        ///< forward passes of a second, frozen model
  double input = 0;         ///< waiting for data
  double evaluation = 0;    ///< passes over data held out, as a mean over all steps

  /// Communication that nothing hides.
  [[nodiscard]] double exposed() const { return tensor + context + expert + pipeline + data + rows; }
};

/// The part of a step that does not depend on the spread of layers, microbatches and data: shared by all
/// layouts with the same tensor, context and expert ranks, microbatch, sequence, recomputation and precision.
struct LayerTimes {
  LayerTime dense, mixed;  ///< with a dense feed-forward block, with experts; of single blocks that block alone
  LayerTime mixing;        ///< of single blocks, those that mix tokens
  LayerTime vision;        ///< of the encoder of images, all its layers
  double head = 0;
  double join = 0;  ///< product of a prediction module with the next token's embedding
  ParameterCount parameters;
  std::shared_ptr<const LayerTimes> second{};  ///< of the second, frozen model
  std::shared_ptr<const LayerTimes> kept{};    ///< layers that are not recomputed, where the layout says by stage how many are
};

/// The output matrix with its loss, forward and backward, vocabulary padded to 128 t; always in 16 bit.
[[nodiscard]] double head_time(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu);

/// The GPU as a stack drives it: the processors that its exchanges leave to products; kernels and launches by the stack's factor longer, but
/// none faster than the peak and the memory allow, unless the factor is a user's.
[[nodiscard]] Processor driven_by(const Stack& stack, const Layout& layout, Processor gpu);

/// \throws RequestError when the machine cannot join the ranks of a group
[[nodiscard]] LayerTimes layer_times(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu,
                                     GroupCosts& costs);

/// All layers of the model.
[[nodiscard]] LayerTime all_layers(const Model& model, const LayerTimes& layers);

/// The layers of one stage.
[[nodiscard]] LayerTime stage_time(const Model& model, const LayerTimes& layers, const StageContent& at);

/// The last stage's additional work: the output matrix; per prediction module a layer, the product before it and the output matrix.
[[nodiscard]] double end_time(const Model& model, const LayerTimes& layers);

/// A microbatch on the longest of the stages, with the encoder of images and the output matrix where they are.
[[nodiscard]] double longest_stage(const Model& model, const LayerTimes& layers, const LongStages& stages);

/// The time that the slowest of a job's nodes (scale-up domains) takes beyond their mean, as a share of a step.
[[nodiscard]] double waiting_for_slowest(const Processor& gpu, double nodes);

struct StepModel {
  const Model& m;
  const Layout& l;
  const Stack& stack;
  const Processor& gpu;   ///< as the stack drives it
  const Processor& bare;  ///< without the stack: for kernels whose own rate is known
  GroupCosts& costs;
  const LayerTimes& layers;
  LongStages long_ones;

  [[nodiscard]] int domain() const { return domain_for_data(l, costs.system().domain); }
  [[nodiscard]] LayerTime content(const StageContent& at) const {
    LayerTime out = stage_time(m, layers, at);
    if (at.embedding) out.add(layers.vision, 1);
    return out;
  }

  [[nodiscard]] RankParameters parameters(const StageContent& at) const {
    return rank_parameters(stage_parameters(layers.parameters, m, at), m, l, with_predictions(at, m).layers);
  }

  /// Copies of a microbatch's activations that its layers do not hide, forward and backward.
  [[nodiscard]] std::pair<double, double> offloaded(const StageContent& at, const LayerTime& stage) const;
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
  [[nodiscard]] Replicas expert_replicas() const;

  /// Gradients and weights of shared parameters and of experts; one after the other, since they cross the same links.
  [[nodiscard]] DataExchanges data_exchanges(const RankParameters& local, const RankParameters& trained) const;

  [[nodiscard]] double ends() const { return end_time(m, layers); }
  /// Share of a stage's passes without another microbatch's in the other direction, behind which tokens could be exchanged: the first
  /// stage's forwards before its first backward, as many backwards after its last forward (Megatron-LM's interleaved 1F1B: 2 (p - 1) +
  /// (v - 1) p of v m; 1F1B: p - 1 of m).
  [[nodiscard]] double share_alone() const;
  [[nodiscard]] bool hands_over_across() const { return stages_cross_domains(l, costs.system().domain); }
  /// Activations that a microbatch hands to the next stage.
  [[nodiscard]] double handed_over() const { return 2 * l.tokens() * m.hidden / (l.sequence_parallel ? l.tp : 1); }

  /// The fullest stage, the one that all others wait for, and the times of the pipeline around it.
  struct Stages {
    StageContent fullest;
    LayerTime stage;
    RankParameters local, trained;
    double owned = 0;                     ///< parameters that a rank updates, of the stage that updates most
    double out_of_gpu = 0, into_gpu = 0;  ///< copies of a microbatch's activations
    double accumulate = 0, body = 0, ends = 0;
    double slack = 0;  ///< by which a microbatch on all other stages is shorter than on as many of the fullest
    double alone = 0;  ///< exchange of a microbatch's tokens that no other one hides, as a mean over all
    StageTimes times;
    int chunks = 1;
  };
  /// The stage that has the end of the model: the last one, or in a V the first.
  template <class Contents>
  [[nodiscard]] StageContent last_of(const Contents& stages) const {
    return folds_in_v(l.schedule) ? stages.front() : stages.back();
  }
  [[nodiscard]] Stages stages() const;
  /// Parameters that a rank updates of those that it trains.
  [[nodiscard]] double owned(const RankParameters& trained) const;

  /// The forward passes of the second, frozen model.
  [[nodiscard]] double frozen_seconds(double micro) const;
  /// What no work of that long hides of gathering sharded weights.
  [[nodiscard]] double exposed_gather(double exchange, double work) const {
    const double open = stack.shard_exposed * exchange;
    return open + p_norm(work, exchange - open, 4) - work;
  }

  /// The whole step: the fullest stage, its pipeline, the exchange of data, the optimizer.
  [[nodiscard]] StepTime run() const;

  void exchange_data(StepTime& out, LinkTime& links, const RankParameters& local, const RankParameters& trained, double work, double micro) const;
};

/// Time of one step with given layers and stages, long_stages(model, layout). The layout must be possible (check it first).
[[nodiscard]] StepTime step_time(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu,
                                 GroupCosts& costs, const LayerTimes& layers, const LongStages& stages);

/// Time of one step. The layout must be possible on the machine and for the model. \throws RequestError when the machine cannot join the
/// ranks of a group
[[nodiscard]] StepTime step_time(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu,
                                 GroupCosts& costs);

}  // namespace fabricost::plan
