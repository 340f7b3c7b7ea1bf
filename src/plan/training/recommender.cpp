#include <fabricost/plan/training/recommender.hpp>

namespace fabricost::plan::detail {

RecommenderStep::Dense RecommenderStep::dense() const {
  const Recommender& r = m.recommender;
  const double vectors = r.tables + 1, inputs = vectors * r.width;
  Dense out;
  layers(out, r.bottom.front(), std::span{r.bottom}.subspan(1));
  layers(out, r.top_inputs(), r.top);
  for (int i = 0; i < r.cross_layers; ++i) {
    layer(out, inputs, r.cross_rank);
    layer(out, r.cross_rank, inputs);
    out.traffic += block_traffic(l.microbatch, inputs);  // times the first input, plus the layer's own
  }
  if (r.cross_layers == 0) {
    out.products += product_seconds(gpu, Precision::bf16, l.microbatch * vectors, vectors, r.width, l.microbatch);
    out.traffic += block_traffic(l.microbatch, inputs);
    ++out.count;
  }
  return out;
}

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

StepTime recommender_step(const Model& model, const Layout& layout, const Stack& stack, const Processor& bare, GroupCosts& costs) {
  const Processor gpu = driven_by(stack, layout, bare);
  const detail::RecommenderStep step{model, layout, stack, gpu, costs};
  const auto dense = step.dense();
  const double work = dense.products + stack.elementwise * element_seconds(gpu, dense.traffic), floor = step.floor(dense);
  const double q = gpu.constants.floor_overlap, forward = p_norm(work, floor, q), backward = p_norm(2 * work, 2 * floor, q);
  StepTime out;
  out.compute = 3 * work;
  out.floor = forward + backward - out.compute;
  out.tables = stream_seconds(gpu, step.table_bytes());
  LinkTime links;
  if (layout.dp > 1) {
    const Placement all = step.everyone();
    const double vectors = step.exchanged_bytes(), gradients = step.gradient_bytes();
    out.rows = 2 * costs.seconds(Collective::all_to_all, all, vectors);
    const double reduced = costs.seconds(Collective::all_reduce, all, gradients);
    out.data = reduced - std::min((1 - stack.data_exposed) * reduced, backward);
    links.add(costs.min(Collective::all_to_all, all, vectors), 2);
    links.add(costs.min(Collective::all_reduce, all, gradients), 1);
  }
  out.optimizer = update_seconds(bare, stack, parameters_of(model).multiplied);
  out.seconds = forward + backward + out.tables + out.rows + out.data + out.optimizer;
  out.least = links.least();
  if (const double more = out.least - out.seconds; more > 0) {
    out.data += more;
    out.seconds = out.least;
  }
  out.stragglers = waiting_for_slowest(gpu, domains_taken(layout, costs.system().domain)) * out.seconds;
  out.seconds += out.stragglers;
  return out;
}

}  // namespace fabricost::plan
