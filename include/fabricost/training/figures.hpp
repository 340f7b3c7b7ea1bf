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

#include <fabricost/training/question.hpp>
#include <fabricost/training/step_work.hpp>

#include <algorithm>
#include <tuple>

namespace fabricost {

struct TrainingFigures {
  double tokens_per_gpu = 0;        ///< tokens per second and GPU
  double flops_per_gpu = 0;         ///< FLOP/s, all scores counted
  double causal_flops_per_gpu = 0;  ///< the same with only the scores that a causal mask leaves
  double mfu = 0, causal_mfu = 0;   ///< the same relative to the peak
  double gpu_hours_per_trillion = 0;
  double low = 0, high = 0;  ///< s, the 5-95 % interval of the step
};

/// FLOPs of the requested step, or of a step of `batch` sequences.
[[nodiscard]] StepWork step_work(const TrainingQuestion& q, int batch = 0);

namespace detail {
/// \param working GPUs, of those that are paid for
[[nodiscard]] TrainingFigures figures_of(const TrainingQuestion& q, const System& system, double step_seconds, int batch, int working);
}  // namespace detail

/// Of a step of the requested batch on all GPUs.
[[nodiscard]] TrainingFigures figures_of(const TrainingQuestion& q, const System& system, double step_seconds);
/// Of a layout of the plan: its own batch, and a GPU means one of those given, idle or not.
[[nodiscard]] TrainingFigures figures_of(const TrainingQuestion& q, const System& system, const PricedLayout& priced);

}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/training/figures-inl.hpp>
#endif
