#include <fabricost/plan/pipeline/pipeline.hpp>

namespace fabricost::plan {

PipelineCost pipeline_cost(PipelineSchedule schedule, int stages, int chunks, int microbatches, const StageTimes& times) {
  check_pipeline(schedule, stages, chunks, microbatches, times);
  const Bubble bubble = bubble_of(schedule, stages, chunks, microbatches, times);
  PipelineCost out;
  out.work = microbatches * times.work();
  out.bubble = bubble.seconds;
  out.exact = bubble.exact;
  out.hops = pipeline_hops(schedule, stages, chunks);
  out.peak_activations = peak_activations(schedule, 0, stages, chunks, microbatches);
  if (times.exchange > 0) {
    StageTimes near = times;
    near.exchange = 0;
    out.exposed_exchange = bubble.seconds - bubble_of(schedule, stages, chunks, microbatches, near).seconds;
  }
  return out;
}

}  // namespace fabricost::plan
