/// \file plan_train_text.cpp
/// Plans of training as text.

#include "cli/workloads/plan_text.hpp"

#include "cli/face.hpp"
#include "cli/report.hpp"
#include "text/text_table.hpp"

#include <fabricost/economics/terms.hpp>
#include <fabricost/explain/memory.hpp>
#include <fabricost/specs/stacks.hpp>
#include <fabricost/training/figures.hpp>
#include <fabricost/training/idle_gpus.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace fabricost::cli {
namespace {

[[nodiscard]] std::string layouts_text(const FoundPlan& a, const std::vector<PricedLayout>& layouts) {
  const bool mixture = a.question.model.mixture();
  std::vector<TextTable::Column> columns{
      {"step s", right},    {"tokens/s/GPU", right}, {"MFU %", right}, {"causal %", right}, {"GiB", right},
      {"exposed %", right}, {"tp", right},           {"pp", right},    {"vp", right},       {"cp", right}};
  if (mixture) columns.push_back({"ep", right});
  for (const char* title : {"dp", "zero", "microbatch"}) columns.push_back({title, right});
  const auto exchange = [](const PricedLayout& p) {
    return p.layout.cp > 1 ? context_names[static_cast<std::size_t>(p.layout.context)] : "";
  };
  const bool apart = std::any_of(layouts.begin(), layouts.end(), [&](const PricedLayout& p) { return exchange(p) == context_names[2]; });
  if (apart) columns.push_back({"cp-comm"});
  columns.push_back({"schedule"});
  columns.push_back({"recompute"});
  TextTable rows{columns};
  for (const PricedLayout& p : layouts) {
    const Layout& l = p.layout;
    const TrainingFigures f = figures_of(a.question, a.system, p.time.seconds);
    std::vector<std::string> cells{fmt::format("{:.4g}", p.time.seconds),
                                   fmt::format("{:.4g}", f.tokens_per_gpu),
                                   fmt::format("{:.1f}", 100 * f.mfu),
                                   fmt::format("{:.1f}", 100 * f.causal_mfu),
                                   fmt::format("{:.1f}", p.memory.total() / gibibyte),
                                   fmt::format("{:.1f}", 100 * p.time.exposed() / p.time.seconds)};
    for (const int size : {l.tp, l.pp, l.vp, l.cp}) cells.push_back(std::to_string(size));
    if (mixture) cells.push_back(std::to_string(l.ep));
    for (const int size : {l.dp, l.zero, l.microbatch}) cells.push_back(std::to_string(size));
    if (apart) cells.emplace_back(exchange(p));
    cells.emplace_back(name(l.schedule));
    cells.emplace_back(recompute_text(l));
    rows.row(cells);
  }
  return rows.text(2);
}

/// Which stacks to take where the one of the answer was not fitted.
[[nodiscard]] std::string fitted_stacks_text(Generation generation) {
  const std::vector<std::string> fitted = stacks_fitted_on(generation);
  if (fitted.empty())
    return fmt::format("No stack was fitted on {}: give --stack-scale, measured / predicted of one of your own steps.", name(generation));
  return fmt::format(
      "Fitted on {}: {}. Take the one that you run (--stack); if none is, give --stack-scale, measured / predicted of "
      "one of your own steps.",
      name(generation), fmt::join(fitted, ", "));
}

[[nodiscard]] std::string best_text(const FoundPlan& a, const PricedLayout& p) {
  TextTable rows{{{"term"}, {"s", right}, {"share", right}}};
  const std::vector<TimeTerm> terms = terms_of(p.time);
  for (const TimeTerm& term : terms)
    if (std::fabs(term.seconds) > 0)
      rows.row({std::string{term.name}, fmt::format("{:.4g}", term.seconds), fmt::format("{:.1f} %", 100 * share_of(term, terms))});
  rows.row({"total", fmt::format("{:.4g}", p.time.seconds), ""});
  const double factor = factor_in_terms(p.time);
  const TrainingFigures f = figures_of(a.question, a.system, p.time.seconds);
  std::string out = rows.text(2);
  if (factor < 1) out += fmt::format("  The factor {:.4g} of stack {} is in every term.\n", factor, a.question.stack.name);
  out += fmt::format(
      "\n  {:.4g} TFLOP/s per GPU (matrix products and all scores; {:.4g} with the scores a causal mask leaves)\n"
      "  {:.3g} GPU-hours per trillion tokens\n",
      1e-12 * f.flops_per_gpu, 1e-12 * f.causal_flops_per_gpu, f.gpu_hours_per_trillion);
  if (const double capacity = a.question.stack.capacity; capacity > 0 && capacity < 1)
    out += fmt::format("  A capacity of {:.3g} leaves {:.3g} % of the experts' rows uncomputed; FLOPs count those that are.\n", capacity,
                       100 * (1 - capacity));
  const bool known = a.question.stack.seen.of(a.system.gpu.generation), kin = a.system.constants.compute_kin;
  const bool no_experts = known && a.question.model.mixture() && !a.question.stack.seen.experts;
  out +=
      fmt::format("  Nine in ten steps should take {:.4g} to {:.4g} s: stack {}, {} on this GPU generation{}{}.\n", f.low, f.high,
                  a.question.stack.name, known ? "fitted" : "not measured",
                  known && kin ? fmt::format(", not on {} itself", a.system.gpu.name) : "", no_experts ? ", on no model with experts" : "");
  if (!known && !a.question.stack.scale_given) out += wrapped("  ", fitted_stacks_text(a.system.gpu.generation), 100);
  if (kernels_assumed(a.system)) out += wrapped("  ", assumed_kernels_text(a.system), 98);
  if (p.layout.gpus() < a.system.domain && a.system.domain > a.system.gpus_per_node) {
    out +=
        wrapped("  ",
                fmt::format("The job takes a part of a scale-up domain of {} GPUs; the others are free for other jobs. Compare, cost and "
                            "project pay for its own nodes where they are rented, and for the whole rack where it is bought.",
                            a.system.domain),
                98);
  } else if (const int idle = idle_gpus(p.layout, a.system.domain); idle > 0) {
    const int used = used_of_domain(p.layout, a.system.domain);
    out += fmt::format(
        "  {} GPUs of the scale-up domains it takes stay idle; figures a GPU leave them out{}.\n"
        "  compare and project pay for them too: they may take a slower layout that leaves fewer idle.\n",
        idle,
        used < a.system.domain && used < p.layout.gpus() ? fmt::format(": its groups fill {} of each {}", used, a.system.domain) : "");
  }
  return out;
}

}  // namespace

