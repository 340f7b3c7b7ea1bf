#pragma once
/// \file in_flight.hpp
/// Maximum number of microbatches whose activations a stage holds at the same time, by schedule, in units of
/// all layers of the stage (peak_activations of pipeline.hpp). Activations that wait for their weight
/// gradient count in full, an upper bound.

#include <fabricost/model/layout.hpp>
#include <fabricost/pipeline/pipeline.hpp>

namespace fabricost {

/// The schedule that a layout runs: `none` and `1f1b` with chunks are interleaved; a single stage runs none.
[[nodiscard]] inline PipelineSchedule schedule_of(const Layout& layout) {
  if (layout.pp == 1) return PipelineSchedule::none;
  const bool plain = layout.schedule == PipelineSchedule::none || layout.schedule == PipelineSchedule::one_f_one_b ||
                     layout.schedule == PipelineSchedule::interleaved;
  if (!plain) return layout.schedule;
  return layout.vp > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
}

[[nodiscard]] inline double microbatches_in_flight(const Layout& layout, int stage) {
  if (layout.pp <= 1) return 1;
  return peak_activations(schedule_of(layout), stage, layout.pp, layout.vp, layout.microbatches());
}

}  // namespace fabricost
