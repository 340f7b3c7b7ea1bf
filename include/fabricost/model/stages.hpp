#pragma once
/// \file stages.hpp
/// Placement of layers on pipeline stages.
///
/// The l layers are cut into n = p v chunks (v = 1 without interleaving), chunk c p + s on stage s, as
/// Megatron places them (Narayanan 2021). If n does not divide l, every chunk takes ceil(l / n) and chunks at
/// both ends one fewer, the last first, since the embedding is on the first chunk and the output matrix on
/// the last: 126 layers on 128 chunks leave those two without a layer (Llama 3, 2024, section 3.3), 22 layers
/// on 8 stages are 2, 3, ..., 3, 2 (Zero Bubble, arXiv 2401.10241). Of the free places the last chunk leaves one for the
/// output matrix and two per prediction module, its layer and its output matrix (61 layers on 16 chunks of DeepSeek-V3 are
/// 4, ..., 4, 1: NVIDIA's MLPerf Training 6.0 code). V schedules fold two chunks per stage
/// into a V: s and 2 p - 1 - s. DualPipe runs both directions: stage s keeps a second copy of the weights of
/// stage p - 1 - s (DeepSeek-V3).

#include <fabricost/model/layout.hpp>
#include <fabricost/model/model.hpp>

#include <algorithm>
#include <array>

namespace fabricost {

/// Two chunks per stage, the second on the way back: first and last layers share stage 0.
[[nodiscard]] constexpr bool folds_in_v(PipelineSchedule schedule) { return layout_of(schedule) == PipelineLayout::v; }

/// Chunks of layers per stage: 2 for schedules that fold in a V, else vp.
[[nodiscard]] inline int chunks_per_stage(const Layout& layout) { return folds_in_v(layout.schedule) && layout.pp > 1 ? 2 : layout.vp; }

/// Position of a stage's chunk in the order of the layers, 0 to pp chunks - 1.
[[nodiscard]] inline int chunk_of_stage(const Layout& layout, int stage, int chunk) {
  return folds_in_v(layout.schedule) && layout.pp > 1 && chunk == 1 ? 2 * layout.pp - 1 - stage : chunk * layout.pp + stage;
}

/// Division of layers into chunks: all have `max` layers, except the first `fewer_front` and the last
/// `fewer_back`, which have one fewer, and the last one, which lacks `last_lacks` more.
struct LayerSplit {
  int chunks = 1, max = 0, fewer_front = 0, fewer_back = 0, last_lacks = 0;

