#pragma once
/// \file search_parts.hpp
/// Parts of the search over training layouts: pipelines, shardings, groups of layouts, and the order of priced layouts.

#include <fabricost/in_order.hpp>
#include <fabricost/model/heavy_stages.hpp>
#include <fabricost/training/idle_gpus.hpp>
#include <fabricost/training/question.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace fabricost::detail {

/// Stages, chunks and schedule: one way to run a model, whatever the rest of the layout. `stages` are those
/// that may need most memory, `longest` those of `long_stages` that may take longest.
struct Pipeline {
  int pp = 1, vp = 1;
  PipelineSchedule schedule = PipelineSchedule::none;
  std::vector<HeavyStage> stages;
  LongStages long_stages{};
  std::vector<StageContent> longest{};
};

/// The values of a layout's `zero`, ascending.
struct Shardings {
  std::array<int, 4> values{};
  std::size_t count = 0;

  void add(int zero) { values[count++] = zero; }
  [[nodiscard]] std::span<const int> all() const { return std::span{values}.first(count); }
};

/// Layouts that share these layers.
struct LayerGroup {
  Layout layout;
  LayerTimes layers;
  LayerTimes fastest;  ///< of any of its layouts: without recomputation, where as few layers as fit are recomputed
  double bound = 0;
  long long count = 0;  ///< of its layouts
  double load = 1;      ///< rows of its fullest expert rank over the mean
};

/// The layers of a layout that recomputes the share `s` of what `all` recompute and `none` does not.
[[nodiscard]] inline LayerTimes between(const LayerTimes& none, const LayerTimes& all, double s) {
  LayerTimes out = all;
  for (LayerTime LayerTimes::*const part : {&LayerTimes::dense, &LayerTimes::mixed, &LayerTimes::mixing}) {
    out.*part = {};
    (out.*part).add(none.*part, 1 - s);
    (out.*part).add(all.*part, s);
  }
  return out;
}

/// Ties in time are broken by memory, then by every field: the order does not depend on a library's sort.
[[nodiscard]] inline bool faster(const PricedLayout& a, const PricedLayout& b) {
  const auto order = [](const PricedLayout& p) {
    const Layout& l = p.layout;
    return in_order(p.time.seconds, p.memory.total(), l.tp, l.pp, l.vp, l.cp, l.ep, l.expert_tp, l.dp, l.zero, l.shard, l.microbatch,
                    l.recompute, l.recompute_layers, l.recompute_modules.bits, l.schedule, l.placing, l.context, l.sequence_parallel,
                    l.offload_layers, l.offload_optimizer);
  };
  return order(a) < order(b);
}

/// Whether two layouts differ only in how context ranks exchange keys and values, or in what is placed nearest, with as many GPUs idle,
/// whose difference no list shows; or in the chunks of an interleaved stage, which often change a step by less than a thousandth, with the
/// recomputed layers and the states in host memory that their number makes necessary: the fastest stands for all.
[[nodiscard]] inline bool are_twins(const Layout& a, Layout b, int domain) {
  if (a.pp != b.pp || a.tp != b.tp || a.cp != b.cp || a.dp != b.dp) return false;  // nearly all end here
  const int idle = idle_gpus(b, domain);
  b.context = a.context, b.placing = a.placing;
  b.vp = a.vp, b.recompute_layers = a.recompute_layers, b.offload_optimizer = a.offload_optimizer;
  return a == b && idle_gpus(a, domain) == idle;
}

}  // namespace fabricost::detail