std::string text_of(const PlanAnswer& answer, const Terminal& terminal) {
  const FoundPlan& a = *answer.found;
  const TrainingQuestion& q = a.question;
  std::string out =
      terminal.strong(fmt::format("{} on {} {} GPUs, {} sequences of {} tokens a step, {}", q.model.name, q.gpus, a.system.name,
                                  q.global_batch, q.sequence, precision_names[static_cast<std::size_t>(q.precision)])) +
      "\n";
  if (!q.model.unread.empty()) out += wrapped("  ", unread_text(q.model), 100);
  if (!a.plan.fits) out += "  " + answer.advice + "\n";
  if (a.plan.fits && !answer.advice.empty()) out += wrapped("  ", answer.advice, 100);
  out += layouts_text(a, a.plan.layouts);
  out += fmt::format("  {} layouts priced, {} left out because they do not fit, {} because they cannot be among the best\n",
                     a.plan.evaluated, a.plan.unfit, a.plan.bounded);
  out += fmt::format("  MFU: every matrix product and all scores over the dense {} peak; causal: the scores that a causal mask leaves.\n",
                     precision_names[static_cast<std::size_t>(q.precision)]);
  if (const double headroom = headroom_of(q); headroom > 0)
    out += fmt::format("  {:.3g} % of a GPU's memory is left free{}.\n", 100 * headroom,
                       q.headroom ? "" : ", as a job needs that is to run (--headroom)");
  out += "\n" + terminal.strong("The fastest") + "\n" + best_text(a, a.plan.layouts.front());
  const Layout& best = a.plan.layouts.front().layout;
  out += "\n" + terminal.strong("Its memory") + "\n" +
         with_fields(memory_text(q.model, best, memory_stack(q, a.system, best), Processor::of(a.system).memory, headroom_of(q),
                                 a.system.domain, stated_host_room(a.system)),
                     as_option<PlanRequest>);
  if (!answer.sensitivity.empty()) {
    out += "\n" + terminal.strong("What would help") + "\n";
    TextTable rows{{{"change"}, {"step s", right}, {"faster by", right}}};
    for (const PlanChange& s : answer.sensitivity)
      rows.row({s.change, fmt::format("{:.4g}", s.step_seconds), fmt::format("{:+.2f} %", 100 * s.gain)});
    out += rows.text(2);
  }
  if (a.explained) out += "\n" + terminal.strong("Why") + "\n" + explain(*a.explained);
  if (!a.pareto.empty()) out += "\n" + terminal.strong("Faster, or smaller") + "\n" + layouts_text(a, a.pareto);
  return out;
}

}  // namespace fabricost::cli
