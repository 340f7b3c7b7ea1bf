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
  return out.empty() ? "1 GPU each" : out;
}

}  // namespace

void text_of(Page& page, const RlAnswer& answer) {
  const PlannedRl& best = answer.layouts.front();
  page.title(verdict_of(answer));
  page.say("{} on {} {} GPUs, {:.0f} answers an iteration: {:.0f} tokens with their prompt on average, the longest {:.0f}; {} and {}",
             answer.model, answer.gpus, answer.system, answer.answers, answer.mean_tokens, answer.longest_tokens, answer.stack,
             answer.rollout_stack);
  page.add("\n");
  page.table(
      {">iteration s", ">tokens/s/GPU", ">train", ">wait %", ">generate", ">wait %", "=training", "=engines"}, answer.layouts,
      [](const PlannedRl& p) {
        return cells(
            figure(p.iteration.value()), figure(p.tokens_per_second_per_gpu), p.colocated ? "all" : std::to_string(p.train_gpus),
            fmt::format("{:.0f}", 100 * p.train_idle),
            !p.colocated ? std::to_string(p.rollout_gpus)
            : p.offloads ? "all, offloaded"
                         : "all",
            fmt::format("{:.0f}", 100 * p.rollout_idle), ranks_text({{"tp", p.tp}, {"pp", p.pp}, {"cp", p.cp}, {"ep", p.ep}, {"dp", p.dp}}),
            fmt::format("{} x {}, batch {:.0f}", p.engines,
                        ranks_text({{"tp", p.rollout_tp}, {"pp", p.rollout_pp}, {"dp", p.rollout_dp}, {"ep", p.rollout_ep}}), p.running));
      });
  page.line("{} generations tried; an update trains {} packed sequences of {} tokens", answer.evaluated, answer.global_batch,
            answer.sequence);
  page.section("The fastest");
  TextTable terms{"term", ">s", ">share"};
  for (const StepTerm& t : best.terms) terms.row(t.name, figure(t.time.value()), percent(t.time / best.iteration, 1));
  terms.row("total", figure(best.iteration.value()));
  page.table(terms);
  page.add("\n");
  page.line("{:.3g} answers and {} tokens per second, trained on; a token of an answer takes {} at the full batch",
            best.answers_per_second, figure(best.tokens_per_second), short_time_text(best.tpot.value()));
  if (!answer.engine_note.empty()) page.say(answer.engine_note);
  page.line("Nine in ten iterations should take {:.4g} to {:.4g} s, if lengths are as said.", best.interval.first.value(),
            best.interval.second.value());
}

}  // namespace fabricost::cli
