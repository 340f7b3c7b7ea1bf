#pragma once
/// \file in_flight-inl.hpp
/// Bodies of in_flight.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/memory/in_flight.hpp>

namespace fabricost::plan {

FABRICOST_BODY PipelineSchedule schedule_of(const Layout& layout) {
  if (layout.pp == 1) return PipelineSchedule::none;
  const bool plain = layout.schedule == PipelineSchedule::none || layout.schedule == PipelineSchedule::one_f_one_b ||
                     layout.schedule == PipelineSchedule::interleaved;
  if (!plain) return layout.schedule;
  return layout.vp > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
}

FABRICOST_BODY double microbatches_in_flight(const Layout& layout, int stage) {
  if (layout.pp <= 1) return 1;
  return peak_activations(schedule_of(layout), stage, layout.pp, layout.vp, layout.microbatches());
}

}  // namespace fabricost::plan
