#pragma once
/// The figures of a training step: tokens, FLOP/s, MFU, GPU-hours, with the interval.
///
///   tokens/s per GPU   B s / (t n)                       B sequences of s tokens a step of t seconds on n GPUs, those that a layout
///                                                        leaves idle included: they are paid for
///   FLOP/s per GPU     work / (t n)                      all matrix products, forward and backward, with all scores or
///                                                        only those that a causal mask leaves (step_work.hpp)
///   MFU                that over the GPU's peak in the precision of the products
///   GPU-hours          n t / 3600 x 10^12 / (B s)        per trillion tokens

#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/plan/kernels/stack.hpp>
#include <fabricost/plan/model/flops.hpp>
#include <fabricost/plan/training/parts.hpp>
#include <fabricost/plan/training/question.hpp>

#include <utility>

namespace fabricost::plan {

// Floating point operations of a training step and their minimum time: the basis of MFU and a bound on
// steps.
//
//   work(scores)   B (3 F(s) - dropped), F: a sequence's forward, every matrix product and all scores or the half a causal mask leaves
//                  (flops.hpp, matmul), with prediction modules, as Megatron-Core counts them; dropped: rows of routed experts that a
//                  capacity below 1 does not compute; frozen weights: 2 F of the matrices, 3 F of the scores
//   least          work(causal) / (GPUs x dense peak of the precision)
//
// The two conventions of MFU differ only in the scores: kernels skip masked ones, so the causal count is
// the computed one, while papers count all scores (PaLM, arXiv 2204.02311, appendix B), nearly twice as much
// at a million tokens. No step is faster than the causal count at the peak. All scores are no bound: where they are
// most of the work, kernels at 58 % of the peak (2.5 forwards in the backward) reach that count, and those of GPUs
// with little arithmetic for their memory, as an H20, are above.

/// FLOPs of one step of `batch` sequences, forward and backward, by its two conventions. Recomputation and
/// padding do not count as work of the model.
struct StepWork {
  double all_scores = 0;  ///< every score counts
  double causal = 0;      ///< those a causal mask leaves, as computed by fused kernels
  bool experts = false;   ///< the model has experts
  bool other_kind = false;  ///< and is of a kind that no fit saw

  /// Minimum seconds on `gpus` GPUs of `peak` FLOP/s.
  [[nodiscard]] double min_seconds(double gpus, double peak) const { return causal / (gpus * peak); }
};

/// \param capacity rows kept per expert over the mean (Stack::capacity; 0: all); the rest is not computed
/// \param document tokens that attend to each other: scores of packed documents are their own; 0: the sequence
/// \param frozen no products of weight gradients; those of adapters, below a hundredth, are left out
[[nodiscard]] StepWork step_work(const Model& model, double sequence, double batch, double capacity, double document = 0,
                                 bool frozen = false);

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
[[nodiscard]] TrainingRates rates_of(const System& system, const TrainingQuestion& q, double step_seconds, int batch = 0);
/// Of a layout of the plan: its own batch.
[[nodiscard]] TrainingRates rates_of(const System& system, const TrainingQuestion& q, const PricedLayout& priced);

/// The 5-95 % interval of a step's seconds: as wide as the stack's steps differ from the model (spread_of) and, in quadrature, as predict is
/// unsure of the exposed exchanges. Its low end is at least the time of the work at the peak, and of the exchanges' bytes at the links' rate.
/// \param gpus those that work
[[nodiscard]] std::pair<double, double> step_interval(const StepTime& time, const StepParts& parts, const Stack& stack, GroupCosts& costs,
                                                      Precision precision, const StepWork& work, double gpus);

/// Rates and interval of a layout of the plan.
[[nodiscard]] TrainingFigures figures_of(const System& system, const TrainingQuestion& q, const PricedLayout& priced);

// The forward passes alone of a training step's sequences, as log-probabilities of given tokens need them: the step
// without its exchange of data, accumulation and optimizer, times the share of the forward in its layers,
//
//   (layers F + head / 3) / (layers (F + B + W) + head)
//
// which is the share of a pipeline's bubble, too.

/// Seconds. \throws as layer_times
[[nodiscard]] double forward_seconds(const System& system, const TrainingQuestion& q, const PricedLayout& priced);

}  // namespace fabricost::plan
