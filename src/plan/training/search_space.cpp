#include "training/search_space.hpp"

#include <algorithm>

namespace fabricost::plan::detail {

LayerTimes between(const LayerTimes& none, const LayerTimes& all, double s) {
  LayerTimes out = all;
  for (LayerTime LayerTimes::*const part : {&LayerTimes::dense, &LayerTimes::mixed, &LayerTimes::mixing}) {
    out.*part = {};
    (out.*part).add(none.*part, 1 - s);
    (out.*part).add(all.*part, s);
  }
  return out;
}

bool are_twins(const Layout& a, Layout b, int domain) {
  if (a.pp != b.pp || a.tp != b.tp || a.cp != b.cp || a.dp != b.dp) return false;  // nearly all end here
  const int idle = idle_gpus(b, domain);
  b.context = a.context;
  b.placing = a.placing;
  b.vp = a.vp;
  b.split = a.split;
  b.recompute_layers = a.recompute_layers;
  b.recompute_by_stage = a.recompute_by_stage;
  b.offload_optimizer = a.offload_optimizer;
  return a == b && idle_gpus(a, domain) == idle;
}

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

std::array<int, 7> burden_of(const TrainingQuestion& q, const Layout& l, int domain) {
  const int domains = std::max(0, domains_taken(l, domain) - (q.gpus + domain - 1) / domain);
  const bool on_host = l.offload_optimizer > 0 || l.offload_layers > 0;
  const bool other_job = l.gpus() != q.gpus || l.global_batch != q.global_batch;
  const int recomputation = l.recompute == Recompute::none ? 0 : l.recompute == Recompute::selective ? 1 : 2;
  return {domains, on_host ? 1 : 0, other_job ? 1 : 0, recomputation, std::max(0, l.zero - 1), l.vp > 1 ? 1 : 0, l.split.given() ? 1 : 0};
}

}  // namespace fabricost::plan

namespace fabricost::plan::detail {

std::vector<int> context_sizes(const TrainingQuestion& q, int ranks, bool each) {
  std::vector<int> out;
  const int most = std::max(64, q.sequence / 8192);  // at a million tokens up to 128
  for (const int c : each ? up_to(std::min(ranks, most)) : divisors(ranks, most))
    if (c == 1 || (q.sequence % (2 * c) == 0 && q.sequence / c >= 1024)) out.push_back(c);
  return out;
}

bool runs_sharded(const Stack& stack, int zero, int pp) {
  const auto can = [&](int one) { return std::find(stack.runs.zero.begin(), stack.runs.zero.end(), one) != stack.runs.zero.end(); };
  return can(zero) || (zero == 1 && pp > 1 && can(2));
}

std::vector<ContextParallel> contexts(const TrainingQuestion& q, const Layout& l) {
  if (l.cp == 1) return {ContextParallel::ring};
  if (q.context) return {*q.context};
  const ContextParallel usual = has_windows(q) ? ContextParallel::all_gather : ContextParallel::ring;
  if (names_one_layout(q) || !q.stack.runs.any_rank_order || ranks_of_heads(q.model, l) == 1) return {usual};
  return {usual, ContextParallel::ulysses};
}

std::vector<int> expert_widths(const TrainingQuestion& q, int ep, int tp) {
  return ep > 1 && tp > 1 && !q.model.biases ? std::vector<int>{1, tp} : std::vector<int>{1};
}

std::vector<StageContent> longest_of(const LongStages& stages) {
  std::vector<StageContent> out;
  for (const StageContent& one : stages)
    if (std::none_of(out.begin(), out.end(), [&](const StageContent& known) {
          return known.dense_layers >= one.dense_layers && known.mixing_layers >= one.mixing_layers &&
                 known.expert_layers >= one.expert_layers;
        }))
      out.push_back(one);
  return out;
}

std::vector<Again> recomputations(const TrainingQuestion& q) {
  std::vector<Again> out;
  if (offloads_layers(q)) return {Again{}};
  for (const Recompute kind : {Recompute::none, Recompute::selective, Recompute::full})
    if ((!q.recompute || *q.recompute == kind) && !(kind == Recompute::full && q.overlaps_tokens)) {
      const bool idle = kind == Recompute::selective && q.recompute_modules.empty() && !selective_drops(q.model, q.stack.memory);
      Again again{kind, q.recompute_modules};
      const bool unfolds = q.model.latent() && q.stack.memory.flash_attention && q.stack.memory.selective_keeps == 1;
      if (kind == Recompute::selective && again.modules.empty() && unfolds) again.modules.add(RecomputeModule::mla_up_proj);
      if (q.recompute || !idle) out.push_back(again);
    }
  const bool as_the_stack = q.recompute && (*q.recompute != Recompute::selective || names_one_layout(q));
  if (as_the_stack || !q.recompute_modules.empty() || !q.stack.runs.divides_any) return out;
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
  add({moe_act});
  add({moe});
  add({layernorm});
  add({layernorm, moe_act});
  return out;
}

bool recomputes_fewest(const TrainingQuestion& q) {
  return !q.recompute && !q.recompute_layers && !q.stack.offloads_inputs && q.stack.runs.recomputes != Recomputes::all;
}

bool repeats_as_given(const TrainingQuestion& q, Layout l) {
  if (!q.recompute_layers || q.stack.runs.recomputes != Recomputes::chunks) return true;
  l.recompute_layers = std::min(*q.recompute_layers, q.model.layers);
  return recomputed_of_chunks(q.model, l, recomputed_of_each_chunk(q.model, l)) == l.recompute_layers;
}

bool offloads_states(const TrainingQuestion& q, const System& system) {
  return !q.offload_optimizer && q.stack.runs.divides_any && !names_one_layout(q) && stated_host_room(system) > 0;
}

}  // namespace fabricost::plan::detail
