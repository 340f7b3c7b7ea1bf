#pragma once
/// \file heavy_stages.hpp
/// The few pipeline stages that can need the most memory, whatever the rest of the layout.
///
/// Memory of a stage grows with its layers of each kind, embedding and head, and the microbatches in flight,
/// which never grow from one stage to the next (peak_activations of pipeline.hpp). A stage that holds no more
/// of anything than an earlier one cannot need more memory and is left out. The result depends only on the
/// model, the number of stages, their chunks and the schedule's placement: a search computes it once for
/// thousands of layouts.

#include <fabricost/plan/model/stages.hpp>

#include <algorithm>
#include <vector>

namespace fabricost::plan {

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

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/model/heavy_stages-inl.hpp>
#endif
