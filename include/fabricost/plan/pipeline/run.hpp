#pragma once
/// \file run.hpp
/// Execution of any schedule: exact where a closed form is not, and the data of a Gantt chart. Costs
/// microseconds to milliseconds (every piece of work is visited, hundreds of times if the order is searched);
/// a search over layouts uses pipeline_cost first.

#include <fabricost/plan/pipeline/fill.hpp>
#include <fabricost/plan/pipeline/orders.hpp>
#include <fabricost/plan/pipeline/search.hpp>

namespace fabricost::plan {

/// Microbatch-stages a stage may hold in schedules whose order is searched: p (zb_1p), 2p (zb_2p), the memory
/// of the pattern (v_half, v_min), p + 1 (dualpipe) and p + 1/2 (dualpipe_v); 0 for the others.
[[nodiscard]] double pipeline_room(PipelineSchedule schedule, int stages, int microbatches);

/// \throws RequestError as check_pipeline
[[nodiscard]] PipelineRun run_pipeline(PipelineSchedule schedule, int stages, int chunks, int microbatches,
                                       const StageTimes& times);

/// The orders of all stages, also of schedules whose order depends on times. \throws RequestError as
/// check_pipeline
[[nodiscard]] PipelineOrders pipeline_orders(PipelineSchedule schedule, int stages, int chunks, int microbatches,
                                             const StageTimes& times);

}  // namespace fabricost::plan
