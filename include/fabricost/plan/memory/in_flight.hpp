#pragma once
/// \file in_flight.hpp
/// Maximum number of microbatches whose activations a stage holds at the same time, by schedule, in units of
/// all layers of the stage (peak_activations of pipeline.hpp). Activations that wait for their weight
/// gradient count in full, an upper bound.

#include <fabricost/plan/model/layout.hpp>
#include <fabricost/plan/pipeline/pipeline.hpp>

namespace fabricost::plan {

/// The schedule that a layout runs: `none` and `1f1b` with chunks are interleaved; a single stage runs none.
[[nodiscard]] PipelineSchedule schedule_of(const Layout& layout);

[[nodiscard]] double microbatches_in_flight(const Layout& layout, int stage);

}  // namespace fabricost::plan

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/memory/in_flight-inl.hpp>
#endif
