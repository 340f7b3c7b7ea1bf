#include <fabricost/plan/training/plan.hpp>

#include <fabricost/hardware/slice.hpp>
#include <fabricost/plan/memory/advice.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/parts.hpp>
#include <fabricost/plan/training/recommender.hpp>

#include "training/search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace fabricost::plan::detail {

/// The least time of a layout's work at the peak.
double min_seconds_of(const TrainingQuestion& q, const System& system, const Layout& layout) {
  return step_work(q, layout.global_batch).min_seconds(layout.gpus(), Processor::of(system).peak(q.precision));
}

/// The least factor of the stack, in thousandths, with which no step is shorter than its work: exchanges do not follow the factor, so that
/// each layout that is too fast is priced again.
double least_factor(TrainingQuestion q, const System& system, PricedLayout fastest) {
  GroupCosts costs(system, {.ways = q.ways});
  const Processor gpu = Processor::of(system);
  constexpr int whole = 1000, most_layouts = 8;
  for (int i = 0; i < most_layouts; ++i) {
    const double min = min_seconds_of(q, system, fastest.layout);
    int low = static_cast<int>(std::floor(whole * q.stack.scale)), high = whole;
    while (low < high) {
      const int middle = (low + high) / 2;
      q.stack.scale = static_cast<double>(middle) / whole;
      if (step_time(q.model, fastest.layout, q.stack, gpu, costs).seconds < min)
        low = middle + 1;
      else
        high = middle;
    }
    q.stack.scale = static_cast<double>(low) / whole;
    const TrainingPlan plan = TrainingSearch{q, system}.run();
    if (plan.layouts.empty() || plan.layouts.front().time.seconds >= min_seconds_of(q, system, plan.layouts.front().layout)) break;
    fastest = plan.layouts.front();
  }
  return q.stack.scale;
}

/// Four digits.
std::string four_digits(double x) {
  std::array<char, 32> out{};
  return {out.data(), static_cast<std::size_t>(std::snprintf(out.data(), out.size(), "%.4g", x))};
}

/// \throws RequestError for a step shorter than its work at peak rate (step_work.hpp), which an invalid
/// factor of the stack causes
void check_rate(const TrainingQuestion& q, const System& system, const PricedLayout& priced) {
  const double seconds = priced.time.seconds, min = min_seconds_of(q, system, priced.layout);
  if (!(seconds < min)) return;
  throw Refusal("a step of " + four_digits(seconds) + " s is shorter than its matrix products and scores take at the peak of " +
                std::to_string(priced.layout.gpus()) + " " + system.gpu.name + "s, " + four_digits(min) + " s" +
                (q.stack.scale < 1
                     ? (q.stack.scale_given ? ": the stack's factor (<stack_scale>) of " + four_digits(q.stack.scale) + " is too small; take"
                                            : ": the factor that was fitted for the stack, " + four_digits(q.stack.scale) +
                                                  ", is too small for so many scores; give <stack_scale>") +
                           " at least " + four_digits(least_factor(q, system, priced))
                     : "; look at the peak and the compute constants of " + system.name));
}

/// Whether only one layout of all GPUs is possible, which does not fit.
bool is_single(TrainingQuestion q, const System& system) {
  q.fewer = false;
  const TrainingPlan plan = TrainingSearch{q, system}.run();
  return plan.unfit == 1 && plan.bounded == 0;
}

/// The layout of a recommendation model on so many GPUs, which divide the batch: all are replicas of its dense layers.
Layout recommender_layout(const TrainingQuestion& q, int gpus) {
  Layout out;
  q.set_common(out);
  out.schedule = PipelineSchedule::none;
  out.dp = gpus;
  out.microbatch = q.global_batch / gpus;
  return out;
}

