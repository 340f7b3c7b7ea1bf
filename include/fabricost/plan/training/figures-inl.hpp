#pragma once
/// \file figures-inl.hpp
/// Bodies of figures.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/hardware/slice.hpp>
#include <fabricost/plan/training/figures.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace fabricost::plan {

FABRICOST_BODY StepWork step_work(const TrainingQuestion& q, int batch) {
  return step_work(q.model, q.sequence, batch > 0 ? batch : q.global_batch, q.stack.capacity, q.document.value_or(0), q.adapters.on());
}

FABRICOST_BODY TrainingRates rates_of(const TrainingQuestion& q, const System& system, double step_seconds, int batch) {
  const double tokens = static_cast<double>(batch > 0 ? batch : q.global_batch) * q.sequence, gpus = q.gpus, s = step_seconds;
  const double peak = Processor::of(system).peak(q.precision);
  const StepWork work = step_work(q, batch);
  TrainingRates out;
  out.tokens_per_gpu = tokens / (s * gpus);
  out.flops_per_gpu = std::min(peak, work.all_scores / (s * gpus));
  out.causal_flops_per_gpu = std::min(peak, work.causal / (s * gpus));
  out.mfu = out.flops_per_gpu / peak;
  out.causal_mfu = out.causal_flops_per_gpu / peak;
  out.gpu_hours_per_trillion = gpus * s / 3600 * 1e12 / tokens;
  return out;
}

FABRICOST_BODY TrainingRates rates_of(const TrainingQuestion& q, const System& system, const PricedLayout& priced) {
  return rates_of(q, system, priced.time.seconds, priced.layout.global_batch);
}

FABRICOST_BODY std::pair<double, double> step_interval(const StepTime& time, const StepParts& parts, const Stack& stack, GroupCosts& costs,
                                                       Precision precision, const StepWork& work, double gpus) {
  const System& system = costs.system();
  const double least = std::max(time.least, work.min_seconds(gpus, Processor::of(system).peak(precision)));
  const double factor =
      std::exp(std::hypot(nine_in_ten * spread_on(stack, system, precision, work.experts), network_width(time, parts, costs)));
  return {std::max(time.seconds / factor, std::min(time.seconds, least)), time.seconds * factor};
}

FABRICOST_BODY TrainingFigures figures_of(const TrainingQuestion& q, const System& system, const PricedLayout& priced) {
  const int working = priced.layout.gpus();
  if (system.pod > 0) return figures_of(q, slice_for(system, working), priced);
  TrainingFigures out{rates_of(q, system, priced), {}, {}};
  GroupCosts costs(system, {.ways = q.ways});
  Stack stack = q.stack;
  stack.memory = memory_on(stack.memory, system.gpu.generation);
  const StepParts parts = parts_of_step(q.model, priced.layout, stack, Processor::of(system), costs);
  std::tie(out.low, out.high) =
      step_interval(priced.time, parts, stack, costs, q.precision, step_work(q, priced.layout.global_batch), working);
  return out;
}

}  // namespace fabricost::plan
