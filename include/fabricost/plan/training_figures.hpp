#pragma once
/// \file training_figures.hpp
/// What a training step's time says in the units people compare: tokens, FLOP/s, MFU, GPU-hours, and how sure it is.
///
///   tokens/s per GPU   B s / (t n)                       B sequences of s tokens a step of t seconds on n GPUs
///   FLOP/s per GPU     B F(s) / (t n)                    F: every matrix product and all scores, forward and backward (flops.hpp, matmul)
///   MFU                that over the GPU's peak in the precision of the products
///   GPU-hours          n t / 3600 x 10^12 / (B s)        per trillion tokens

#include <fabricost/plan/training.hpp>
#include <fabricost/workload/flops.hpp>

#include <tuple>

namespace fabricost {

struct TrainingFigures {
  double tokens_per_gpu = 0;  ///< tokens per second and GPU
  double flops_per_gpu = 0;   ///< FLOP/s
  double mfu = 0;
  double gpu_hours_per_trillion = 0;
  double low = 0, high = 0;  ///< s, the 5-95 % interval of the step
};

[[nodiscard]] inline TrainingFigures figures_of(const TrainingQuestion& q, const System& system, double step_seconds) {
  const double tokens = static_cast<double>(q.global_batch) * q.sequence, gpus = q.gpus, s = step_seconds;
  TrainingFigures out;
  out.tokens_per_gpu = tokens / (s * gpus);
  out.flops_per_gpu = q.global_batch * training_flops(q.model, q.sequence, FlopConvention::matmul, Scores::full) / (s * gpus);
  out.mfu = out.flops_per_gpu / Processor::of(system).peak(q.precision);
  out.gpu_hours_per_trillion = gpus * s / 3600 * 1e12 / tokens;
  std::tie(out.low, out.high) = interval_of(s, q.stack, system.gpu.generation, q.precision);
  return out;
}

}  // namespace fabricost
