#pragma once
/// \file step_work.hpp
/// Floating point operations of a training step and their minimum time: the basis of MFU and a bound on
/// steps.
///
///   work(scores)   B (3 F(s) - dropped), F: a sequence's forward, every matrix product and all scores or the half a causal mask leaves
///                  (flops.hpp, matmul), with prediction modules, as Megatron-Core counts them; dropped: rows of routed experts that a
///                  capacity below 1 does not compute; frozen weights: 2 F of the matrices, 3 F of the scores
///   least          work(all) / (GPUs x dense peak of the precision)
///
/// The two conventions of MFU differ only in the scores: kernels skip masked ones, so the causal count is
/// the computed one, while papers count all scores (PaLM, arXiv 2204.02311, appendix B), nearly twice as much
/// at a million tokens. No step may be faster than either count at the peak. For the causal count this is
/// physics; for all scores it would need attention at 58 % of the peak in both directions, with the scores
/// computed again in the backward (2.5 forwards), which the best published kernels just reach
/// (FlashAttention-3, arXiv 2407.08608: 75 % forward, the backward slower).

#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/plan/kernels/stack.hpp>
#include <fabricost/plan/model/flops.hpp>

#include <algorithm>
#include <utility>

namespace fabricost::plan {

/// FLOPs of one step of `batch` sequences, forward and backward, by its two conventions. Recomputation and
/// padding do not count as work of the model.
struct StepWork {
  double all_scores = 0;  ///< every score counts
  double causal = 0;      ///< those a causal mask leaves, as computed by fused kernels
  bool experts = false;   ///< the model has experts

  /// Minimum seconds on `gpus` GPUs of `peak` FLOP/s, by the larger count.
  [[nodiscard]] double min_seconds(double gpus, double peak) const { return std::max(all_scores, causal) / (gpus * peak); }
};

/// \param capacity rows kept per expert over the mean (Stack::capacity; 0: all); the rest is not computed
/// \param document tokens that attend to each other: scores of packed documents are their own; 0: the sequence
/// \param frozen no products of weight gradients; those of adapters, below a hundredth, are left out
[[nodiscard]] StepWork step_work(const Model& model, double sequence, double batch, double capacity, double document = 0,
                                 bool frozen = false);

}  // namespace fabricost::plan

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/training/step_work-inl.hpp>
#endif
