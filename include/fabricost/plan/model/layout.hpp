#pragma once
/// Distribution of a training job over GPUs: the sizes of its parallel groups and the content of each rank.
///
/// Ranks are numbered with tensor parallelism innermost, then context, data (with the experts folded into
/// tensor x context x data) and pipeline outermost, as Megatron places them: tensor ranks share a scale-up
/// domain if they fit. `placing` can put the stages before data.

#include <fabricost/hardware/kinds.hpp>
#include <fabricost/plan/pipeline/schedule.hpp>

#include <array>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// The part of a layer's forward that its backward computes again.
enum class Recompute : unsigned char { none, selective, full };
inline constexpr std::array<std::string_view, 3> recompute_names{"none", "selective", "full"};

/// Parts of a layer that selective recomputation can repeat, by the names of Megatron Core's `recompute_modules`
/// (megatron/core/transformer/transformer_config.py).
enum class RecomputeModule : unsigned char { core_attn, mlp, moe, moe_act, mla_up_proj, layernorm, shared_experts };
inline constexpr std::array<std::string_view, 7> recompute_module_names{"core_attn",   "mlp",       "moe",           "moe_act",
                                                                        "mla_up_proj", "layernorm", "shared_experts"};
/// Matrices that a low-rank adapter is added to, by the names of Megatron Bridge's `target_modules` (peft/lora.py).
enum class AdapterModule : unsigned char { linear_qkv, linear_proj, linear_fc1, linear_fc2 };
inline constexpr std::array<std::string_view, 4> adapter_module_names{"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"};

/// A set of the values of an enumeration.
template <class E>
struct SetOf {
  unsigned bits = 0;
  [[nodiscard]] constexpr bool has(E one) const { return (bits >> static_cast<unsigned>(one) & 1U) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits == 0; }
  constexpr void add(E one) { bits |= 1U << static_cast<unsigned>(one); }
  constexpr bool operator==(const SetOf&) const = default;
};

/// Low-rank adapters (LoRA, arXiv 2106.09685): W x + B A x with A of rank x inputs and B of outputs x rank. Only they
/// are trained; the model's own weights are frozen. rank 0: no adapters, the whole model is trained.
struct Adapters {
  int rank = 0;
  SetOf<AdapterModule> modules{};
  bool in_4_bit = false;  ///< the frozen layers are kept in 4 bit and brought to 16 for every product (QLoRA, arXiv 2305.14314)
  [[nodiscard]] bool on() const { return rank > 0; }
  [[nodiscard]] bool at(AdapterModule one) const { return on() && modules.has(one); }
  bool operator==(const Adapters&) const = default;
};

/// The way in which the ranks of a sequence exchange keys and values.
enum class ContextParallel : unsigned char { ring, all_gather, ulysses };

/// An uneven division of layers over pipeline stages, as Megatron Core takes it (num_layers_in_first_pipeline_stage,
/// account_for_embedding_in_pipeline_split and the like of megatron/core/transformer/transformer_config.py): either the layers of the first
/// and the last stage, the others having as many each, or embedding and output matrix counted as a layer of chunks of equal length.
struct PipelineSplit {
  int first = 0, last = 0;  ///< layers of that stage; 0: as the stages between
  bool embedding = false, loss = false;
  [[nodiscard]] constexpr bool by_stage() const { return first > 0 || last > 0; }
  [[nodiscard]] constexpr bool given() const { return by_stage() || embedding || loss; }
  constexpr bool operator==(const PipelineSplit&) const = default;
};

/// Which groups are nearest to each other outside tensor and context ranks: the data replicas of a stage, or
/// the stages of a replica.
enum class Placing : unsigned char { data_inside, stages_inside };
inline constexpr std::array<std::string_view, 2> placing_names{"data_inside", "stages_inside"};

struct Model;

struct Layout {
  int tp = 1;         ///< tensor
  int pp = 1;         ///< pipeline stages
  int vp = 1;         ///< chunks of layers per stage (virtual pipeline)
  int cp = 1;         ///< context
  int ep = 1;         ///< expert
  int expert_tp = 1;  ///< tensor ranks of one expert
  int dp = 1;         ///< data replicas of a sequence: gpus / (tp pp cp)
  int zero = 0;       ///< sharded over dp x cp: 0 nothing, 1 optimizer, 2 + gradients, 3 + weights
  int shard = 0;      ///< ranks that states are sharded over; 0: all of dp x cp (fewer: HSDP)
  int microbatch = 1;
  int global_batch = 1;  ///< sequences per step
  int sequence = 4096;   ///< tokens per sequence
  bool sequence_parallel = false;
  Recompute recompute = Recompute::none;
  int recompute_layers = 0;  ///< with full recompute: only this many layers of the model; 0: all
  std::vector<int> recompute_by_stage{};  ///< with full recompute: as many layers of each stage; empty: recompute_layers, on all alike
  ContextParallel context = ContextParallel::ring;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  Placing placing = Placing::data_inside;
  Precision precision = Precision::bf16;
  bool block_scales = false;  ///< in fp8 blocks of values have a scale each (mxfp8, 128 x 128), rather than whole tensors
  SetOf<RecomputeModule> recompute_modules{};  ///< modules that selective recomputation repeats; none: the stack's
  int offload_layers = 0;                      ///< layers of a stage whose activations wait in host memory for their backward
  double offload_optimizer = 0;                ///< share of the optimizer's states that is kept and updated in host memory
  bool cuda_graphs = false;                    ///< layers are replayed as graphs: no launches, static buffers
  int document = 0;                            ///< tokens of a document, several packed into a sequence; 0: one fills it
  Adapters adapters{};
  PipelineSplit split{};  ///< not given: split_layers divides
  /// With zero 3: weights gathered for a forward are dropped after it and gathered again for the backward (FSDP2, reshard_after_forward).
  /// Else they stay until the backward is done, with pipeline stages until the step is.
  bool reshards = true;

  bool operator==(const Layout&) const = default;

  [[nodiscard]] bool trains_all() const { return !adapters.on(); }
  /// Tokens that attend to each other: a document, or the whole sequence.
  [[nodiscard]] int attended() const { return document > 0 && document < sequence ? document : sequence; }
  [[nodiscard]] int gpus() const { return tp * pp * cp * dp; }
  /// Microbatches of one step: m = batch / (dp b).
  [[nodiscard]] int microbatches() const { return global_batch / (dp * microbatch); }
  /// Tokens of one microbatch on one rank before tensor parallelism: b s / c.
  [[nodiscard]] double tokens() const { return static_cast<double>(microbatch) * sequence / cp; }
};

/// The layout with all activations kept.
[[nodiscard]] inline Layout without_recompute(Layout layout) {
  layout.recompute = Recompute::none;
  layout.recompute_layers = 0;
  layout.recompute_by_stage.clear();
  return layout;
}

/// How the images of a microbatch pass the encoder: on the tensor ranks that divide its heads, spread over the context ranks.
/// \param model with an encoder of images
[[nodiscard]] Layout vision_layout(const Model& model, const Layout& layout);

}  // namespace fabricost::plan
