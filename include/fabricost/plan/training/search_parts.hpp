#pragma once
/// \file search_parts.hpp
/// Parts of the search over training layouts: pipelines, shardings, groups of layouts, and the order of priced layouts.

#include <fabricost/in_order.hpp>
#include <fabricost/plan/model/heavy_stages.hpp>
#include <fabricost/plan/training/idle_gpus.hpp>
#include <fabricost/plan/training/question.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace fabricost::plan {

/// Seconds of a step over its sequences, by which steps of different batches compare.
[[nodiscard]] inline double seconds_a_sequence(const PricedLayout& p) { return p.time.seconds / p.layout.global_batch; }

/// Ties in time are broken by memory, then by every field: the order does not depend on a library's sort.
[[nodiscard]] bool is_faster(const PricedLayout& a, const PricedLayout& b);

}  // namespace fabricost::plan

namespace fabricost::plan::detail {

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
[[nodiscard]] LayerTimes between(const LayerTimes& none, const LayerTimes& all, double s);

/// Whether two layouts differ only in how context ranks exchange keys and values, or in what is placed nearest, with as many GPUs idle,
/// whose difference no list shows; or in the chunks of an interleaved stage, which often change a step by less than a thousandth, with the
/// recomputed layers and the states in host memory that their number makes necessary: the fastest stands for all.
[[nodiscard]] bool are_twins(const Layout& a, Layout b, int domain);

}  // namespace fabricost::plan::detail

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/training/search_parts-inl.hpp>
#endif
