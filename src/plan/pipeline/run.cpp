#include "pipeline/orders.hpp"

namespace fabricost::plan {

double pipeline_room(PipelineSchedule schedule, int stages, int microbatches) {
  switch (schedule) {
    case PipelineSchedule::zb_1p: return stages;
    case PipelineSchedule::zb_2p: return 2.0 * stages;
    case PipelineSchedule::v_half:
    case PipelineSchedule::v_min: return v_pattern_memory(schedule, stages, microbatches) / 2.0;
    case PipelineSchedule::dualpipe: return stages + 1;
    case PipelineSchedule::dualpipe_v: return stages + 0.5;
    default: return 0;
  }
}

PipelineRun run_pipeline(PipelineSchedule schedule, int stages, int chunks, int microbatches, const StageTimes& times) {
  check_pipeline(schedule, stages, chunks, microbatches, times);
  PipelineOrders orders;
  if (has_fixed_order(schedule)) {
    for (int i = 0; i < stages; ++i) orders.push_back(pipeline_order(schedule, i, stages, chunks, microbatches));
    return execute_pipeline(schedule, stages, chunks, microbatches, times, orders);
  }
  const double room = pipeline_room(schedule, stages, microbatches);
  std::optional<PipelineRun> run;
  if (runs_both_ways(schedule)) {
    run = best_paired_run(schedule, stages, microbatches, times, room);
  } else if (layout_of(schedule) == PipelineLayout::loop) {
    run = best_depths_run(schedule, stages, microbatches, times, room);
  } else {
    for (int i = 0; i < stages; ++i) orders.push_back(v_pattern_order(schedule, i, stages, microbatches));
    run = best_filled_run(schedule, stages, microbatches, times, orders, room);
  }
  if (!run) throw RequestError("schedule " + std::string(name(schedule)) + ": no order runs in a memory of " + std::to_string(room));
  return *std::move(run);
}

PipelineOrders pipeline_orders(PipelineSchedule schedule, int stages, int chunks, int microbatches, const StageTimes& times) {
  PipelineOrders orders;
  for (const auto& stage : run_pipeline(schedule, stages, chunks, microbatches, times).bars) {
    std::vector<Work> order;
    order.reserve(stage.size());
    for (const Bar& bar : stage) order.push_back(bar.work);
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace fabricost::plan
