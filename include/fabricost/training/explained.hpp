#pragma once
/// \file explained.hpp
/// The parts of a step of a layout, by the functions that price it: kernels by kind; every collective, with how often a rank of the
/// fullest stage needs it; and the layout that practitioners would take.
///
///   total of a collective   count x seconds of one; the step's term is the part that other work does not hide

#include <fabricost/training/plan.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace fabricost {

/// A collective of a step, as a rank of the fullest stage takes part in it.
struct StepExchange {
  StepGroup group = StepGroup::tensor;
  Collective collective = Collective::all_reduce;
  Placement at;
  double bytes = 0, seconds = 0, count = 0;
  [[nodiscard]] double total() const { return count * seconds; }
};

/// Seconds of a step's kernels on the fullest stage; they sum to StepTime::compute.
struct StepKernels {
  double products = 0, attention = 0, scan = 0, element = 0, adapters = 0, repeated = 0, head = 0;
};

struct StepParts {
  StepKernels kernels;
  std::vector<StepExchange> exchanges;
  int layers = 0;  ///< of the fullest stage
  double microbatches = 1;
};

/// \throws RequestError as step_time
[[nodiscard]] inline StepParts parts_of_step(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu,
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
      out.exchanges.push_back(
          {x.group, x.collective, x.at, x.bytes, x.seconds, times * (x.forward + layer.in_backward(x, parts))});
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

/// The layout by the rule that practitioners state (Narayanan et al., arXiv 2104.04473, takeaways 1 and 2, for dense models: tensor ranks
/// up to the GPUs of a node until the model fits, then the fewest stages; Megatron-Core's guide to mixtures of experts: experts spread over
/// the NVLink domain and no tensor ranks), with one sequence a microbatch and a distributed optimizer; nothing where none fits.
[[nodiscard]] inline std::optional<PricedLayout> usual_layout(const TrainingQuestion& question, const System& system) {
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
