#pragma once
/// \file search_space.hpp
/// What a search over training layouts tries, beside numbers of ranks and stages.

#include <fabricost/memory/activations.hpp>
#include <fabricost/model/dimension.hpp>
#include <fabricost/training/search_parts.hpp>

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace fabricost::detail {

[[nodiscard]] inline std::vector<int> context_sizes(const TrainingQuestion& q, int ranks) {
  std::vector<int> out;
  for (const int c : divisors(ranks, std::max(64, q.sequence / 8192)))  // at a million tokens up to 128
    if (c == 1 || (q.sequence % (2 * c) == 0 && q.sequence / c >= 1024)) out.push_back(c);
  return out;
}

/// Exchanges that the context ranks of a layout may use: as given, else a ring (of windows all at once), and by heads where these
/// divide.
[[nodiscard]] inline std::vector<ContextParallel> contexts(const TrainingQuestion& q, const Layout& l) {
  if (l.cp == 1) return {ContextParallel::ring};
  if (q.context) return {*q.context};
  const ContextParallel usual = has_windows(q) ? ContextParallel::all_gather : ContextParallel::ring;
  if (names_one_layout(q) || ranks_of_heads(q.model, l) == 1) return {usual};
  return {usual, ContextParallel::ulysses};
}

/// Tensor ranks of an expert: one, or those of the layer; experts with biases are not divided.
[[nodiscard]] inline std::vector<int> expert_widths(const TrainingQuestion& q, int ep, int tp) {
  return ep > 1 && tp > 1 && !q.model.biases ? std::vector<int>{1, tp} : std::vector<int>{1};
}

/// Those of the long stages that no other one has all layers of.
[[nodiscard]] inline std::vector<StageContent> longest_of(const LongStages& stages) {
  std::vector<StageContent> out;
  for (const StageContent& one : stages)
    if (std::none_of(out.begin(), out.end(), [&](const StageContent& known) {
          return known.dense_layers >= one.dense_layers && known.mixing_layers >= one.mixing_layers &&
                 known.expert_layers >= one.expert_layers;
        }))
      out.push_back(one);
  return out;
}

/// A recomputation that the search tries: the one given, or none, the stack's where it drops anything, the full one, and the modules that
/// recipes choose: the feed-forward block, which is most of a dense layer's memory; of experts the cheap parts, or all.
struct Again {
  Recompute kind = Recompute::none;
  SetOf<RecomputeModule> modules{};
};
[[nodiscard]] inline std::vector<Again> recomputations(const TrainingQuestion& q) {
  std::vector<Again> out;
  if (offloads_layers(q)) return {Again{}};
  for (const Recompute kind : {Recompute::none, Recompute::selective, Recompute::full})
    if ((!q.recompute || *q.recompute == kind) && !(kind == Recompute::full && q.overlaps_tokens)) {
      const bool idle = kind == Recompute::selective && q.recompute_modules.empty() && !selective_drops(q.model, q.stack.memory);
      if (q.recompute || !idle) out.push_back({kind, q.recompute_modules});
    }
  const bool as_the_stack = q.recompute && (*q.recompute != Recompute::selective || names_one_layout(q));
  if (as_the_stack || !q.recompute_modules.empty()) return out;
  using enum RecomputeModule;
  const auto add = [&](std::initializer_list<RecomputeModule> modules) {
    Again again{Recompute::selective, {}};
    for (const RecomputeModule one : modules) again.modules.add(one);
    if (q.model.latent()) again.modules.add(mla_up_proj);
    if (q.overlaps_tokens && again.modules.has(moe)) return;
    if (q.delayed_scales && (again.modules.has(moe_act) || again.modules.has(layernorm))) return;
    out.push_back(again);
  };
  if (!q.model.mixture()) {
    add({mlp});  // Transformer Engine runs the norms of dense layers inside their products, where nothing repeats them
    return out;
  }
  add({moe_act}), add({moe}), add({layernorm}), add({layernorm, moe_act});
  return out;
}

/// Whether a layout that does not fit without recomputation repeats as few layers as fit. A named layout repeats all, as its program does
/// by default, and so does one whose layers' inputs go to the host.
[[nodiscard]] inline bool recomputes_fewest(const TrainingQuestion& q) {
  return !q.recompute && !q.recompute_layers && !names_one_layout(q) && !q.stack.offloads_inputs;
}

/// Whether a layout that does not fit keeps states of its optimizer in host memory.
[[nodiscard]] inline bool offloads_states(const TrainingQuestion& q, const System& system) {
  return !q.offload_optimizer && !names_one_layout(q) && stated_host_room(system) > 0;
}

}  // namespace fabricost::detail
