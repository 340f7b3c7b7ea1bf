#pragma once
/// \file search_parts-inl.hpp
/// Bodies of search_parts.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/plan/training/search_parts.hpp>

namespace fabricost::plan::detail {

FABRICOST_BODY LayerTimes between(const LayerTimes& none, const LayerTimes& all, double s) {
  LayerTimes out = all;
  for (LayerTime LayerTimes::*const part : {&LayerTimes::dense, &LayerTimes::mixed, &LayerTimes::mixing}) {
    out.*part = {};
    (out.*part).add(none.*part, 1 - s);
    (out.*part).add(all.*part, s);
  }
  return out;
}

FABRICOST_BODY bool are_twins(const Layout& a, Layout b, int domain) {
  if (a.pp != b.pp || a.tp != b.tp || a.cp != b.cp || a.dp != b.dp) return false;  // nearly all end here
  const int idle = idle_gpus(b, domain);
  b.context = a.context;
  b.placing = a.placing;
  b.vp = a.vp;
  b.recompute_layers = a.recompute_layers;
  b.offload_optimizer = a.offload_optimizer;
  return a == b && idle_gpus(a, domain) == idle;
}

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

FABRICOST_BODY bool is_faster(const PricedLayout& a, const PricedLayout& b) {
  const auto order = [](const PricedLayout& p) {
    const Layout& l = p.layout;
    return in_order(seconds_a_sequence(p), p.time.seconds, p.memory.total(), l.tp, l.pp, l.vp, l.cp, l.ep, l.expert_tp, l.dp, l.zero, l.shard, l.microbatch,
                    l.recompute, l.recompute_layers, l.recompute_modules.bits, l.schedule, l.placing, l.context, l.sequence_parallel,
                    l.offload_layers, l.offload_optimizer);
  };
  return order(a) < order(b);
}

}  // namespace fabricost::plan
