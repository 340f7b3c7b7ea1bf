#pragma once
/// \file search_space.hpp
/// What a search over training layouts tries, beside numbers of ranks and stages.

#include <fabricost/plan/memory/activations.hpp>
#include <fabricost/plan/model/dimension.hpp>
#include <fabricost/plan/training/search_parts.hpp>

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace fabricost::plan::detail {

/// Context ranks to try. \param each of the numbers up to `ranks`, not only of those that divide them
[[nodiscard]] std::vector<int> context_sizes(const TrainingQuestion& q, int ranks, bool each = false);

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

/// Whether a layout that does not fit without recomputation repeats as few layers as fit. A named layout repeats all, as its program does
/// by default, and so does one whose layers' inputs go to the host.
[[nodiscard]] bool recomputes_fewest(const TrainingQuestion& q);

/// Whether a layout that does not fit keeps states of its optimizer in host memory.
[[nodiscard]] bool offloads_states(const TrainingQuestion& q, const System& system);

}  // namespace fabricost::plan::detail

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/training/search_space-inl.hpp>
#endif
