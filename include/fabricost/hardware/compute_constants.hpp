#pragma once
/// \file compute_constants.hpp
/// What a GPU generation reaches of its datasheet in the kernels of a transformer, and what a layer costs before any work is done.
///
/// The form they belong to is in kernels/compute.hpp; values live in data/calibrations/compute-GENERATION.yaml, fitted on published
/// training runs and GEMM timings, and in data/priors/compute.yaml.

#include <fabricost/hardware/form_constants.hpp>

namespace fabricost {

struct ComputeConstants {
  double gemm;                ///< share of the dense peak a large, aligned matrix product reaches
  double gemm_fp8;            ///< of the fp8 peak, as a share of `gemm`
  double gemm_fp4;            ///< of the fp4 peak, as a share of `gemm`
  double gemm_start;          ///< s per matrix product
  double gemm_overlap;        ///< order q of the norm that joins its arithmetic and its memory time
  double misaligned;          ///< extra time of a product with a side of the rank that is no multiple of 64
  double attention;           ///< share of the 16-bit peak of fused attention, causal half of the scores counted
  double attention_old;       ///< the same of kernels before the generation's own (Triton, FlashAttention-2 on Hopper), as a factor
  double attention_backward;  ///< time of fused attention's backward over its forward
  double scores;              ///< unfused attention: share of `gemm` its two products reach
  double score_bytes;         ///< unfused attention: bytes of memory traffic per score and forward
  double memory;              ///< share of the memory rate streaming kernels reach
  double elementwise;         ///< memory traffic of norms, activations, residuals over the least possible
  double elementwise_old;     ///< the same of stacks before fused attention, as a factor
  double row_traffic;         ///< memory traffic of an element-wise kernel alone over the least possible
  double layer_floor;         ///< s a layer's forward cannot go below: host launches, small kernels
  double floor_tensor;        ///< its growth per doubling of the tensor ranks
  double floor_old;           ///< its factor in stacks before fused attention
  double floor_mixture;       ///< its factor in layers with experts
  double floor_expert;        ///< and its growth per expert of the rank
  double floor_overlap;       ///< order q of the norm that joins a layer's work and its floor
  double logit_bytes;         ///< memory traffic per logit of a fused cross entropy
  double logit_bytes_eager;   ///< and of one that is not
  double optimizer_bytes;     ///< memory traffic per parameter a rank updates
  ComputeForm form;
};

}  // namespace fabricost
