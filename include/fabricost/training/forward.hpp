#pragma once
/// \file forward.hpp
/// The forward passes alone of a training step's sequences, as log-probabilities of given tokens need them: the step
/// without its exchange of data, accumulation and optimizer, times the share of the forward in its layers,
///
///   (layers F + head / 3) / (layers (F + B + W) + head)
///
/// which is the share of a pipeline's bubble, too.

#include <fabricost/training/question.hpp>

namespace fabricost {

/// Seconds. \throws as layer_times
[[nodiscard]] inline double forward_seconds(const TrainingQuestion& q, const System& system, const PricedLayout& priced) {
  GroupCosts costs{system, {.ways = q.ways}};
  const LayerTimes layers = layer_times(q.model, priced.layout, q.stack, Processor::of(system), costs);
  const LayerTime all = all_layers(q.model, layers);
  const StepTime& t = priced.time;
  const double unscaled = t.seconds - t.stack, once = t.data + t.accumulation + t.optimizer + t.offload;
  return (unscaled - once) * (t.seconds / unscaled) * (all.forward + layers.head / 3) / (all.sum() + layers.head);
}

}  // namespace fabricost
