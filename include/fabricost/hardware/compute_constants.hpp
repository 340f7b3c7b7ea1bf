#pragma once
/// \file compute_constants.hpp
/// What a GPU generation reaches of its datasheet in the kernels of a transformer, and what a layer costs before any work is done.
///
/// The form they belong to is in kernels/compute.hpp; values live in data/calibrations/compute-GENERATION.yaml, fitted on published
/// training runs and GEMM timings. The defaults are the geometric mean of the fitted generations.

#include <fabricost/hardware/form_constants.hpp>

namespace fabricost {

struct ComputeConstants {
  double gemm = 0.65;              ///< share of the dense peak a large, aligned matrix product reaches
  double gemm_fp8 = 0.90;          ///< of the fp8 peak, as a share of `gemm`
  double gemm_fp4 = 0.60;          ///< of the fp4 peak, as a share of `gemm`: assumed, from published NVFP4 recipes that gain 1.2 to 1.4
                                   ///< over fp8 where the peaks differ by 2
  double gemm_start = 5e-6;        ///< s per matrix product
  double gemm_overlap = 2;         ///< order q of the norm that joins its arithmetic and its memory time
  double misaligned = 0.45;        ///< extra time of a product with a side of the rank that is no multiple of 64
  double attention = 0.45;         ///< share of the 16-bit peak of fused attention, causal half of the scores counted
  double attention_old = 0.55;     ///< the same of kernels before the generation's own (Triton, FlashAttention-2 on Hopper), as a factor
  double attention_backward = 2.5; ///< time of fused attention's backward over its forward
  double scores = 0.70;            ///< unfused attention: share of `gemm` its two products reach
  double score_bytes = 13;         ///< unfused attention: bytes of memory traffic per score and forward
  double memory = 0.84;            ///< share of the memory rate streaming kernels reach
  double elementwise = 1.3;        ///< memory traffic of norms, activations, residuals over the least possible
  double elementwise_old = 0.66;   ///< the same of stacks before fused attention, as a factor
  double row_traffic = 1.6;        ///< memory traffic of an element-wise kernel alone over the least possible
  double layer_floor = 900e-6;     ///< s a layer's forward cannot go below: host launches, small kernels
  double floor_tensor = 0.04;      ///< its growth per doubling of the tensor ranks
  double floor_old = 1.34;         ///< its factor in stacks before fused attention
  double floor_mixture = 3.6;      ///< its factor in layers with experts
  double floor_expert = 0.05;      ///< and its growth per expert of the rank
  double floor_overlap = 4;        ///< order q of the norm that joins a layer's work and its floor
  double logit_bytes = 12;         ///< memory traffic per logit of a fused cross entropy
  double logit_bytes_eager = 47;   ///< and of one that is not
  double optimizer_bytes = 30;     ///< memory traffic per parameter a rank updates
  ComputeForm form;
};

}  // namespace fabricost
