#pragma once
/// \file fused_norm.hpp
/// An all-reduce followed by adding the residual and normalising, as two kernels and as one (vLLM's and TensorRT-LLM's fusion passes).
///
///   apart   t(all-reduce) + gap + 4 S / M     read sum and residual, write residual and result
///   fused   t(all-reduce) + 3 S / M           the sum is still in registers
///
/// M: what kernels reach of the memory's rate (compute constants, `memory`). Nothing here is fitted to fused kernels. The gap between two
/// kernels of a CUDA graph is 1.8 us: a 24 us kernel takes 25.8 us in a graph on B200 (dogacel.github.io, 2026-03-14, measured).

#include <fabricost/predict/predict.hpp>

namespace fabricost {

inline constexpr double gap_in_graph = 1.8e-6;

struct FusedNorm {
  double apart = 0, fused = 0;  ///< seconds
  [[nodiscard]] double saved() const { return apart - fused; }
};

/// Only an engine's own kernels fuse; beyond their hand-over to NCCL both take the time of two. \throws RequestError as predict
[[nodiscard]] inline FusedNorm fused_norm(const System& system, const Operation& all_reduce, const Choice& choice) {
  if (all_reduce.collective != Collective::all_reduce) throw RequestError("only an all_reduce is followed by a fused norm");
  const double bytes = all_reduce.bytes.value(), memory = system.gpu.hbm_bandwidth.value.value() * system.constants.compute.memory;
  if (!(memory > 0)) throw RequestError(system.name + ": its memory's rate is not known");
  const Prediction p = predict(system, all_reduce, choice);
  const double apart = p.seconds + gap_in_graph + 4 * bytes / memory;
  return {apart, p.ran.kernel == ReduceKernel::library ? apart : p.seconds + 3 * bytes / memory};
}

}  // namespace fabricost
