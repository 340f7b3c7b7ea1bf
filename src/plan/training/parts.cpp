#include <fabricost/plan/training/parts.hpp>
#include <fabricost/plan/training/recommender.hpp>

#include <array>

namespace fabricost::plan {

/// Kernels and exchanges of a recommendation model's step.
StepParts recommender_parts(const Model& model, const Layout& layout, const Stack& stack, const Processor& bare, GroupCosts& costs) {
  const Processor gpu = driven_by(stack, layout, bare);
  const detail::RecommenderStep step{model, layout, stack, gpu, costs};
  const auto dense = step.dense();
  StepParts out;
  out.layers = model.layers;
  out.kernels.products = 3 * dense.products;
  out.kernels.element = 3 * stack.elementwise * element_seconds(gpu, dense.traffic);
  if (layout.dp < 2) return out;
  const Placement all = step.everyone();
  const auto add = [&](StepGroup group, Collective collective, double bytes, double count) {
    out.exchanges.push_back({group, collective, all, bytes, costs.seconds(collective, all, bytes), count});
  };
  add(StepGroup::rows, Collective::all_to_all, step.exchanged_bytes(), 2);
  add(StepGroup::data, Collective::all_reduce, step.gradient_bytes(), 1);
  return out;
}

StepParts parts_of_step(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu, GroupCosts& costs) {
  if (model.recommends()) return recommender_parts(model, layout, stack, gpu, costs);
  const LayerTimes layers = layer_times(model, layout, stack, gpu, costs);
  const Processor driven = driven_by(stack, layout, gpu);
  const StepModel step{model, layout, stack, driven, gpu, costs, layers, long_stages(model, layout)};
  const StepModel::Stages at = step.stages();
  Layout of_stage = layout;  // repeats of each layer what the fullest stage does on the mean
  if (!layout.recompute_by_stage.empty()) {
    if (at.fullest.again == 0) of_stage = without_recompute(layout);
    of_stage.recompute_layers = at.fullest.again * model.layers / std::max(1, at.fullest.layers);
  }
  const LayerModel layer{model, of_stage, stack, driven, costs};
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
    const LayerModel::Kernels k = layer.kernels(parts);
    const LayerModel::BackwardWork back = layer.backward_work(k, experts);
    StepKernels& sum = out.kernels;
    sum.products += times * (k.products + back.products);
    sum.attention += times * (k.core + back.core);
    sum.scan += times * (k.scan + back.scan);
    sum.element += times * (k.element + back.element);
    sum.adapters += times * (k.adapters + back.adapters);
    const bool full = of_stage.recompute == Recompute::full;
    sum.repeated += times * (back.repeated + (full ? layer.again() * layer.repeated_in_full(k) : 0));
    for (const LayerExchange& x : layer.exchanges(parts))
      out.exchanges.push_back({x.group, x.collective, x.at, x.bytes, x.seconds, times * (x.forward + layer.in_backward(x, parts))});
  }
  if (layout.pp == 1) out.kernels.head = micro * at.ends;
  if (at.fullest.embedding) out.kernels.vision = micro * layers.vision.kernels;
  if (layout.pp > 1) {
    const double chunks = layout.vp, bytes = step.handed_over();
    const bool across = step.hands_over_across();
    const Placement pair = across ? Placement{1, 2} : Placement{2, 1};
    out.exchanges.push_back({StepGroup::stages, Collective::send_recv, pair, bytes, costs.send(across, bytes), 2 * chunks * micro});
  }
  for (const DataExchange& x : step.data_exchanges(at.local, at.trained))
    out.exchanges.push_back({x.group, x.collective, x.at, x.bytes, x.seconds, (micro - 1) * x.each + x.last});
  return out;
}

double network_width(const StepTime& time, const StepParts& parts, GroupCosts& costs) {
  if (!(time.seconds > 0)) return 0;
  struct Sum {
    double seconds = 0, widths = 0;
  };
  const std::array exposed{time.tensor, time.context, time.expert, time.pipeline, time.data, time.rows};  // in the order of StepGroup
  std::array<Sum, exposed.size()> groups{};
  for (const StepExchange& x : parts.exchanges) {
    if (!(x.total() > 0)) continue;
    const Path path = x.group == StepGroup::stages && x.at.domains > 1 ? Path::nic : Path::gpu_gpu;
    const StepGroup term = x.group == StepGroup::expert_data ? StepGroup::data : x.group;  // shared parameters and experts are one term
    Sum& of = groups[std::min(groups.size() - 1, static_cast<std::size_t>(term))];
    of.seconds += x.total();
    of.widths += x.total() * costs.half_width(x.collective, x.at, x.bytes, path);
  }
  double out = 0;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i].seconds > 0) out += exposed[i] / time.seconds * groups[i].widths / groups[i].seconds;
  return out;
}

}  // namespace fabricost::plan
