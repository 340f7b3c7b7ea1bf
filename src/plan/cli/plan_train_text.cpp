/// Plans of training as text.

#include "answers/job_verdict.hpp"
#include "cli/plan_text.hpp"

#include "cli/question_command.hpp"
#include "text/amounts.hpp"
#include "text/joined.hpp"
#include "text/term_words.hpp"

#include <fabricost/plan/economics/terms.hpp>
#include <fabricost/plan/explain/memory.hpp>
#include <fabricost/plan/explain/step.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/idle_gpus.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>

namespace fabricost::cli {

std::string unread_text(const Model& model) {
  return model.unread.empty() ? std::string{}
                              : fmt::format(
                                    "Not read of its config.json: {}. If the model's shape follows from them, describe it as in "
                                    "data/models.",
                                    model.unread);
}

namespace {

/// What a sequence is made of.
[[nodiscard]] std::string_view pieces_of(const Model& model) { return model.recommends() ? "samples" : model.patch_pixels > 0 ? "patches" : "tokens"; }

[[nodiscard]] std::string tenths(double value) { return fmt::format("{:.1f}", value); }

void add_layouts(Page& page, const FoundPlan& a, const std::vector<PricedLayout>& layouts) {
  const bool mixture = a.question.model.mixture();
  const auto exchange = [](const PricedLayout& p) {
    return std::string{p.layout.cp > 1 ? context_names[static_cast<std::size_t>(p.layout.context)] : ""};
  };
  const auto any = [&](auto&& of) { return std::any_of(layouts.begin(), layouts.end(), of); };
  const bool apart = any([&](const PricedLayout& p) { return exchange(p) == context_names[2]; });
  const bool fewer = any([&](const PricedLayout& p) { return p.layout.gpus() != a.question.gpus; });
  const bool other = any([&](const PricedLayout& p) { return p.layout.global_batch != a.question.global_batch; });
  const bool strands = any([&](const PricedLayout& p) { return idle_beyond(p.layout, a.system, a.question.gpus) > 0; });
  const bool placed = any([&](const PricedLayout& p) { return p.layout.placing != Placing::data_inside; });
  const bool experts_divided = any([&](const PricedLayout& p) { return p.layout.expert_tp > 1; });
  const bool first = any([&](const PricedLayout& p) { return p.layout.split.first > 0; });
  const bool last = any([&](const PricedLayout& p) { return p.layout.split.last > 0; });
  constexpr double misleads = 1.25;  // MFU over that of causal scores
  const bool masked = any([&](const PricedLayout& p) {
    const TrainingRates f = rates_of(a.system, a.question, p);
    return f.mfu > misleads * f.causal_mfu;
  });
  page.table({fewer ? ">GPUs" : "", other ? ">batch" : "", ">step s", fmt::format(">{}/s/GPU", pieces_of(a.question.model)), ">MFU %", masked ? ">causal %" : "", ">GiB", ">tp", ">pp", ">vp", ">cp", mixture ? ">ep" : "", experts_divided ? ">expert-tp" : "", ">dp", ">zero",
              ">mb", "recompute", "schedule", placed ? "placing" : "", first ? ">first stage" : "", last ? ">last stage" : "", apart ? "cp-comm" : "", ">exposed %", masked ? "" : ">causal %", strands ? ">idle" : ""},
             layouts, [&](const PricedLayout& p) {
               const Layout& l = p.layout;
               const TrainingRates f = rates_of(a.system, a.question, p);
               const auto size = [](int ranks) { return std::to_string(ranks); };
               const auto layers = [](int count) { return count > 0 ? fmt::format("{} layers", count) : ""; };
               return cells(fewer ? size(l.gpus()) : "", other ? size(l.global_batch) : "", figure(p.time.seconds), figure(f.tokens_per_gpu), tenths(100 * f.mfu), masked ? tenths(100 * f.causal_mfu) : "", tenths(p.memory.total() / gibibyte),
                            size(l.tp), size(l.pp), size(l.vp), size(l.cp), mixture ? size(l.ep) : "", experts_divided ? size(l.expert_tp) : "", size(l.dp), size(l.zero), size(l.microbatch),
                            recompute_text(l), name(l.schedule), placed ? placing_names[static_cast<std::size_t>(l.placing)] : "", first ? layers(l.split.first) : "", last ? layers(l.split.last) : "", apart ? exchange(p) : "", tenths(100 * p.time.exposed() / p.time.seconds),
                            masked ? "" : tenths(100 * f.causal_mfu), strands ? size(idle_beyond(l, a.system, a.question.gpus)) : "");
             });
}

/// Which stacks to take where the one of the answer was not fitted.
[[nodiscard]] std::string fitted_stacks_text(Generation generation) {
  const std::vector<std::string> fitted = stacks_fitted_on(generation);
  if (fitted.empty())
    return fmt::format("No stack was fitted on {}: measure one step of a layout and give it as --measured-step.", name(generation));
  return fmt::format(
      "Fitted on {}: {}. Pass your stack with --stack. If it is not listed, measure one step of a layout and "
      "give it as --measured-step.",
      name(generation), joined(fitted));
}

/// "512 of 576 GPUs and 504 of 512 sequences: ...", where a layout is not of the job given.
[[nodiscard]] std::string job_text(const TrainingQuestion& q, const Layout& l) {
  std::vector<std::string> what;
  if (const int idle = q.gpus - l.gpus(); idle > 0)
    what.push_back(fmt::format("{} of {} GPUs work, {} stay idle: no layout of all {} is as fast. Figures a GPU are of all {}, which are paid for.",
                               l.gpus(), q.gpus, idle, q.gpus, q.gpus));
  if (l.global_batch != q.global_batch)
    what.push_back(fmt::format("{} sequences a step instead of {} ({:+.1f} %): they divide better.", l.global_batch, q.global_batch,
                               100.0 * l.global_batch / q.global_batch - 100));
  return joined(what, " ");
}

/// What the fastest layout takes, where the first is a plainer one.
[[nodiscard]] std::string plainer_text(const PlanAnswer& answer) {
  if (!answer.fastest || figure(answer.fastest->value()) == figure(answer.layouts.front().step.value())) return {};
  return fmt::format("The fastest takes {} s; this one is within 1 % of it and plainer.", figure(answer.fastest->value()));
}

/// Where the layouts are so close to each other that other reasons decide.
[[nodiscard]] std::string alike_text(const FoundPlan& a) {
  const std::vector<PricedLayout>& all = a.plan.layouts;
  constexpr double close = 1.05;
  if (all.size() < 2 || !a.plan.fits) return {};
  const auto [fastest, slowest] = std::ranges::minmax_element(all, {}, seconds_a_sequence);
  const double apart = seconds_a_sequence(*slowest) / seconds_a_sequence(*fastest);
  if (apart > close) return {};
  return fmt::format("These {} layouts are within {:.2g} %: take the one that is easiest to run.", all.size(), 100 * (apart - 1));
}

/// "<tp=1> <pp=4> ...": the fields that name this one of the job's layouts.
[[nodiscard]] std::string fields_naming(const TrainingQuestion& q, const Layout& l) {
  std::string out;
  const auto add = [&](std::string_view field, const auto& value) { out += fmt::format("{}<{}={}>", out.empty() ? "" : " ", field, value); };
  if (l.gpus() != q.gpus) add("gpus", l.gpus());
  if (l.global_batch != q.global_batch) add("global_batch", l.global_batch);
  add("tp", l.tp);
  add("pp", l.pp);
  add("vp", l.vp);
  add("cp", l.cp);
  if (q.model.mixture()) add("ep", l.ep);
  if (l.expert_tp > 1) add("expert_tp", l.expert_tp);
  add("dp", l.dp);
  add("zero", l.zero);
  if (l.shard > 0) add("shard", l.shard);
  add("microbatch", l.microbatch);
  if (l.pp > 1) add("schedule", name(l.schedule));
  if (l.split.first > 0) add("decoder_first_pipeline_num_layers", l.split.first);
  if (l.split.last > 0) add("decoder_last_pipeline_num_layers", l.split.last);
  add("recompute", recompute_names[static_cast<std::size_t>(l.recompute)]);
  if (l.recompute == Recompute::selective && !l.recompute_modules.empty()) add("recompute_modules", names_of(l.recompute_modules));
  if (l.recompute_layers > 0) add("recompute_num_layers", l.recompute_layers);
  if (!l.recompute_by_stage.empty()) add("recompute_num_layers_per_stage", fmt::to_string(fmt::join(l.recompute_by_stage, ",")));
  if (l.offload_layers > 0) add("cpu_offloading_num_layers", l.offload_layers);
  if (l.offload_optimizer > 0) add("optimizer_offload_fraction", l.offload_optimizer);
  if (l.tp > 1) add("sequence_parallel", l.sequence_parallel ? "yes" : "no");
  if (l.cp > 1) add("cp_comm_type", context_names[static_cast<std::size_t>(l.context)]);
  if (l.zero == 3 && !l.reshards) add("reshard_after_forward", "no");
  add("placing", placing_names[static_cast<std::size_t>(l.placing)]);
  return out;
}

void add_first(Page& page, const FoundPlan& a, const PricedLayout& p) {
  constexpr double least_shown = 5e-4;  // of the step: less is printed as 0.0 %
  TextTable rows{"term", ">s", ">share"};
  const std::vector<StepTerm> terms = terms_of(p.time);
  for (const StepTerm& term : terms)
    if (std::fabs(term.seconds()) > least_shown * p.time.seconds)
      rows.row(std::string{term_words(term.name)}, figure(term.seconds()), percent(share_of(term.time, terms), 1));
  rows.row("total", figure(p.time.seconds));
  page.table(rows);
  const Stack& stack = a.question.stack;
  const TrainingFigures f = figures_of(a.system, a.question, p);
  if (const std::string factor = factor_text(stack); !factor.empty()) page.say(factor);
  page.add("\n");
  const bool causal = a.question.model.causal();
  page.line("{:.4g} TFLOP/s per GPU (matrix products and all scores{})", 1e-12 * f.flops_per_gpu,
            causal ? fmt::format("; {:.4g} with the scores a causal mask leaves", 1e-12 * f.causal_flops_per_gpu) : "");
  if (f.mfu >= 1) page.say("With all scores MFU would be above 100 %, since kernels skip those that the mask discards: go by the causal one.");
  page.line("{} GPU-hours per trillion {}", count_text(f.gpu_hours_per_trillion), pieces_of(a.question.model));
  if (stack.capacity > 0 && stack.capacity < 1)
    page.say("A capacity of {:.3g} drops {:.3g} % of the tokens' choices: no expert computes them, which costs loss. FLOPs count the others.",
             stack.capacity, 100 * (1 - stack.capacity));
  const bool known = stack.seen.of(a.system.gpu.generation), sibling = a.system.constants.compute_related;
  const bool no_experts = known && a.question.model.mixture() && !stack.seen.experts;
  if (stack.scale_given)
    page.line("Nine in ten steps should take {} to {} s: stack {}, its factor by a step of your own.", figure(f.low), figure(f.high), stack.name);
  else
    page.line("Nine in ten steps should take {} to {} s: stack {}, {} on this GPU generation{}{}{}.", figure(f.low), figure(f.high), stack.name,
              known ? "fitted" : "not measured", known && sibling ? fmt::format(", not on {} itself", a.system.gpu.name) : "",
              no_experts ? ", on no model with experts" : "",
              a.question.model.in_fits() ? "" : ", and no fit has seen a model of this kind");
  if (!known && !stack.scale_given) page.say(fitted_stacks_text(a.system.gpu.generation));
  page.width = 98;
  if (kernels_assumed(a.system)) page.say(assumed_kernels_text(a.system));
  if (a.question.gpus < a.system.domain && a.system.domain > a.system.gpus_per_node) {
    page.say(
        "The job takes a part of a scale-up domain of {} GPUs; the others are free for other jobs. Compare, cost and "
        "project pay for its own nodes where they are rented, and for the whole rack where it is bought.",
        a.system.domain);
  } else if (const int idle = idle_beyond(p.layout, a.system, a.question.gpus); idle > 0) {
    const int used = used_of_domain(p.layout, a.system.domain);
    page.line(
        "{} GPUs of the scale-up domains it takes stay idle; figures a GPU leave them out{}.", idle,
        used < a.system.domain && used < p.layout.gpus() ? fmt::format(": its groups fill {} of each {}", used, a.system.domain) : "");
    if (const int needed = needed_gpus(p.layout, a.system.domain); needed > a.question.gpus)
      page.line("It runs on {} GPUs or more: {} that work, and those idle in each of its domains but the last.", needed, p.layout.gpus());
    page.line("compare and project pay for them too: they may take a slower layout that leaves fewer idle.");
  }
}

[[nodiscard]] std::string site_term_words(const std::string& name) {
  return name == "step" ? "step of a site alone" : std::string{term_words(name)};
}

void add_sites(Page& page, const PlannedSites& a) {
  page.section("Over {} sites, {} GPUs", a.sites, a.gpus);
  TextTable rows{"term", ">s", ">share"};
  for (const StepTerm& term : a.terms) rows.row(site_term_words(term.name), figure(term.seconds()), percent(term.time / a.step, 1));
  rows.row("step with exchange", figure(a.step.value()));
  page.table(rows);
  page.line("{} tokens/s of all sites, {} useful ({}); bottleneck: {}; the links are busy {} of the time", count_text(a.tokens_per_second),
            count_text(a.useful_tokens_per_second),
            a.penalty_extrapolated ? "if rounds cost what published ones did, which is not known" : "for the same loss",
            site_term_words(a.bottleneck), percent(a.link_use, 1));
  page.line("data parallelism over the same links: {} s a step, {} tokens/s, {:.3g} times as many as the useful ones here",
            figure(a.plain_step.value()), count_text(a.plain_tokens_per_second), 1 / a.gain);
  for (const std::string& sentence : a.how) page.say(sentence);
}

}  // namespace

void text_of(Page& page, const PlanAnswer& answer) {
  const FoundPlan& a = *answer.found;
  const TrainingQuestion& q = a.question;
  const std::string_view precision = precision_names[static_cast<std::size_t>(q.precision)];
  page.title(verdict_of(answer));
  page.say("{} on {} {} {}, {} a step, {}", q.model.name, q.gpus, a.system.name, a.system.gpu.generation == Generation::tpu ? "chips" : "GPUs",
           q.model.recommends() ? fmt::format("{} samples", q.global_batch)
                                : fmt::format("{} sequences of {} {}", q.global_batch, q.sequence, pieces_of(q.model)),
           q.precision == Precision::fp8 ? std::string{q.block_scales() ? "block-scaled fp8" : "tensorwise fp8"} : std::string{precision});
  const std::string plainer = plainer_text(answer);
  if (!plainer.empty()) page.say(plainer);
  constexpr double absurd = 1e9;  // tokens of a step: more than any run's
  if (!q.model.recommends() && double(q.global_batch) * q.sequence > absurd)
    page.say("The batch is in sequences: {0} are {1:.3g} tokens a step. {0} tokens are {2} sequences: --global-batch {2}.", q.global_batch,
             double(q.global_batch) * q.sequence, std::max(1, q.global_batch / q.sequence));
  if (!q.model.unread.empty()) page.say(unread_text(q.model));
  if (q.model.frozen && q.global_batch % 2 == 1)
    page.say("DPO takes sequences in pairs, one chosen and one rejected: {} are no pairs.", q.global_batch);
  if (!a.plan.fits) page.line(answer.advice);
  if (a.plan.fits && !answer.advice.empty()) page.say(answer.advice);
  page.add("\n");
  add_layouts(page, a, a.plan.layouts);
  if (const std::string alike = alike_text(a); !alike.empty()) page.say(alike);
  if (const std::string job = job_text(q, a.plan.layouts.front().layout); !job.empty()) page.say(job);
  if (a.question.precision == Precision::fp8 && !Processor::of(a.system).has_fp8_units())
    page.say("{} has no fp8 units: products run at the bf16 rate, and their casts come on top.", a.system.gpu.name);
  if (a.plan.fits && a.plan.layouts.size() > 1 && !q.model.recommends())
    page.say("The first by name: {}", with_fields(fields_naming(q, a.plan.layouts.front().layout), as_option<PlanRequest>));
  page.line("{} layouts: {} evaluated, {} out of memory, {} pruned", a.plan.evaluated + a.plan.unfit + a.plan.bounded,
            a.plan.evaluated, a.plan.unfit, a.plan.bounded);
  page.line("MFU: every matrix product and all scores over the dense {} peak{}.", precision,
            q.model.causal() ? "; causal: the scores that a causal mask leaves" : "");
  if (const double headroom = headroom_of(q); headroom > 0)
    page.line("{:.3g} % of GPU memory is kept free{}.", 100 * headroom, q.headroom ? "" : " (--headroom)");
  page.section(plainer.empty() ? "The fastest" : "The first");
  add_first(page, a, a.plan.layouts.front());
  if (answer.alone)
    page.say("Beside other jobs on the network a step takes {} s, after they have ended {} s.", figure(a.plan.layouts.front().time.seconds),
             figure(answer.alone->value()));
  if (answer.stack_scale)
    page.say("The measured step is explained by the factor {0:.4g}: give --stack-scale {0:.4g} for other layouts.", *answer.stack_scale);
  if (answer.sites) add_sites(page, *answer.sites);
  page.add("\n");
  const Layout& best = a.plan.layouts.front().layout;
  page.add_headed(with_fields(memory_text(q.model, best, memory_stack(a.system, q, best), Processor::of(a.system).memory, headroom_of(q),
                                          a.system.domain, stated_host_room(a.system),
                                          answer.sites && answer.sites->state_on_gpu ? answer.sites->state.value() : 0),
                              as_option<PlanRequest>));
  if (!answer.sensitivity.empty()) {
    page.section("What would help");
    page.table({"change", ">step s", ">faster by"}, answer.sensitivity,
               [](const PlanChange& s) { return cells(s.change, figure(s.step.value()), fmt::format("{:+.2f} %", 100 * s.gain)); });
  }
  if (a.explained) {
    page.section("Why");
    page.add(explain(*a.explained));
  }
  if (!a.pareto.empty()) {
    page.section("Faster, or smaller");
    add_layouts(page, a, spread_over(a.pareto, q.top));
    if (const std::string left = spread_text(a.pareto.size(), q.top); !left.empty()) page.say(left);
  }
}

}  // namespace fabricost::cli
