#pragma once
/// What a search over training layouts tries, beside numbers of ranks and stages: pipelines, shardings, groups of layouts.

#include <fabricost/in_order.hpp>
#include <fabricost/plan/memory/activations.hpp>
#include <fabricost/plan/model/dimension.hpp>
#include <fabricost/plan/model/stages.hpp>
#include <fabricost/plan/training/idle_gpus.hpp>
#include <fabricost/plan/training/question.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

namespace fabricost::plan::detail {

/// Stages, chunks and schedule: one way to run a model, whatever the rest of the layout. `stages` are those
/// that may need most memory, `longest` those of `long_stages` that may take longest.
struct Pipeline {
  int pp = 1, vp = 1;
  PipelineSchedule schedule = PipelineSchedule::none;
  PipelineSplit split{};
  std::vector<HeavyStage> stages;
  LongStages long_stages{};
  std::vector<StageContent> longest{};
  std::optional<LongStages> even{};  ///< of the usual division, where this is another: tried where its longest stage is shorter
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
/// whose difference no list shows; or in the chunks and the layers of stages, which often change a step by less than a thousandth, with the
/// recomputed layers and the states in host memory that their number makes necessary: the fastest stands for all.
[[nodiscard]] bool are_twins(const Layout& a, Layout b, int domain);

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

// Which of two layouts is the plainer one: the one that asks for less beyond what was given. The search proposes the plainest of the
// layouts whose steps are within `TrainingQuestion::plain_within` of the fastest. In this order, the first that differs decides:
//
//   domains         no more scale-up domains than the GPUs given fill
//   host memory     states or activations on the GPU before some of them in host memory
//   job             all GPUs and the batch given before fewer GPUs or another batch
//   recomputation   none before selective before full
//   sharding        ZeRO 0 and 1 (a distributed optimizer, which recipes of data-parallel training turn on by default), before 2, before 3
//   chunks          one chunk of layers a stage before several (virtual stages)
//   division        layers divided as usual before fewer on the first or the last stage

/// What a layout asks for beyond the plain one, by importance; the least, compared one after the other, is the plainest.
[[nodiscard]] std::array<int, 7> burden_of(const TrainingQuestion& q, const Layout& l, int domain);

}  // namespace fabricost::plan

namespace fabricost::plan::detail {

/// Context ranks to try. \param each of the numbers up to `ranks`, not only of those that divide them
[[nodiscard]] std::vector<int> context_sizes(const TrainingQuestion& q, int ranks, bool each = false);

/// Whether the stack's program shards so with so many stages.
[[nodiscard]] bool runs_sharded(const Stack& stack, int zero, int pp);

/// Exchanges that the context ranks of a layout may use: as given, else a ring (of windows all at once), and by heads where these
/// divide.
[[nodiscard]] std::vector<ContextParallel> contexts(const TrainingQuestion& q, const Layout& l);

/// Tensor ranks of an expert: one, or those of the layer; experts with biases are not divided.
[[nodiscard]] std::vector<int> expert_widths(const TrainingQuestion& q, int ep, int tp);

/// Those of the long stages that no other one has all layers of.
[[nodiscard]] std::vector<StageContent> longest_of(const LongStages& stages);

/// A recomputation that the search tries: the one given, or none, the stack's where it drops anything, the full one, and the modules that
/// recipes choose: the feed-forward block, which is most of a dense layer's memory; of experts the cheap parts, or all.
struct Again {
  Recompute kind = Recompute::none;
  SetOf<RecomputeModule> modules{};
};
[[nodiscard]] std::vector<Again> recomputations(const TrainingQuestion& q);

/// Whether a layout that does not fit without recomputation repeats as few layers as fit. One whose layers' inputs go to the host repeats
/// all, and so does one whose full recomputation is given, as its program does by default.
[[nodiscard]] bool recomputes_fewest(const TrainingQuestion& q);

/// Whether the stack's program can recompute as many layers as are given with these stages: as many of each chunk, if it repeats so.
[[nodiscard]] bool repeats_as_given(const TrainingQuestion& q, Layout l);

/// Whether a layout that does not fit keeps states of its optimizer in host memory.
[[nodiscard]] bool offloads_states(const TrainingQuestion& q, const System& system);

}  // namespace fabricost::plan::detail
