#pragma once
/// \file explained-inl.hpp
/// Bodies of explained.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/training/explained.hpp>

namespace fabricost {

FABRICOST_BODY StepParts parts_of_step(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu,
                                       GroupCosts& costs) {
  const LayerTimes layers = layer_times(model, layout, stack, gpu, costs);
  const detail::StepModel step{model, layout, stack, gpu, costs, layers, long_stages(model, layout)};
  const detail::StepModel::Stages at = step.stages();
  const Processor left = left_to_products(gpu, stack, layout);
  const detail::LayerModel layer{model, layout, stack, left, costs};
  StepParts out;
  out.layers = at.fullest.layers;
  const double micro = out.microbatches = layout.microbatches();
  const bool whole = !has_single_blocks(model);
  for (const auto& [parts, layers_of] : {std::pair{LayerParts{whole, true, false}, at.fullest.dense_layers},
                                         std::pair{LayerParts{whole, true, true}, at.fullest.expert_layers},
                                         std::pair{LayerParts{true, false, false}, whole ? 0 : at.fullest.mixing_layers}}) {
    const double times = micro * layers_of;
    const bool experts = parts.experts;
    if (times <= 0) continue;
    const detail::LayerModel::Kernels k = layer.kernels(parts);
    const detail::LayerModel::BackwardWork back = layer.backward_work(k, experts);
    StepKernels& sum = out.kernels;
    sum.products += times * (k.products + back.products);
    sum.attention += times * (k.core + back.core);
    sum.scan += times * (k.scan + back.scan);
    sum.element += times * (k.element + back.element);
    sum.adapters += times * (k.adapters + back.adapters);
    const bool full = layout.recompute == Recompute::full;
    sum.repeated += times * (back.repeated + (full ? layer.again() * layer.repeated_in_full(k) : 0));
    for (const LayerExchange& x : layer.exchanges(parts))
      out.exchanges.push_back({x.group, x.collective, x.at, x.bytes, x.seconds, times * (x.forward + layer.in_backward(x, parts))});
  }
  if (layout.pp == 1) out.kernels.head = micro * at.ends;
  if (layout.pp > 1) {
    const double chunks = schedule_of(layout) == PipelineSchedule::interleaved ? layout.vp : 1, bytes = step.handed_over();
    const bool across = step.hands_over_across();
    const Placement pair = across ? Placement{1, 2} : Placement{2, 1};
    out.exchanges.push_back({StepGroup::stages, Collective::send_recv, pair, bytes, costs.send(across, bytes), 2 * chunks * micro});
  }
  for (const DataExchange& x : step.data_exchanges(at.local, at.trained))
    out.exchanges.push_back({x.group, x.collective, x.at, x.bytes, x.seconds, (micro - 1) * x.each + x.last});
  return out;
}

FABRICOST_BODY std::optional<PricedLayout> usual_layout(const TrainingQuestion& question, const System& system) {
  const Model& model = question.model;
  TrainingQuestion q = question;
  q.headroom = headroom_of(question);
  q.top = 1, q.zero = q.zero.value_or(1), q.microbatch = q.microbatch.value_or(1), q.cp = q.cp.value_or(1);
  const int node = std::min(system.gpus_per_node > 1 ? system.gpus_per_node : 8, system.domain);
  const auto fitting = [&](int tp, int pp, int ep, bool all_again) -> std::optional<PricedLayout> {
    q.tp = question.tp.value_or(tp), q.pp = question.pp.value_or(pp);
    if (model.mixture()) q.ep = question.ep.value_or(ep);
    for (const Recompute again : {Recompute::none, Recompute::selective, Recompute::full}) {
      if (question.recompute.value_or(again) != again || (again == Recompute::full && !all_again)) continue;
      q.recompute = again;
      try {
        TrainingPlan plan = plan_training(q, system);
        if (plan.fits && !plan.layouts.empty()) return plan.layouts.front();
      } catch (const RequestError&) {
        return std::nullopt;  // these ranks do not divide the job
      }
    }
    return std::nullopt;
  };
  int most_experts = 1;
  for (const int ep : detail::divisors(std::max(1, model.experts), std::max(8, system.domain))) most_experts = std::max(most_experts, ep);
  for (const bool all_again : {question.recompute == Recompute::full, true})  // more stages rather than the whole forward again
    for (const int pp : detail::divisors(question.gpus, model.layers)) {
      if (model.mixture()) {
        if (auto found = fitting(1, pp, most_experts, all_again)) return found;
        continue;
      }
      for (const int tp : detail::divisors(node, node))
        if (pp == 1 || tp == node)
          if (auto found = fitting(tp, pp, 1, all_again)) return found;
    }
  return std::nullopt;
}

}  // namespace fabricost
