#pragma once
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

#include <fabricost/plan/model/layout.hpp>
#include <fabricost/plan/model/model.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace fabricost::plan {

/// Two chunks per stage, the second on the way back: first and last layers share stage 0.
[[nodiscard]] constexpr bool folds_in_v(PipelineSchedule schedule) { return layout_of(schedule) == PipelineLayout::v; }

/// Chunks of layers per stage: 2 for schedules that fold in a V, else vp.
[[nodiscard]] inline int chunks_per_stage(const Layout& layout) { return folds_in_v(layout.schedule) && layout.pp > 1 ? 2 : layout.vp; }

/// Position of a stage's chunk in the order of the layers, 0 to pp chunks - 1.
[[nodiscard]] int chunk_of_stage(const Layout& layout, int stage, int chunk);

/// Division of layers into chunks: all have `max` layers, except the first `fewer_front` and the last
/// `fewer_back`, which have one fewer, and the last one, which lacks `last_lacks` more. With `stages` instead those of the first and the
/// last stage have `front` and `back`.
struct LayerSplit {
  int chunks = 1, max = 0, fewer_front = 0, fewer_back = 0, last_lacks = 0;
  int stages = 0, front = 0, back = 0;

  /// First layer of a chunk; for chunk `chunks`, the number of layers.
  [[nodiscard]] int first(int chunk) const {
    if (stages > 0) {
      const int stage = chunk % stages, round = front + (stages - 2) * max + back;
      return chunk / stages * round + (stage > 0 ? front + (stage - 1) * max : 0);
    }
    return chunk * max - std::min(chunk, fewer_front) - std::max(0, chunk - (chunks - fewer_back)) - (chunk == chunks ? last_lacks : 0);
  }
  [[nodiscard]] int layers(int chunk) const {
    if (stages > 0) return chunk % stages == 0 ? front : chunk % stages == stages - 1 ? back : max;
    return max - (chunk < fewer_front || chunk >= chunks - fewer_back ? 1 : 0) - (chunk == chunks - 1 ? last_lacks : 0);
  }
};

/// Divides layers into chunks, both at least 1.
/// \param ends further content of the last chunk, in layers: the output matrix, prediction modules
[[nodiscard]] LayerSplit split_layers(int layers, int chunks, int ends = 1);
[[nodiscard]] LayerSplit split_layers(const Model& model, const Layout& layout);
/// Whether the layers divide as `layout.split` has it: into several stages in a row, each chunk with a layer, none left over.
[[nodiscard]] bool divides_as_given(const Model& model, const Layout& layout);

/// The layout of a second, frozen model on the same ranks: one chunk a stage, nothing kept or repeated.
[[nodiscard]] Layout frozen_layout(Layout layout, const Model& frozen);

/// Whether each layer is a single block, mixing (attention or a state) or feed-forward (Nemotron-H).
[[nodiscard]] inline bool has_single_blocks(const Model& model) { return model.dense_layers() + model.expert_layers() < model.layers; }

/// Layers with experts among the first n: every `expert_every`-th after the dense ones; single blocks evenly.
[[nodiscard]] int expert_layers_before(const Model& model, int n);
/// Layers with a dense feed-forward block among the first n.
[[nodiscard]] int dense_layers_before(const Model& model, int n);

/// Share of the layers that mix tokens through a state, among all that mix tokens.
[[nodiscard]] double state_share(const Model& model);

/// The layers and tables that one stage computes for every microbatch.
struct StageContent {
  int layers = 0;                                              ///< of all its chunks
  int mixing_layers = 0, dense_layers = 0, expert_layers = 0;  ///< with attention or a state mixer, and by kind of feed-forward
  bool embedding = false, head = false;
  bool beside_embedding = false;  ///< its GPUs have the embedding for another stage (DualPipe)
  int again = 0;                  ///< layers that are recomputed, where the layout says so by stage
  int predictions = 0;            ///< multi-token prediction modules, beside the output matrix; a layer of each in no count above
};

/// The stage with the layer of each of its prediction modules: the last kind of the model's.
[[nodiscard]] StageContent with_predictions(StageContent stage, const Model& model);

/// Contents of a stage, from 0; linear in its chunks.
[[nodiscard]] StageContent stage_content(const LayerSplit& split, const Model& model, const Layout& layout, int stage);
[[nodiscard]] StageContent stage_content(const Model& model, const Layout& layout, int stage);

/// The stages that may take longest, since split_layers lightens both ends: the first, the two in the middle, the last. Where recomputation
/// differs by stage, those in the middle are the two that repeat most of the most layers. One stage is the first, and all else is empty.
using LongStages = std::array<StageContent, 4>;
[[nodiscard]] LongStages long_stages(const Model& model, const Layout& layout);

/// Divisions by stage with ever more layers between the ends: the last stage, which has the output matrix, has what the others leave, and
/// the first fewer than they where the last would have none. With an encoder of images the ends change places, since the first has that.
[[nodiscard]] std::vector<PipelineSplit> uneven_splits(const Model& model, const Layout& layout);

/// Layers recomputed where each chunk recomputes its first `each`.
[[nodiscard]] int recomputed_of_chunks(const Model& model, const Layout& layout, int each);
/// The fewest layers of each chunk, at least 1, with which at least the layout's number is recomputed.
[[nodiscard]] int recomputed_of_each_chunk(const Model& model, const Layout& layout);

/// Whether a chunk has nothing to do: no layer, embedding or output matrix.
[[nodiscard]] bool has_idle_chunk(const Model& model, const Layout& layout);

// The few pipeline stages that can need the most memory, whatever the rest of the layout.
//
// Memory of a stage grows with its layers of each kind, embedding and head, and the microbatches in flight,
// which never grow from one stage to the next (peak_activations of pipeline.hpp). A stage that holds no more
// of anything than an earlier one cannot need more memory and is left out. The result depends only on the
// model, the number of stages, their chunks and the schedule's placement: a search computes it once for
// thousands of layouts.

/// A stage with all it holds: DualPipe also keeps the layers of the opposite stage.
struct HeavyStage {
  int stage = 0;
  StageContent here, mirror;

  /// Whether this stage holds at least as much as `o`.
  [[nodiscard]] bool covers(const HeavyStage& o) const;
};

/// Contents of stage `stage` of the layout, from 0.
[[nodiscard]] HeavyStage stage_of(const LayerSplit& split, const Model& model, const Layout& layout, int stage);

/// The stages not covered by an earlier one, in order; at least one. Uses pp, vp and schedule of the layout.
[[nodiscard]] std::vector<HeavyStage> heavy_stages(const Model& model, const Layout& layout);

}  // namespace fabricost::plan
