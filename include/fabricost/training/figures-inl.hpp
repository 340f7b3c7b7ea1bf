#pragma once
/// \file figures-inl.hpp
/// Bodies of figures.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/training/figures.hpp>

namespace fabricost {

FABRICOST_BODY StepWork step_work(const TrainingQuestion& q, int batch) {
  return step_work(q.model, q.sequence, batch > 0 ? batch : q.global_batch, q.stack.capacity, q.document.value_or(0), q.adapters.on());
}

}  // namespace fabricost

namespace fabricost::detail {

FABRICOST_BODY TrainingFigures figures_of(const TrainingQuestion& q, const System& system, double step_seconds, int batch, int working) {
  const double tokens = static_cast<double>(batch) * q.sequence, gpus = q.gpus, s = step_seconds;
  const double peak = Processor::of(system).peak(q.precision);
  const StepWork work = step_work(q, batch);
  TrainingFigures out;
  out.tokens_per_gpu = tokens / (s * gpus);
  out.flops_per_gpu = std::min(peak, work.all_scores / (s * gpus));
  out.causal_flops_per_gpu = std::min(peak, work.causal / (s * gpus));
  out.mfu = out.flops_per_gpu / peak;
  out.causal_mfu = out.causal_flops_per_gpu / peak;
  out.gpu_hours_per_trillion = gpus * s / 3600 * 1e12 / tokens;
  std::tie(out.low, out.high) = step_interval(s, q.stack, system, q.precision, work, working, peak);
  return out;
}

}  // namespace fabricost::detail

namespace fabricost {

FABRICOST_BODY TrainingFigures figures_of(const TrainingQuestion& q, const System& system, double step_seconds) {
  return detail::figures_of(q, system, step_seconds, q.global_batch, q.gpus);
}

FABRICOST_BODY TrainingFigures figures_of(const TrainingQuestion& q, const System& system, const PricedLayout& priced) {
  return detail::figures_of(q, system, priced.time.seconds, priced.layout.global_batch, priced.layout.gpus());
}

}  // namespace fabricost
