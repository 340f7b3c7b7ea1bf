#pragma once
/// \file heavy_stages-inl.hpp
/// Bodies of heavy_stages.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/model/heavy_stages.hpp>

namespace fabricost::plan {

FABRICOST_BODY bool HeavyStage::covers(const HeavyStage& o) const {
  const auto holds = [](const StageContent& a, const StageContent& b) {
    return a.layers >= b.layers && a.dense_layers >= b.dense_layers && a.mixing_layers >= b.mixing_layers &&
           a.expert_layers >= b.expert_layers && a.embedding >= b.embedding && a.head >= b.head;
  };
  // with both directions, microbatches move from one to the other along the stages
  const bool both_ways = mirror.layers > 0 || o.mirror.layers > 0;
  return holds(here, o.here) && holds(mirror, o.mirror) && (!both_ways || (holds(here, o.mirror) && holds(mirror, o.here)));
}

FABRICOST_BODY HeavyStage stage_of(const LayerSplit& split, const Model& model, const Layout& layout, int stage) {
  const bool both_ways = layout.schedule == PipelineSchedule::dualpipe && layout.pp > 1;
  return {stage, stage_content(split, model, layout, stage),
          both_ways ? stage_content(split, model, layout, layout.pp - 1 - stage) : StageContent{}};
}

FABRICOST_BODY std::vector<HeavyStage> heavy_stages(const Model& model, const Layout& layout) {
  const LayerSplit split = split_layers(model, layout);
  std::vector<HeavyStage> out{stage_of(split, model, layout, 0)};
  for (int stage = 1; stage < layout.pp; ++stage) {
    const HeavyStage now = stage_of(split, model, layout, stage);
    if (std::none_of(out.begin(), out.end(), [&](const HeavyStage& known) { return known.covers(now); })) out.push_back(now);
  }
  return out;
}

}  // namespace fabricost::plan
