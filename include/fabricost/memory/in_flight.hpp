#pragma once
/// \file in_flight.hpp
/// Microbatches whose activations a stage holds at once, by schedule: the most at any time, in units of all the stage's layers
/// (peak_activations of pipeline.hpp). Activations waiting for their weight gradient count in full, which is the upper end.

#include <fabricost/model/layout.hpp>
#include <fabricost/pipeline/pipeline.hpp>

namespace fabricost {

/// The schedule a layout runs: `none` and `1f1b` with several chunks are interleaved, one stage runs none.
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
