#pragma once
/// \file compute_constants.hpp
/// Kernel efficiencies of a GPU generation in transformer training, relative to its datasheet, and the fixed
/// costs of a layer.
///
/// The forms are in kernels/compute.hpp; values are in data/calibrations/compute-GENERATION.yaml, fitted to
/// published training runs and GEMM timings, and in data/priors/compute.yaml.

#include <fabricost/hardware/form_constants.hpp>

namespace fabricost::core {

struct ComputeConstants {
  double gemm;                ///< fraction of the dense peak that a large, aligned matrix product reaches
  double gemm_fp8;            ///< fraction of the fp8 peak, relative to `gemm`
  double gemm_fp4;            ///< fraction of the fp4 peak, relative to `gemm`
  double block_scales;        ///< factor on `gemm_fp8` where blocks of values have a scale each, rather than whole tensors
  double gemm_watts;          ///< W per 16-bit TFLOP/s of the GPU `gemm` was measured on; 0: one with another power is not told apart
  double gemm_start;          ///< s per matrix product, or other kernel of a layer
  double gemm_overlap;        ///< order q of the norm of its arithmetic and memory time
  double misaligned;          ///< extra time of a product with a side that is not a multiple of 64 on the rank
  double attention;           ///< fraction of the 16-bit peak that fused attention reaches, counting the causal half of the scores
  double attention_flash3;    ///< factor on it for FlashAttention-3
  double attention_flash2;    ///< factor on it for FlashAttention-2 and Triton's kernels on generations after Ampere
  double attention_backward;  ///< time of fused attention's backward over its forward
  double scores;              ///< unfused attention: efficiency of its two products, relative to `gemm`
  double score_bytes;         ///< unfused attention: bytes of memory traffic per score and forward
  double memory;              ///< fraction of the memory rate that streaming kernels reach
  double elementwise;         ///< memory traffic of norms, activations and residuals over its minimum
  double elementwise_old;     ///< factor on it for stacks before fused attention
  double row_traffic;         ///< memory traffic of a single element-wise kernel over its minimum
  double layer_floor;         ///< minimum s of a layer's forward: host launches, small kernels
  double floor_mixture;       ///< its factor in layers with experts
  double floor_expert;        ///< and its growth per expert of the rank
  double floor_overlap;       ///< order q of the norm of a layer's work and its floor
  double logit_bytes;         ///< memory traffic per logit of a fused cross entropy
  double logit_bytes_eager;   ///< the same for an unfused one
  double straggle;            ///< standard deviation of a node's time for a step, as a share: all wait for the slowest
  ComputeForm form;
};

}  // namespace fabricost::core

namespace fabricost {
using core::ComputeConstants;
}  // namespace fabricost
