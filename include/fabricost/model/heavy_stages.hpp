#pragma once
/// \file heavy_stages.hpp
/// The few pipeline stages that can need the most memory, whatever the rest of the layout.
///
/// Memory of a stage grows with its layers of each kind, embedding and head, and the microbatches in flight,
/// which never grow from one stage to the next (peak_activations of pipeline.hpp). A stage that holds no more
/// of anything than an earlier one cannot need more memory and is left out. The result depends only on the
/// model, the number of stages, their chunks and the schedule's placement: a search computes it once for
/// thousands of layouts.

#include <fabricost/model/stages.hpp>

#include <algorithm>
#include <vector>

namespace fabricost {

/// A stage with all it holds: DualPipe also keeps the layers of the opposite stage.
struct HeavyStage {
  int stage = 0;
  StageContent here, mirror;

  /// Whether this stage holds at least as much as `o`.
  [[nodiscard]] bool covers(const HeavyStage& o) const {
    const auto holds = [](const StageContent& a, const StageContent& b) {
      return a.layers >= b.layers && a.dense_layers >= b.dense_layers && a.mixing_layers >= b.mixing_layers &&
             a.expert_layers >= b.expert_layers && a.embedding >= b.embedding && a.head >= b.head;
    };
    // with both directions, microbatches move from one to the other along the stages
    const bool both_ways = mirror.layers > 0 || o.mirror.layers > 0;
    return holds(here, o.here) && holds(mirror, o.mirror) && (!both_ways || (holds(here, o.mirror) && holds(mirror, o.here)));
  }
};

/// Contents of stage `stage` of the layout, from 0.
[[nodiscard]] inline HeavyStage stage_of(const LayerSplit& split, const Model& model, const Layout& layout, int stage) {
  const bool both_ways = layout.schedule == PipelineSchedule::dualpipe && layout.pp > 1;
  return {stage, stage_content(split, model, layout, stage),
          both_ways ? stage_content(split, model, layout, layout.pp - 1 - stage) : StageContent{}};
}

/// The stages not covered by an earlier one, in order; at least one. Uses pp, vp and schedule of the layout.
[[nodiscard]] inline std::vector<HeavyStage> heavy_stages(const Model& model, const Layout& layout) {
  const LayerSplit split = split_layers(model, layout);
  std::vector<HeavyStage> out{stage_of(split, model, layout, 0)};
  for (int stage = 1; stage < layout.pp; ++stage) {
    const HeavyStage now = stage_of(split, model, layout, stage);
    if (std::none_of(out.begin(), out.end(), [&](const HeavyStage& known) { return known.covers(now); })) out.push_back(now);
  }
  return out;
}

}  // namespace fabricost