/// Its layout on all GPUs, or on the fewer that are faster. \throws RequestError where none fits, Refusal for a batch that the GPUs do not
/// divide
TrainingPlan plan_recommender(const TrainingQuestion& q, const System& system) {
  const Processor gpu = Processor::of(system);
  const double room = gpu.memory * (1 - headroom_of(q));
  GroupCosts costs(system, {.ways = q.ways});
  TrainingPlan out;
  const auto seconds_beside = [&](const PricedLayout& one) {  // all GPUs are plainer
    return one.time.seconds * (one.layout.gpus() == q.gpus ? 1 : 1 + q.plain_within);
  };
  for (int gpus = q.gpus; gpus >= (may_leave_idle(q) ? 1 : q.gpus); --gpus) {
    if (q.global_batch % gpus != 0) continue;
    PricedLayout one{recommender_layout(q, gpus), {}, {}};
    one.memory = worst_stage(q.model, one.layout, q.stack.memory);
    if (one.memory.total() > room) break;  // fewer have more of the tables
    one.time = recommender_step(q.model, one.layout, q.stack, gpu, costs);
    ++out.evaluated;
    if (out.layouts.empty() || seconds_beside(one) < seconds_beside(out.layouts.front())) out.layouts = {one};
  }
  if (!out.layouts.empty()) return out;
  if (q.global_batch % q.gpus != 0)
    throw Refusal("<global_batch> of " + std::to_string(q.global_batch) + " samples does not divide over " + std::to_string(q.gpus) +
                  " GPUs; take " + std::to_string((q.global_batch / q.gpus + 1) * q.gpus));
  const MemoryUse needed = worst_stage(q.model, recommender_layout(q, q.gpus), q.stack.memory);
  throw RequestError(
      q.model.name + " on " + std::to_string(q.gpus) + " GPUs needs " + memory_detail::gib(needed.total()) + " of " +
      memory_detail::gib(room) + " GiB a GPU; its tables are spread over all of them: take about " +
      std::to_string(static_cast<long long>(std::ceil(q.gpus * needed.states() / (room - needed.total() + needed.states())))) + " GPUs");
}

/// The most chips up to these that leave no slice of the pod in part.
int filling_slices(const System& system, int gpus) {
  const auto is_filled = [&](int chips) { return chips % slice_for(system, chips).domain == 0; };
  while (gpus > 1 && !is_filled(gpus)) --gpus;
  return gpus;
}

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

std::pair<System, TrainingPlan> plan_on_slices(const System& system, const TrainingQuestion& asked) {
  if (system.pod == 0) return {system, plan_training(system, asked)};
  System slice = slice_for(system, asked.gpus);
  TrainingPlan plan = plan_training(slice, asked);
  if (!may_leave_idle(asked)) return {std::move(slice), std::move(plan)};
  const auto fits = [](const TrainingPlan& one) { return one.fits && !one.layouts.empty(); };
  const auto try_slice_of = [&](int chips) {
    System another = slice_for(system, chips);
    if (another.domain == slice.domain) return;
    try {
      TrainingQuestion question = asked;
      question.gpus = chips;
      if (fits(plan)) question.wanted.most_seconds = std::min(asked.wanted.most_seconds, seconds_a_sequence(plan.layouts.front()));
      TrainingPlan other = plan_training(another, question);
      if (!fits(other) || (fits(plan) && is_faster(plan.layouts.front(), other.layouts.front()))) return;
      slice = std::move(another);
      plan = std::move(other);
    } catch (const RequestError&) {  // a named layout needs more chips
    }
  };
  if (asked.gpus % slice.domain != 0) try_slice_of(detail::filling_slices(system, asked.gpus));
  const Processor gpu = Processor::of(system);
  for (int chips = static_cast<int>(std::bit_floor(static_cast<unsigned>(asked.gpus))); chips > 1 && fits(plan); chips /= 2) {
    const PricedLayout& best = plan.layouts.front();
    if (step_work(asked, best.layout.global_batch).min_seconds(chips, gpu.peak(asked.precision)) >= best.time.seconds) break;
    try_slice_of(chips);
  }
  return {std::move(slice), std::move(plan)};
}

