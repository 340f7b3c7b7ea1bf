#include <fabricost/plan/pipeline/schedule.hpp>

namespace fabricost::plan {

std::optional<PipelineSchedule> parse_pipeline_schedule(std::string_view text) {
  const std::string t = folded(text);
  if (t.empty()) return PipelineSchedule::none;
  if (t == "onefoneb" || t == "pipedreamflush") return PipelineSchedule::one_f_one_b;
  if (t == "1f1bi" || t == "interleaved1f1b" || t == "1f1binterleaved" || t == "vpp") return PipelineSchedule::interleaved;
  return parse_enum<PipelineSchedule>(text, pipeline_schedule_names);
}

void check_pipeline(PipelineSchedule schedule, int stages, int chunks, int microbatches, const StageTimes& t) {
  const auto refuse = [schedule](const std::string& why) { throw RequestError("schedule " + std::string(name(schedule)) + ": " + why); };
  if (stages < 1) refuse(std::to_string(stages) + " stages; a pipeline has at least 1");
  if (microbatches < 1) refuse(std::to_string(microbatches) + " microbatches; a step has at least 1");
  if (schedule == PipelineSchedule::none && stages > 1)
    refuse(std::to_string(stages) + " stages need a schedule, as in 1f1b; or write 1 stage");
  if (chunks < 1) refuse(std::to_string(chunks) + " chunks; a stage has at least 1");
  if (layout_of(schedule) != PipelineLayout::loop && chunks != 1 && chunks != 2)
    refuse(std::to_string(chunks) + " chunks; this schedule has 2 per stage");
  if (layout_of(schedule) == PipelineLayout::loop && !takes_chunks(schedule) && chunks != 1)
    refuse(std::to_string(chunks) + " chunks; only interleaved, gpipe and the V schedules have more than 1");
  if (schedule == PipelineSchedule::dualpipe) {
    if (stages % 2 != 0) refuse(std::to_string(stages) + " stages; it needs an even number, as in " + std::to_string(stages + 1));
    if (microbatches % 2 != 0) refuse(std::to_string(microbatches) + " microbatches; it needs an even number");
  }
  if (runs_both_ways(schedule) && microbatches < 2 * stages)
    refuse(std::to_string(microbatches) + " microbatches; it needs at least twice the stages: " + std::to_string(2 * stages));
  for (const double time : {t.forward, t.backward, t.weight, t.exchange, t.last_extra, t.overlapped})
    if (!(time >= 0) || !std::isfinite(time)) refuse("a time is " + std::to_string(time) + " s; it must be 0 or more and finite");
  if (t.overlapped > 0 && t.overlapped < std::max(t.forward, t.full_backward()))
    refuse("a forward and a backward as one take " + std::to_string(t.overlapped) +
           " s, less than the longer of them alone: " + std::to_string(std::max(t.forward, t.full_backward())) + " s");
  if (!(t.work() > 0)) refuse("forward, backward and weight take no time at all; give at least one of them");
  if (!(t.held_for_weight >= 0 && t.held_for_weight <= 1))
    refuse("the share of activations held for the weight gradient is " + std::to_string(t.held_for_weight) + "; it must be from 0 to 1");
}

}  // namespace fabricost::plan
