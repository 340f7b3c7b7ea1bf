#pragma once
/// \file forward-inl.hpp
/// Bodies of forward.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/training/forward.hpp>

namespace fabricost::plan {

FABRICOST_BODY double forward_seconds(const TrainingQuestion& q, const System& system, const PricedLayout& priced) {
  GroupCosts costs{system, {.ways = q.ways}};
  const LayerTimes layers = layer_times(q.model, priced.layout, q.stack, Processor::of(system), costs);
  const LayerTime all = all_layers(q.model, layers);
  const StepTime& t = priced.time;
  const double once = t.data + t.accumulation + t.optimizer + t.offload;
  return (t.seconds - once) * (all.forward + layers.head / 3) / (all.sum() + layers.head);
}

}  // namespace fabricost::plan
