/// Plans of reinforcement learning as text: the divisions of the GPUs, and the terms of the best iteration.

#include "answers/job_verdict.hpp"
#include "cli/plan_text.hpp"

#include "text/amounts.hpp"

#include <initializer_list>
#include <utility>

namespace fabricost::cli {
namespace {

[[nodiscard]] std::string ranks_text(std::initializer_list<std::pair<const char*, int>> sizes) {
  std::string out;
  for (const auto& [name, size] : sizes)
    if (size > 1) out += fmt::format("{}{}{}", out.empty() ? "" : " ", name, size);
  return out;
}

}  // namespace

void text_of(Page& page, const RlAnswer& answer) {
  const PlannedRl& best = answer.layouts.front();
  page.title(verdict_of(answer));
  page.say("{} on {} {} GPUs, {:.0f} answers an iteration: {:.0f} tokens with their prompt on average, the longest {:.0f}; {} and {}",
             answer.model, answer.gpus, answer.system, answer.answers, answer.mean_tokens, answer.longest_tokens, answer.stack,
             answer.rollout_stack);
  page.add("\n");
  const auto any = [&](auto&& is) { return std::any_of(answer.layouts.begin(), answer.layouts.end(), is); };
  const bool idles = any([](const PlannedRl& p) { return p.idle_gpus > 0; }), offloads = any([](const PlannedRl& p) { return p.offloads; });
  const auto gpus = [](const PlannedRl& p, int count) { return p.colocated && count == p.gpus ? "all" : std::to_string(count); };
  page.table({">iteration s", ">tokens/s/GPU", ">train", ">wait %", ">generate", ">wait %", idles ? ">idle" : "", "=training", "=engines"},
             answer.layouts, [&](const PlannedRl& p) {
               const std::string training = ranks_text({{"tp", p.tp}, {"pp", p.pp}, {"cp", p.cp}, {"ep", p.ep}, {"dp", p.dp}});
               const std::string engine = ranks_text({{"tp", p.rollout_tp}, {"pp", p.rollout_pp}, {"dp", p.rollout_dp}, {"ep", p.rollout_ep}});
               return cells(figure(p.iteration.value()), figure(p.tokens_per_second_per_gpu), gpus(p, p.train_gpus),
                            fmt::format("{:.0f}", 100 * p.train_idle), gpus(p, p.rollout_gpus) + (p.offloads ? ", offloaded" : ""),
                            fmt::format("{:.0f}", 100 * p.rollout_idle), idles ? std::to_string(p.idle_gpus) : "",
                            training.empty() ? "1 GPU" : training,
                            fmt::format("{} x {}{}, batch {:.0f}", p.engines, engine.empty() ? "1 GPU" : engine,
                                        engine.find(' ') == std::string::npos ? "" : fmt::format(" ({} GPUs)", p.rollout_gpus / p.engines),
                                        p.running));
             });
  page.line("{} generations tried; an update trains {} packed sequences of {} tokens", answer.evaluated, answer.global_batch,
            answer.sequence);
  if (offloads) page.line("offloaded: the trainer's weights and optimizer wait in host memory while answers are generated");
  page.section("The fastest");
  double work = 0;  // what overlap hides is of both sides: shares are of the sum before it
  bool hides = false;
  for (const StepTerm& t : best.terms) {
    work += std::max(0.0, t.time.value());
    hides |= t.time < Time{};
  }
  TextTable terms{"term", ">s", ">share"};
  for (const StepTerm& t : best.terms) terms.row(t.name, figure(t.time.value()), t.time > Time{} ? percent(t.time.value() / work, 1) : "");
  terms.row("total", figure(best.iteration.value()));
  page.table(terms);
  page.line("framework: time beyond generation and training, as published{}", hides ? "; hidden: what overlap saves" : "");
  page.add("\n");
  page.line("{:.3g} answers and {} tokens per second, trained on; a token of an answer takes {} at the full batch",
            best.answers_per_second, figure(best.tokens_per_second), short_time_text(best.tpot.value()));
  if (!answer.stack_note.empty()) page.say("Assumed: {}.", answer.stack_note);
  if (!answer.engine_note.empty()) page.say(answer.engine_note);
  page.line("Nine in ten iterations should take {:.4g} to {:.4g} s, if lengths are as said.", best.interval.first.value(),
            best.interval.second.value());
}

}  // namespace fabricost::cli
