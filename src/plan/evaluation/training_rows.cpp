/// \file training_rows.cpp
/// Prices published training steps on their machines.

#include <fabricost/hardware/slice.hpp>
#include <fabricost/plan/evaluation/workload.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/step.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <memory>
#include <tuple>

namespace fabricost::plan {

std::unique_ptr<TrainingMachine> load_training_machine(const std::string& system, const std::vector<std::string>& overrides, int gpus) {
  auto out = std::make_unique<TrainingMachine>();
  out->system = load_system(system, overrides);
  if (gpus > 0) out->system = slice_for(std::move(out->system), gpus);
  out->gpu = Processor::of(out->system);
  out->costs = std::make_unique<GroupCosts>(out->system);
  return out;
}

Processor processor_of(const TrainingRow& row, const TrainingMachine& machine) {
  Processor gpu = machine.gpu;
  if (row.memory_rate > 0) gpu.memory_rate = row.memory_rate;
  return gpu;
}

void predict_training_rows(std::vector<TrainingRow>& rows, const KernelKnowledge& other) {
  TrainingMachines machines;
  std::map<std::string, Stack> stacks;
  for (TrainingRow& job : rows) {
    if (!job.row.skipped.empty()) continue;
    try {
      TrainingMachine& machine = machines.on(job.system, job.overrides, job.gpus);
      const Gpu& part = machine.system.gpu;
      if (job.layout.precision == Precision::fp4 && !(part.fp4.value.value() > 0)) {
        job.row.skipped = fmt::format("{} has no fp4", part.name);
        continue;
      }
      const auto [at, fresh] = stacks.try_emplace(job.stack);
      Stack& stack = at->second;
      if (fresh) {
        stack = load_stack(job.stack);
        if (other.stack) other.stack(stack);
      }
      Processor gpu = processor_of(job, machine);
      if (other.constants) {
        ComputeConstants constants = gpu.constants;
        other.constants(part.generation, constants);
        gpu.use(constants);
      }
      const StepTime step = step_time(job.model, job.layout, stack, gpu, *machine.costs);
      if (!(step.seconds > 0 && std::isfinite(step.seconds))) {
        job.row.skipped = "no positive time came out";
        continue;
      }
      job.row.predicted = step.seconds;
      const StepWork work = step_work(job.model, job.layout.sequence, job.layout.global_batch, stack.capacity, job.layout.document,
                                      !job.layout.trains_all());
      const StepParts parts = parts_of_step(job.model, job.layout, stack, gpu, *machine.costs);
      std::tie(job.row.low, job.row.high) = step_interval(step, parts, stack, *machine.costs, job.layout.precision, work, job.gpus);
    } catch (const RequestError& error) {
      job.row.skipped = error.what();
    }
  }
}

}  // namespace fabricost::plan