TrainingPlan plan_training(const System& system, const TrainingQuestion& asked) {
  if (system.pod > 0) return plan_on_slices(system, asked).second;
  TrainingQuestion question = as_named(asked);
  question.stack.memory = memory_on(question.stack.memory, system.gpu.generation);
  check(question, system);
  if (question.model.recommends()) return detail::plan_recommender(question, system);
  TrainingPlan plan = detail::TrainingSearch{question, system}.run();
  if (plan.layouts.empty() && !std::isinf(question.wanted.most_seconds)) return plan;
  if (plan.layouts.empty() && plan.nearest &&
      (detail::is_single(question, system) || names_one_layout(question))) {  // named: priced even if it does not fit
    const std::optional<PricedLayout> nearest = plan.nearest;
    plan = detail::TrainingSearch{question, system, true}.run();
    plan.nearest = nearest;
    plan.fits = plan.layouts.empty();
  }
  if (!plan.layouts.empty()) detail::check_rate(question, system, plan.layouts.front());
  if (!plan.layouts.empty() || plan.nearest) return plan;
  if (question.wanted.within_given) {
    question.wanted = {};
    if (const TrainingPlan more = detail::TrainingSearch{question, system}.run(); !more.layouts.empty())
      throw RequestError("all layouts leave GPUs idle between their groups; the fastest needs " +
                         std::to_string(needed_gpus(more.layouts.front().layout, system.domain)) + " GPUs with these");
  }
  if (question.ep.value_or(1) > 1 && !question.model.mixture())
    throw RequestError(question.model.name + " has no experts; leave <ep> out, it is ep 1");
  if (question.tp && question.pp && question.cp && question.dp) {
    const long long all = 1LL * *question.tp * *question.pp * *question.cp * *question.dp;
    if (all != question.gpus)
      throw RequestError("tp " + std::to_string(*question.tp) + " x pp " + std::to_string(*question.pp) + " x cp " +
                         std::to_string(*question.cp) + " x dp " + std::to_string(*question.dp) + " are " + std::to_string(all) +
                         " GPUs, not " + std::to_string(question.gpus) + "; leave one of them out, or take that many GPUs");
  }
  const std::string why = why_impossible(question.model, detail::stated(question), question.gpus);
  if (!why.empty()) throw RequestError(why);
  if ((names_one_layout(question) && question.dp) || question.ep.value_or(1) > 1) {
    GroupCosts costs(system, {.ways = question.ways});  // says which ranks the machine cannot join
    (void)layer_times(question.model, detail::stated(question), question.stack, Processor::of(system), costs);
  }
  if (question.recompute_layers && !question.vp && question.stack.runs.recomputes == Recomputes::chunks)
    throw Refusal("<recompute_num_layers> " + std::to_string(*question.recompute_layers) + ": the program of stack " + question.stack.name +
                  " recomputes as many layers of each chunk of a stage, and no layout here has so many in all; take another number, leave it "
                  "out for the fewest that fit, or give <vp> to price it nevertheless");
  // the given fields have no fault: mostly replicas outnumber sequences or do not divide the batch
  const int near = nearest_divisor(question.global_batch, std::min(question.gpus, question.global_batch));
  throw RequestError("no layout of " + std::to_string(question.gpus) + " GPUs divides a batch of " + std::to_string(question.global_batch) +
                     " sequences and the layers and heads of " + question.model.name + "; take " +
                     (near != question.gpus ? std::to_string(near) + " GPUs, or " : std::string{}) + "another batch");
}

namespace {

/// Leaves nothing of a layout to the search.
void name_all(TrainingQuestion& q, const Layout& l) {
  q.tp = l.tp, q.pp = l.pp, q.vp = l.vp, q.cp = l.cp, q.ep = l.ep, q.dp = l.dp, q.expert_tp = l.expert_tp, q.zero = l.zero;
  q.microbatch = l.microbatch;
  if (l.pp > 1) q.schedule = l.schedule;
  if (l.cp > 1) q.context = l.context;
  q.placing = l.placing;
  q.recompute = l.recompute;
  q.recompute_modules = l.recompute_modules;
  if (l.recompute_layers > 0) q.recompute_layers = l.recompute_layers;
  if (l.offload_optimizer > 0) q.offload_optimizer = l.offload_optimizer;
  q.split = l.split;
}

}  // namespace

double explain_measured(const System& system, TrainingQuestion& q, double seconds) {
  if (!names_one_layout(q)) throw Refusal("<measured_step_seconds> is of one layout: name it with <tp>, <pp> and <dp>", true);
  const PricedLayout named = plan_training(system, q).layouts.front();
  name_all(q, named.layout);
  GroupCosts costs(system, {.ways = q.ways});
  const Processor gpu = Processor::of(system);
  Stack stack = q.stack;
  stack.memory = memory_on(stack.memory, system.gpu.generation);
  stack.scale_given = true;
  const auto step = [&](double scale) {
    stack.scale = scale;
    return step_time(q.model, named.layout, stack, gpu, costs).seconds;
  };
  constexpr int most_scale = 5;  // as stack_scale may be
  double low = 1.0 / most_scale, high = most_scale;
  if (const double least = step(low), most = step(high); !(seconds > least && seconds < most)) {
    throw Refusal("<measured_step_seconds> of " + detail::four_digits(seconds) + " s: with factors from 0.2 to 5 this layout takes " + detail::four_digits(least) + " to " + detail::four_digits(most) +
                  " s; look at what else differs from the run");
  }
  constexpr int halvings = 60;
  for (int i = 0; i < halvings; ++i) {
    const double middle = std::sqrt(low * high);
    (step(middle) < seconds ? low : high) = middle;
  }
  q.stack.scale_given = true;
  return q.stack.scale = std::sqrt(low * high);
}

