#pragma once
/// \file figures.hpp
/// The figures of a training step: tokens, FLOP/s, MFU, GPU-hours, with the interval.
///
///   tokens/s per GPU   B s / (t n)                       B sequences of s tokens a step of t seconds on n GPUs, those that a layout
///                                                        leaves idle included: they are paid for
///   FLOP/s per GPU     work / (t n)                      all matrix products, forward and backward, with all scores or
///                                                        only those that a causal mask leaves (step_work.hpp)
///   MFU                that over the GPU's peak in the precision of the products
///   GPU-hours          n t / 3600 x 10^12 / (B s)        per trillion tokens

#include <fabricost/plan/training/parts.hpp>
#include <fabricost/plan/training/question.hpp>
#include <fabricost/plan/training/step_work.hpp>

#include <utility>

namespace fabricost::plan {

/// Of a step of so many seconds.
struct TrainingRates {
  double tokens_per_gpu = 0;        ///< tokens per second and GPU
  double flops_per_gpu = 0;         ///< FLOP/s, all scores counted
  double causal_flops_per_gpu = 0;  ///< the same with only the scores that a causal mask leaves
  double mfu = 0, causal_mfu = 0;   ///< the same relative to the peak
  double gpu_hours_per_trillion = 0;
};
/// Of a layout's step.
struct TrainingFigures : TrainingRates {
  double low = 0, high = 0;  ///< s, the 5-95 % interval of the step
};

/// FLOPs of the requested step, or of a step of `batch` sequences.
[[nodiscard]] StepWork step_work(const TrainingQuestion& q, int batch = 0);

/// Of a step of the requested batch, or of `batch` sequences; a GPU means one of those given, idle or not.
[[nodiscard]] TrainingRates rates_of(const TrainingQuestion& q, const System& system, double step_seconds, int batch = 0);
/// Of a layout of the plan: its own batch.
[[nodiscard]] TrainingRates rates_of(const TrainingQuestion& q, const System& system, const PricedLayout& priced);

/// The 5-95 % interval of a step's seconds: as wide as the stack's steps differ from the model (spread_of) and, in quadrature, as predict is
/// unsure of the exposed exchanges. Its low end is at least the time of the work at the peak, and of the exchanges' bytes at the links' rate.
/// \param gpus those that work
[[nodiscard]] std::pair<double, double> step_interval(const StepTime& time, const StepParts& parts, const Stack& stack, GroupCosts& costs,
                                                      Precision precision, const StepWork& work, double gpus);

/// Rates and interval of a layout of the plan.
[[nodiscard]] TrainingFigures figures_of(const TrainingQuestion& q, const System& system, const PricedLayout& priced);

}  // namespace fabricost::plan

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/training/figures-inl.hpp>
#endif
