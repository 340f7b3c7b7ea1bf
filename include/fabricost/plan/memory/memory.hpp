#pragma once
/// Memory of one GPU in training, by item and pipeline stage, and whether it fits.
///
/// States of N parameters per rank over S shards (Rajbhandari 2020): weights w N, gradients g N, optimizer o
/// N (states.hpp). The layout's `zero` divides the optimizer (1), also gradients (2, without pipeline
/// stages), also weights (3) by S = dp cp, or by `shard` of them (HSDP). Routed experts are divided over
/// their own data group, S t / (e t_e) ranks. Activations are those of activations.hpp times the microbatches
/// in flight (in_flight.hpp). The peak is the sum of the items, of those that are alive together: with one microbatch and no stages, where
/// gradients arise in the backward and are dropped after the update (MemoryStack::frees_gradients), the largest of
///
///     loss        all activations and the logits
///     backward    all activations, the layer that is recomputed, the gradient of the output matrix
///     update      all gradients, the layer that is recomputed
///
/// and the items are those of that moment. Elsewhere full recompute is overestimated by up to one layer: it is counted together with the
/// logits, which are already freed by then. A prediction module
/// (multi-token prediction) has the states and activations of its layer and logits of its own on the last stage. Where a
/// compiler plans the memory (MemoryStack::planned) only the larger of the two counts, with the weights it gathers. A second, frozen model
/// (a reference, a teacher) has its weights in 16 bit, sharded by zero 3 alone, and its logits in 16 bit beside the others; adapters leave
/// the reference's weights as they are, so that one copy serves both.

#include <fabricost/plan/memory/activations.hpp>
#include <fabricost/plan/memory/states.hpp>
#include <fabricost/plan/model/layout.hpp>
#include <fabricost/plan/model/stage_parameters.hpp>
#include <fabricost/plan/model/stages.hpp>
#include <fabricost/plan/pipeline/pipeline.hpp>

#include <limits>
#include <span>

namespace fabricost::plan {

// Maximum number of microbatches whose activations a stage holds at the same time, by schedule, in units of
// all layers of the stage (peak_activations of pipeline.hpp). Activations that wait for their weight
// gradient count in full, an upper bound.

/// The schedule that a layout runs: `none` and `1f1b` with chunks are interleaved; a single stage runs none.
[[nodiscard]] PipelineSchedule schedule_of(const Layout& layout);

[[nodiscard]] double microbatches_in_flight(const Layout& layout, int stage);

/// Bytes on one GPU of one stage.
struct MemoryUse {
  double weights = 0;  ///< including low-precision copies
  double frozen = 0;   ///< weights of a second, frozen model
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;  ///< of the layers, all microbatches in flight
  double recompute = 0;    ///< the one layer that the backward recomputes
  double vocabulary = 0;   ///< activations of embedding and head: masks, inputs, logits
  double buffers = 0;      ///< gathered layers, gradient buckets, pipe buffers, a matrix's gradient before accumulation
  double runtime = 0;      ///< CUDA context and libraries, further allocations of the stack
  double communicators = 0;  ///< buffers of the groups that have more than one rank
  double fragmentation = 0;
  double host = 0;  ///< of its share of the host's memory: states and activations that wait there; in no sum

  int stage = 0;
  double in_flight = 1;  ///< microbatches

  [[nodiscard]] double states() const { return weights + gradients + optimizer; }
  /// Bytes that the framework's allocator hands out.
  [[nodiscard]] double allocated() const { return states() + frozen + activations + recompute + vocabulary + buffers; }
  [[nodiscard]] double total() const { return allocated() + runtime + communicators + fragmentation; }
};

/// Communicators of a rank: one of each kind of group with more than one rank. Replicas of experts have their own.
[[nodiscard]] int communicators_of(const Layout& layout);
/// CUDA context and libraries, communicators, further allocations of the stack; bytes.
[[nodiscard]] double runtime_memory(const Layout& layout, const MemoryStack& stack);

/// Memory of a stage with activations of `in_flight` microbatches. The layout must be possible for the model;
/// this is not checked. \param count parameters_of(model) \param layer layer_activations(model, layout, stack)
[[nodiscard]] MemoryUse memory_of(const Model& model, const ParameterCount& count, const LayerActivations& layer,
                                  const Layout& layout, const MemoryStack& stack, const HeavyStage& at, double in_flight);

/// Memory of stage `stage` (from 0) with activations of `in_flight` microbatches, for a schedule that is not
/// in in_flight.hpp.
[[nodiscard]] MemoryUse memory_of(const Model& model, const Layout& layout, const MemoryStack& stack, int stage, double in_flight);
/// The same with the number of microbatches that the layout's schedule keeps in flight on that stage.
[[nodiscard]] MemoryUse memory_of(const Model& model, const Layout& layout, const MemoryStack& stack, int stage);

/// The stage with the most memory, with the host memory of the stage that needs most of it. \param count
/// parameters_of(model) \param layer layer_activations(model, layout, stack) \param stages heavy_stages(model, layout)
[[nodiscard]] MemoryUse worst_stage(const Model& model, const ParameterCount& count, const LayerActivations& layer,
                                    const Layout& layout, const MemoryStack& stack, std::span<const HeavyStage> stages);
[[nodiscard]] MemoryUse worst_stage(const Model& model, const Layout& layout, const MemoryStack& stack);

/// Bytes that `use` needs beyond `capacity` on the GPU, or beyond `host` beside it; at most 0: it fits.
[[nodiscard]] double lacking(const MemoryUse& use, double capacity, double host = std::numeric_limits<double>::infinity());

/// Whether `use` fits a GPU of `capacity` bytes with the fraction `margin` (0 to 1) free, and `host` bytes beside it.
[[nodiscard]] bool fits(const MemoryUse& use, double capacity, double margin = 0,
                        double host = std::numeric_limits<double>::infinity());

// A lower bound on the memory of all layouts with the same ranks, from their states alone, before schedule,
// chunks, microbatch and recomputation are known.
//
// With N the parameters of a tensor, expert and pipeline rank if stages were equal (sum over stages / p):
//
//     bound = (1 + fragmentation) (weights + gradients + optimizer of N, states.hpp) + CUDA context + communicators
//
// It holds for every assignment of stages: a stage's states are linear in its parameters, so the mean over
// stages is the value of the mean stage, the worst stage is at least the mean, and everything else that a
// layout keeps (activations, buffers, the second copy of DualPipe, a tied table's copy) only adds. The bound
// falls as t, e, p, S and `zero` grow, except for a group's communicator, which exists from two ranks on.

/// Bytes; at most worst_stage's result, up to rounding (1e-12 of it). Uses tp, pp, cp, ep, expert_tp, dp,
/// zero, shard and precision of the layout. \param count parameters_of(model)
[[nodiscard]] double min_memory(const Model& model, const ParameterCount& count, const Layout& layout, const MemoryStack& stack);

}  // namespace fabricost::plan