std::optional<PricedLayout> usual_layout(const System& system, const TrainingQuestion& question) {
  const Model& model = question.model;
  TrainingQuestion q = question;
  q.headroom = headroom_of(question);
  q.top = 1;
  q.zero = q.zero.value_or(1);
  q.microbatch = q.microbatch.value_or(1);
  q.cp = q.cp.value_or(1);
  const int node = std::min(system.gpus_per_node > 1 ? system.gpus_per_node : 8, system.domain);
  const auto fitting = [&](int tp, int pp, int ep, bool all_again) -> std::optional<PricedLayout> {
    q.tp = question.tp.value_or(tp);
    q.pp = question.pp.value_or(pp);
    if (model.mixture()) q.ep = question.ep.value_or(ep);
    for (const Recompute again : {Recompute::none, Recompute::selective, Recompute::full}) {
      if (question.recompute.value_or(again) != again || (again == Recompute::full && !all_again)) continue;
      q.recompute = again;
      try {
        TrainingPlan plan = plan_training(system, q);
        if (plan.fits && !plan.layouts.empty()) return plan.layouts.front();
      } catch (const RequestError&) {
        return std::nullopt;  // these ranks do not divide the job
      }
    }
    return std::nullopt;
  };
  const std::vector<int> widths = divisors(node, question.max_tp > 0 ? std::min(node, question.max_tp) : node);
  int most_experts = 1;
  for (const int ep : divisors(std::max(1, model.experts), std::max(8, system.domain))) most_experts = std::max(most_experts, ep);
  for (const bool all_again : {question.recompute == Recompute::full, true})  // more stages rather than the whole forward again
    for (const int pp : divisors(question.gpus, model.layers)) {
      if (model.mixture()) {
        if (auto found = fitting(1, pp, most_experts, all_again)) return found;
        continue;
      }
      for (const int tp : widths)
        if (pp == 1 || tp == widths.back())
          if (auto found = fitting(tp, pp, 1, all_again)) return found;
    }
  return std::nullopt;
}

std::vector<StepSensitivity> sensitivity_of(const System& system, const TrainingQuestion& question) {
  std::vector<StepSensitivity> out;
  TrainingQuestion one = question;
  one.top = 1;
  one.plain_within = 0;
  one.batch_within = 0;
  const TrainingPlan before = plan_training(system, one);
  if (before.layouts.empty()) return out;
  for_each_change(system, [&](const std::string& change, const System& other) {
    const TrainingPlan plan = plan_training(other, one);
    if (plan.layouts.empty()) return;
    const double now = plan.layouts.front().time.seconds;
    out.push_back({change, now, before.layouts.front().time.seconds / now - 1});
  });
  std::stable_sort(out.begin(), out.end(), [](const StepSensitivity& a, const StepSensitivity& b) { return a.gain > b.gain; });
  return out;
}

std::vector<PricedLayout> pareto_of(const System& system, TrainingQuestion question) {
  std::vector<PricedLayout> out;
  question.top = 1;
  question.plain_within = 0;
  const TrainingPlan fastest = plan_training(system, question);
  if (fastest.layouts.empty()) return out;
  question.gpus = fastest.layouts.front().layout.gpus();
  question.global_batch = fastest.layouts.front().layout.global_batch;
  question.prune = false;
  question.top = 10000000;
  double least = std::numeric_limits<double>::infinity();
  for (const PricedLayout& p : plan_training(system, question).layouts)  // fastest first
    if (out.empty() || p.memory.total() < least) {
      least = p.memory.total();
      if (std::none_of(out.begin(), out.end(), [&](const PricedLayout& one) { return detail::are_twins(one.layout, p.layout, system.domain); }))
        out.push_back(p);
    }
  return out;
}

}  // namespace fabricost::plan
