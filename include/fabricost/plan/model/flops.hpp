#pragma once
/// Floating point operations of a model, counted exactly and by the published conventions. A multiplication
/// and an addition count as two. Published TFLOPS and MFU use one of these conventions; they differ by up to
/// a third, so compare a figure only with its own convention.
///
/// Backward is twice forward; recomputation is not work of the model and only counted by the conventions
/// named `_recompute`.

#include <fabricost/error.hpp>
#include <fabricost/plan/model/model.hpp>

#include <array>
#include <string_view>

namespace fabricost::plan {

/// Whether attention scores count for all pairs of tokens or only for the half that a causal mask leaves.
enum class Scores : unsigned char { full, causal };
inline constexpr std::array<std::string_view, 2> scores_names{"full", "causal"};

/// The rule by which operations are counted. N: parameters one token touches, both tables included.
enum class FlopConvention : unsigned char {
  matmul,              ///< every matrix a token is multiplied with, including logits and router, and the scores of each kind of layer
  kaplan,              ///< 6 N per token, no scores (Kaplan 2020, arXiv 2001.08361)
  palm,                ///< 6 N + 12 l a d s, l attention layers (PaLM, arXiv 2204.02311, appendix B); latent: d the mean of key and value
  megatron,            ///< 72 s l h^2 (1 + s/(6h) + V/(12 l h)) per sequence (Korthikanti 2022, arXiv 2205.05198, eq. 7)
  megatron_recompute,  ///< 96 s l h^2 (1 + s/(6h) + V/(16 l h)): each layer's forward twice (Megatron-LM, arXiv 2104.04473, eq. 3)
  dgx_cloud,           ///< attention 12 l s h^2 (1 + g/a + s/h), feed-forward 6 mats l s h f, logits 6 s h V (NVIDIA/dgxc-benchmarking)
  mosaic,              ///< 3 (2 N + 4 l h s) per token (mosaicml/llm-foundry, scripts/train/benchmarking)
  mosaic_recompute     ///< the same with 4 for 3
};
inline constexpr std::array<std::string_view, 8> flop_convention_names{
    "matmul", "kaplan", "palm", "megatron", "megatron_recompute", "dgx_cloud", "mosaic", "mosaic_recompute"};

/// FLOPs of one sequence's forward pass: 2 x matrices touched per token, and the scores. \param sequence
/// tokens
/// Latent attention is counted with unfolded keys and values, as training and prefill compute it.
[[nodiscard]] double forward_flops(const Model& m, double sequence, Scores scores = Scores::causal);

/// FLOPs of the prediction modules (multi-token prediction) in one sequence's forward pass: of each a layer, the matrix that joins
/// hidden state and embedding, and the output matrix again. Megatron-Core's num_floating_point_operations counts the same
/// (megatron/training/training.py: num_layers + mtp_num_layers, eh_proj, logits times mtp_num_layers + 1), with norms, below 1e-4.
[[nodiscard]] double prediction_flops(const Model& m, double sequence, Scores scores = Scores::causal);

/// FLOPs of one more token after `context` cached ones. Latent attention is folded, as in decoding kernels:
/// scores and sums are over the latent itself, a (2 kv_rank + rope) per cached token.
[[nodiscard]] double decode_flops(const Model& m, double context);

/// FLOPs of forward and backward of one sequence by a convention. \param sequence tokens
/// \throws RequestError when the convention has no term for the model: experts in `megatron`, latent attention or mixers in `dgx_cloud`
[[nodiscard]] double training_flops(const Model& m, double sequence, FlopConvention convention, Scores scores = Scores::full);

/// The same per token.
[[nodiscard]] double training_flops_per_token(const Model& m, double sequence, FlopConvention convention,
                                              Scores scores = Scores::full);

}  // namespace fabricost::plan
