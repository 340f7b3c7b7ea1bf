#include <fabricost/hardware/slice.hpp>
#include <fabricost/plan/training/figures.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace fabricost::plan {

StepWork step_work(const Model& model, double sequence, double batch, double capacity, double document, bool frozen) {
  const double kept = capacity > 0 ? std::min(1.0, capacity) : 1;
  const double passes = frozen ? 2 : 3;  // forward and gradients of inputs and, trained, of weights
  const int mixed = model.expert_layers() + (model.mixture() ? model.predict_layers : 0);
  const double routed = 2 * passes * mixed * model.top_k * parameters_of(model).expert * sequence;
  const double attended = document > 0 ? std::min(document, sequence) : sequence;
  const double unlearned = frozen ? 2 * parameters_of(model).multiplied * sequence : 0;
  const auto count = [&](Scores scores) {
    const double all = sequence / attended * training_flops(model, attended, FlopConvention::matmul, scores);
    const double predicting = sequence / attended * passes * prediction_flops(model, attended, scores);
    return batch * (all + predicting - unlearned - (1 - kept) * routed);
  };
  return {count(Scores::full), count(Scores::causal), model.mixture(), !model.in_fits()};
}

StepWork step_work(const TrainingQuestion& q, int batch) {
  return step_work(q.model, q.sequence, batch > 0 ? batch : q.global_batch, q.stack.capacity, q.document.value_or(0), q.adapters.on());
}

TrainingRates rates_of(const System& system, const TrainingQuestion& q, double step_seconds, int batch) {
  const double tokens = static_cast<double>(batch > 0 ? batch : q.global_batch) * q.sequence, gpus = q.gpus, s = step_seconds;
  const double peak = Processor::of(system).peak(q.precision);
  const StepWork work = step_work(q, batch);
  TrainingRates out;
  out.tokens_per_gpu = tokens / (s * gpus);
  out.flops_per_gpu = std::min(peak, work.all_scores / (s * gpus));
  out.causal_flops_per_gpu = std::min(peak, work.causal / (s * gpus));
  out.mfu = out.flops_per_gpu / peak;
  out.causal_mfu = out.causal_flops_per_gpu / peak;
  out.gpu_hours_per_trillion = gpus * s / 3600 * 1e12 / tokens;
  return out;
}

TrainingRates rates_of(const System& system, const TrainingQuestion& q, const PricedLayout& priced) {
  return rates_of(system, q, priced.time.seconds, priced.layout.global_batch);
}

std::pair<double, double> step_interval(const StepTime& time, const StepParts& parts, const Stack& stack, GroupCosts& costs,
                                        Precision precision, const StepWork& work, double gpus) {
  const System& system = costs.system();
  const double least = std::max(time.least, work.min_seconds(gpus, Processor::of(system).peak(precision)));
  const double factor =
      std::exp(std::hypot(nine_in_ten * spread_on(stack, system, precision, work.experts, work.other_kind), network_width(time, parts, costs)));
  return {std::max(time.seconds / factor, std::min(time.seconds, least)), time.seconds * factor};
}

TrainingFigures figures_of(const System& system, const TrainingQuestion& q, const PricedLayout& priced) {
  const int working = priced.layout.gpus();
  if (system.pod > 0) return figures_of(slice_for(system, working), q, priced);
  TrainingFigures out{rates_of(system, q, priced), {}, {}};
  GroupCosts costs(system, {.ways = q.ways});
  Stack stack = q.stack;
  stack.memory = memory_on(stack.memory, system.gpu.generation);
  const StepParts parts = parts_of_step(q.model, priced.layout, stack, Processor::of(system), costs);
  std::tie(out.low, out.high) =
      step_interval(priced.time, parts, stack, costs, q.precision, step_work(q, priced.layout.global_batch), working);
  return out;
}

double forward_seconds(const System& system, const TrainingQuestion& q, const PricedLayout& priced) {
  GroupCosts costs{system, {.ways = q.ways}};
  const LayerTimes layers = layer_times(q.model, priced.layout, q.stack, Processor::of(system), costs);
  const LayerTime all = all_layers(q.model, layers);
  const StepTime& t = priced.time;
  const double once = t.data + t.accumulation + t.optimizer + t.offload;
  return (t.seconds - once) * (all.forward + layers.head / 3) / (all.sum() + layers.head);
}

}  // namespace fabricost::plan
