/// \file plan_rl_text.cpp
/// Plans of reinforcement learning as text: the divisions of the GPUs, and the terms of the best iteration.

#include "cli/workloads/plan_text.hpp"

#include "cli/report.hpp"
#include "text/short_text.hpp"
#include "text/text_table.hpp"

#include <fmt/format.h>

#include <cmath>

namespace fabricost::cli {
namespace {

[[nodiscard]] std::string ranks_text(std::initializer_list<std::pair<const char*, int>> sizes) {
  std::string out;
  for (const auto& [name, size] : sizes)
    if (size > 1) out += fmt::format("{}{}{}", out.empty() ? "" : " ", name, size);
  return out.empty() ? "1 GPU each" : out;
}

}  // namespace

std::string text_of(const RlAnswer& answer, const Terminal& terminal) {
  std::string out = terminal.strong(fmt::format("{} on {} {} GPUs, {:.0f} answers an iteration: {:.0f} tokens with their prompt on "
                                                "average, the longest {:.0f}; {} and {}",
                                                answer.model, answer.gpus, answer.system, answer.answers, answer.mean_tokens,
                                                answer.longest_tokens, answer.stack, answer.rollout_stack)) +
                    "\n";
  TextTable rows{{{"iteration s", right},
                  {"tokens/s/GPU", right},
                  {"train", right},
                  {"wait %", right},
                  {"generate", right},
                  {"wait %", right},
                  {"training"},
                  {"engines"}}};
  for (const PlannedRl& p : answer.layouts)
    rows.row({fmt::format("{:.4g}", p.iteration_seconds), fmt::format("{:.4g}", p.tokens_per_second_per_gpu),
              p.colocated ? "all" : std::to_string(p.train_gpus),
              fmt::format("{:.0f}", 100 * p.train_idle),
              !p.colocated ? std::to_string(p.rollout_gpus) : p.offloads ? "all, offloaded" : "all",
              fmt::format("{:.0f}", 100 * p.rollout_idle),
              ranks_text({{"tp", p.tp}, {"pp", p.pp}, {"cp", p.cp}, {"ep", p.ep}, {"dp", p.dp}}),
              fmt::format("{} x {}, batch {:.0f}", p.engines,
                          ranks_text({{"tp", p.rollout_tp}, {"pp", p.rollout_pp}, {"dp", p.rollout_dp}, {"ep", p.rollout_ep}}),
                          p.running)});
  out += rows.text(2);
  out += fmt::format("  {} generations priced; an update trains {} packed sequences of {} tokens\n", answer.evaluated,
                     answer.global_batch, answer.sequence);
  out += "\n" + terminal.strong("The fastest") + "\n";
  const PlannedRl& best = answer.layouts.front();
  TextTable terms{{{"term"}, {"s", right}, {"share", right}}};
  for (const StepTerm& t : best.terms)
    terms.row({t.name, fmt::format("{:.4g}", t.seconds), fmt::format("{:.1f} %", 100 * t.seconds / best.iteration_seconds)});
  terms.row({"total", fmt::format("{:.4g}", best.iteration_seconds), ""});
  out += terms.text(2);
  out += fmt::format("\n  {:.3g} answers and {:.4g} tokens per second, trained on; a token of an answer takes {} at the full batch\n",
                     best.answers_per_second, best.tokens_per_second, io::short_time_text(best.tpot_seconds));
  out += fmt::format("  Nine in ten iterations should take {:.4g} to {:.4g} s, if lengths are as said.\n", best.interval_seconds.first,
                     best.interval_seconds.second);
  return out;
}

}  // namespace fabricost::cli
