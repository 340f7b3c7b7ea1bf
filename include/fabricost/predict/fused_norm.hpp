#pragma once
/// An all-reduce followed by adding the residual and normalising, as two kernels and as one (vLLM's and TensorRT-LLM's fusion passes).
///
///   apart   t(all-reduce) + gap + rows + 4 S / M     reads sum and residual, writes residual and result
///   fused   t(all-reduce) + rows + 3 S / M           the sum is still in registers
///
/// M: memory rate that kernels reach (compute constants, `memory`); rows: a block adds a row's squares, waits, and
/// scales the row. Bytes are not fitted to fused kernels.

#include <fabricost/predict/predict.hpp>
#include <fabricost/shipped_numbers.hpp>

namespace fabricost::core {

/// Between two kernels of a CUDA graph, s.
inline constexpr double gap_in_graph = prior::stack::graph_gap;
/// A norm's pass over its rows beside their bytes, s.
inline constexpr double norm_rows = prior::stack::norm_rows;

/// The time of both variants, s, and its parts.
struct FusedNorm {
  double apart = 0, fused = 0;
  double all_reduce = 0;                      ///< alone
  double gap = gap_in_graph;                  ///< between two kernels
  double rows = norm_rows;
  double apart_memory = 0, fused_memory = 0;  ///< 4 S / M and 3 S / M
  double memory_rate = 0;                     ///< M, bytes/s
  bool fuses = false;                         ///< an engine's own kernel runs the all-reduce
  [[nodiscard]] double saved() const { return apart - fused; }
};

/// The operation after a predicted all-reduce. Only an engine's own kernels fuse; above their hand-over size
/// to NCCL both variants take the time of two kernels.
/// \throws RequestError for another operation, or if the memory rate is unknown
[[nodiscard]] inline FusedNorm fused_norm(const System& system, const Prediction& p) {
  if (p.operation.collective != Collective::all_reduce) throw RequestError("only an all_reduce is followed by a fused norm");
  FusedNorm out{.all_reduce = p.seconds, .memory_rate = system.gpu.hbm_bandwidth.value.value() * system.constants.compute.memory};
  if (!(out.memory_rate > 0)) throw RequestError(system.name + ": its memory's rate is not known");
  const double bytes = p.operation.bytes.value();
  out.apart_memory = 4 * bytes / out.memory_rate;
  out.fused_memory = 3 * bytes / out.memory_rate;
  out.fuses = p.ran.kernel != CollectiveKernel::library;
  out.apart = out.all_reduce + out.gap + out.rows + out.apart_memory;
  out.fused = out.fuses ? out.all_reduce + out.rows + out.fused_memory : out.apart;
  return out;
}
/// \throws RequestError as predict
[[nodiscard]] inline FusedNorm fused_norm(const System& system, const Operation& all_reduce, const Choice& choice) {
  return fused_norm(system, predict(system, all_reduce, choice));
}

}  // namespace fabricost::core
