#include <fabricost/plan/model/stages.hpp>

#include <numeric>
#include <utility>

namespace fabricost::plan {

Layout vision_layout(const Model& model, const Layout& layout) {
  Layout out = layout;
  out.tp = std::gcd(layout.tp, model.vision->heads);
  out.pp = out.vp = out.cp = out.ep = out.expert_tp = 1;
  out.sequence = model.image_tokens;
  out.document = 0;
  out.offload_layers = 0;
  out.recompute_layers = 0;
  out.recompute_by_stage.clear();
  out.microbatch = (layout.microbatch * model.images + layout.cp - 1) / layout.cp;
  out.sequence_parallel = layout.sequence_parallel && out.tp > 1 && out.sequence % out.tp == 0;
  return out;
}

int chunk_of_stage(const Layout& layout, int stage, int chunk) {
  return folds_in_v(layout.schedule) && layout.pp > 1 && chunk == 1 ? 2 * layout.pp - 1 - stage : chunk * layout.pp + stage;
}

LayerSplit split_layers(int layers, int chunks, int ends) {
  const int max = (layers + chunks - 1) / chunks;
  const int missing = max * chunks - layers, last = std::min({missing, ends, max}), rest = missing - last;
  return {chunks, max, (rest + 1) / 2, std::min(last, 1) + rest / 2, std::max(0, last - 1)};
}

LayerSplit split_layers(const Model& model, const Layout& layout) {
  const PipelineSplit& as = layout.split;
  const int each = chunks_per_stage(layout), chunks = layout.pp * each;
  if (layout.pp > 1 && as.by_stage()) {
    const int others = layout.pp - (as.first > 0 ? 1 : 0) - (as.last > 0 ? 1 : 0);
    const int between = others > 0 ? (model.layers - as.first - as.last) / others / each : 0;
    const auto of = [&](int given) { return given > 0 ? given / each : between; };
    return {.chunks = chunks, .max = between, .stages = layout.pp, .front = of(as.first), .back = of(as.last)};
  }
  if (layout.pp > 1 && as.given()) {
    const int embedding = as.embedding ? 1 : 0, loss = as.loss ? 1 : 0;
    return {.chunks = chunks, .max = (model.layers + embedding + loss) / chunks, .fewer_front = embedding, .fewer_back = loss};
  }
  return split_layers(model.layers, chunks, 1 + 2 * model.predict_layers);
}

bool divides_as_given(const Model& model, const Layout& layout) {
  if (!layout.split.given()) return true;
  if (layout.pp == 1 || layout_of(layout.schedule) != PipelineLayout::loop) return false;
  const LayerSplit split = split_layers(model, layout);
  const bool works = split.stages == 0 || (split.front > 0 && split.back > 0 && (split.stages == 2 || split.max > 0));
  return works && split.first(split.chunks) == model.layers;
}

Layout frozen_layout(Layout layout, const Model& frozen) {
  if (!frozen.mixture()) layout.ep = layout.expert_tp = 1;
  layout.vp = 1;
  layout.schedule = PipelineSchedule::one_f_one_b;
  layout.split = {};
  layout.recompute = Recompute::none;
  layout.recompute_layers = 0;
  layout.recompute_by_stage.clear();
  layout.recompute_modules = {};
  layout.adapters = {};
  layout.offload_layers = 0;
  return layout;
}

int expert_layers_before(const Model& model, int n) {
  if (model.experts == 0) return 0;
  if (has_single_blocks(model)) return static_cast<int>(static_cast<long long>(n) * model.expert_layers() / model.layers);
  return std::max(0, n - model.first_dense) / model.expert_every;
}

int dense_layers_before(const Model& model, int n) {
  if (has_single_blocks(model)) return static_cast<int>(static_cast<long long>(n) * model.dense_layers() / model.layers);
  return n - expert_layers_before(model, n);
}

double state_share(const Model& model) {
  return model.hybrid() ? double(model.mixer.layers) / (model.mixer.layers + model.attention_layers()) : 0;
}

StageContent with_predictions(StageContent stage, const Model& model) {
  if (stage.predictions == 0) return stage;
  stage.layers += stage.predictions * (has_single_blocks(model) ? 2 : 1);
  stage.mixing_layers += stage.predictions;
  (model.mixture() ? stage.expert_layers : stage.dense_layers) += stage.predictions;
  return stage;
}

StageContent stage_content(const LayerSplit& split, const Model& model, const Layout& layout, int stage) {
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
  const auto at_stage = static_cast<std::size_t>(stage);
  if (at_stage < layout.recompute_by_stage.size()) out.again = std::min(layout.recompute_by_stage[at_stage], out.layers);
  out.predictions = out.head ? model.predict_layers : 0;
  out.beside_embedding = layout.schedule == PipelineSchedule::dualpipe && stage == layout.pp - 1;  // that of stage 0 in the other direction
  if (!single) out.dense_layers = out.layers - out.expert_layers;
  out.mixing_layers = single ? out.layers - out.dense_layers - out.expert_layers : out.layers;
  return out;
}

StageContent stage_content(const Model& model, const Layout& layout, int stage) {
  return stage_content(split_layers(model, layout), model, layout, stage);
}

LongStages long_stages(const Model& model, const Layout& layout) {
  const LayerSplit split = split_layers(model, layout);
  const auto at = [&](int stage) { return stage_content(split, model, layout, stage); };
  if (layout.pp == 1) return {at(0)};
  if (layout.recompute_by_stage.empty()) return {at(0), at(layout.pp / 2), at((layout.pp - 1) / 2), at(layout.pp - 1)};
  LongStages out{at(0), {}, {}, at(layout.pp - 1)};
  for (int stage = 1; stage + 1 < layout.pp; ++stage) {
    const StageContent one = at(stage);
    if (std::pair{one.layers, one.again} > std::pair{out[1].layers, out[1].again}) out[1] = one;
    if (std::pair{one.again, one.layers} > std::pair{out[2].again, out[2].layers}) out[2] = one;
  }
  return out;
}

std::vector<PipelineSplit> uneven_splits(const Model& model, const Layout& layout) {
  std::vector<PipelineSplit> out;
  const int each = chunks_per_stage(layout), usual = split_layers(model.layers, layout.pp * each).max;
  if (layout.pp == 1 || layout_of(layout.schedule) != PipelineLayout::loop) return out;
  if (model.layers % each != 0) return out;
  for (int stage = usual * each, light = 0; light != each; stage += each) {
    const int ends = model.layers - (layout.pp - 2) * stage;
    light = std::max(each, ends - stage);  // of the stage with the output matrix, or that with the encoder of images
    const int other = ends - light == stage ? 0 : ends - light;
    if (ends - light < each) break;
    out.push_back(model.images > 0 ? PipelineSplit{.first = light, .last = other} : PipelineSplit{.first = other, .last = light});
  }
  return out;
}

int recomputed_of_chunks(const Model& model, const Layout& layout, int each) {
  const LayerSplit split = split_layers(model, layout);
  int out = 0;
  for (int chunk = 0; chunk < split.chunks; ++chunk) out += std::min(each, split.layers(chunk));
  return out;
}

int recomputed_of_each_chunk(const Model& model, const Layout& layout) {
  int each = 1;
  while (recomputed_of_chunks(model, layout, each) < layout.recompute_layers) ++each;
  return each;
}

bool has_idle_chunk(const Model& model, const Layout& layout) {
  const LayerSplit split = split_layers(model, layout);
  return split.max == 1 && (split.fewer_front > 1 || split.fewer_back > 1);
}

bool HeavyStage::covers(const HeavyStage& o) const {
  const auto holds = [](const StageContent& a, const StageContent& b) {
    return a.layers >= b.layers && a.dense_layers >= b.dense_layers && a.mixing_layers >= b.mixing_layers &&
           a.expert_layers >= b.expert_layers && a.embedding >= b.embedding && a.head >= b.head && a.again <= b.again;
  };
  // with both directions, microbatches move from one to the other along the stages
  const bool both_ways = mirror.layers > 0 || o.mirror.layers > 0;
  return holds(here, o.here) && holds(mirror, o.mirror) && (!both_ways || (holds(here, o.mirror) && holds(mirror, o.here)));
}

HeavyStage stage_of(const LayerSplit& split, const Model& model, const Layout& layout, int stage) {
  const bool both_ways = layout.schedule == PipelineSchedule::dualpipe && layout.pp > 1;
  return {stage, stage_content(split, model, layout, stage),
          both_ways ? stage_content(split, model, layout, layout.pp - 1 - stage) : StageContent{}};
}

std::vector<HeavyStage> heavy_stages(const Model& model, const Layout& layout) {
  const LayerSplit split = split_layers(model, layout);
  std::vector<HeavyStage> out{stage_of(split, model, layout, 0)};
  for (int stage = 1; stage < layout.pp; ++stage) {
    const HeavyStage now = stage_of(split, model, layout, stage);
    if (std::none_of(out.begin(), out.end(), [&](const HeavyStage& known) { return known.covers(now); })) out.push_back(now);
  }
  return out;
}

}  // namespace fabricost::plan