  /// First layer of a chunk; for chunk `chunks`, the number of layers.
  [[nodiscard]] int first(int chunk) const {
    return chunk * max - std::min(chunk, fewer_front) - std::max(0, chunk - (chunks - fewer_back)) - (chunk == chunks ? last_lacks : 0);
  }
  [[nodiscard]] int layers(int chunk) const {
    return max - (chunk < fewer_front || chunk >= chunks - fewer_back ? 1 : 0) - (chunk == chunks - 1 ? last_lacks : 0);
  }
};

/// Divides layers into chunks, both at least 1.
/// \param ends further content of the last chunk, in layers: the output matrix, prediction modules
[[nodiscard]] inline LayerSplit split_layers(int layers, int chunks, int ends = 1) {
  const int max = (layers + chunks - 1) / chunks;
  const int missing = max * chunks - layers, last = std::min({missing, ends, max}), rest = missing - last;
  return {chunks, max, (rest + 1) / 2, std::min(last, 1) + rest / 2, std::max(0, last - 1)};
}
[[nodiscard]] inline LayerSplit split_layers(const Model& model, const Layout& layout) {
  return split_layers(model.layers, layout.pp * chunks_per_stage(layout), 1 + 2 * model.predict_layers);
}

/// Whether each layer is a single block, mixing (attention or a state) or feed-forward (Nemotron-H).
[[nodiscard]] inline bool has_single_blocks(const Model& model) { return model.dense_layers() + model.expert_layers() < model.layers; }

/// Layers with experts among the first n: every `expert_every`-th after the dense ones; single blocks evenly.
[[nodiscard]] inline int expert_layers_before(const Model& model, int n) {
  if (model.experts == 0) return 0;
  if (has_single_blocks(model)) return static_cast<int>(static_cast<long long>(n) * model.expert_layers() / model.layers);
  return std::max(0, n - model.first_dense) / model.expert_every;
}
/// Layers with a dense feed-forward block among the first n.
[[nodiscard]] inline int dense_layers_before(const Model& model, int n) {
  if (has_single_blocks(model)) return static_cast<int>(static_cast<long long>(n) * model.dense_layers() / model.layers);
  return n - expert_layers_before(model, n);
}

/// Share of the layers that mix tokens through a state, among all that mix tokens.
[[nodiscard]] inline double state_share(const Model& model) {
  return model.hybrid() ? double(model.mixer.layers) / (model.mixer.layers + model.attention_layers()) : 0;
}

/// The layers and tables that one stage computes for every microbatch.
struct StageContent {
  int layers = 0;                                              ///< of all its chunks
  int mixing_layers = 0, dense_layers = 0, expert_layers = 0;  ///< with attention or a state mixer, and by kind of feed-forward
  bool embedding = false, head = false;
  bool beside_embedding = false;  ///< its GPUs have the embedding for another stage (DualPipe)
  int predictions = 0;            ///< multi-token prediction modules, beside the output matrix; a layer of each in no count above
};

/// The stage with the layer of each of its prediction modules: the last kind of the model's.
[[nodiscard]] inline StageContent with_predictions(StageContent stage, const Model& model) {
  stage.layers += stage.predictions * (has_single_blocks(model) ? 2 : 1);
  stage.mixing_layers += stage.predictions;
  (model.mixture() ? stage.expert_layers : stage.dense_layers) += stage.predictions;
  return stage;
}

/// Contents of a stage, from 0; linear in its chunks.
[[nodiscard]] inline StageContent stage_content(const LayerSplit& split, const Model& model, const Layout& layout, int stage) {
  StageContent out;
  const int chunks = chunks_per_stage(layout);
  const bool single = has_single_blocks(model);
  for (int c = 0; c < chunks; ++c) {
    const int at = chunk_of_stage(layout, stage, c);
    const int first = split.first(at), count = split.layers(at);
    out.layers += count;
    if (model.experts > 0) out.expert_layers += expert_layers_before(model, first + count) - expert_layers_before(model, first);
    if (single) out.dense_layers += dense_layers_before(model, first + count) - dense_layers_before(model, first);
    out.embedding = out.embedding || at == 0;
    out.head = out.head || at == split.chunks - 1;
  }
  out.predictions = out.head ? model.predict_layers : 0;
  out.beside_embedding = layout.schedule == PipelineSchedule::dualpipe && stage == layout.pp - 1;  // that of stage 0 in the other direction
  if (!single) out.dense_layers = out.layers - out.expert_layers;
  out.mixing_layers = single ? out.layers - out.dense_layers - out.expert_layers : out.layers;
  return out;
}
[[nodiscard]] inline StageContent stage_content(const Model& model, const Layout& layout, int stage) {
  return stage_content(split_layers(model, layout), model, layout, stage);
}

/// The stages that may have most layers, since split_layers lightens both ends: the first, the two in the middle, the last. One stage is
/// the first, and all else is empty.
using LongStages = std::array<StageContent, 4>;
[[nodiscard]] inline LongStages long_stages(const Model& model, const Layout& layout) {
  const LayerSplit split = split_layers(model, layout);
  const auto at = [&](int stage) { return stage_content(split, model, layout, stage); };
  if (layout.pp == 1) return {at(0)};
  return {at(0), at(layout.pp / 2), at((layout.pp - 1) / 2), at(layout.pp - 1)};
}

/// Whether a chunk has nothing to do: no layer, embedding or output matrix.
[[nodiscard]] inline bool has_idle_chunk(const Model& model, const Layout& layout) {
  const LayerSplit split = split_layers(model, layout);
  return split.max == 1 && (split.fewer_front > 1 || split.fewer_back > 1);
}

}  // namespace fabricost
