/// \file plan_serve_text.cpp
/// Serving plans as text: the deployments, and the terms of a token's time.

#include "cli/plan_text.hpp"

#include "text/short_text.hpp"
#include "text/term_words.hpp"

#include <fabricost/plan/explain/nearest_plan.hpp>
#include <fabricost/plan/serving/certainty.hpp>

#include <cmath>

namespace fabricost::cli {
namespace {


void add_layouts(Page& page, const ServingQuestion& q, const std::vector<PricedServing>& layouts) {
  page.table({">tokens/s/GPU", ">nine in ten", ">/user", ">TTFT", ">TPOT", ">batch", ">GiB", ">KV GiB", q.disaggregated ? "decode" : "engine", "prefill"},
             layouts, [&](const PricedServing& p) {
               const auto [low, high] = certainty_of(q, p).rate;
               return cells(figure(p.tokens_per_s_per_gpu), fmt::format("{} to {}", figure(low, 3), figure(high, 3)), figure(p.tokens_per_s_per_user, 3), short_time_text(p.time.ttft),
                            p.time.tpot > 0 ? short_time_text(p.time.tpot) : "-", fmt::format("{:.0f}", p.batch),
                            fmt::format("{:.1f}", p.memory / gibibyte), fmt::format("{:.1f}", p.cache / gibibyte),
                            fmt::format("{} x {}", p.replicas, engine_text(p.engine, q.model.mixture())),
                            p.apart ? fmt::format("{} x {}", p.prefill_workers, engine_text(p.prefill, q.model.mixture())) : "");
             });
}

/// The terms of a token's time.
void add_token(Page& page, const ServingQuestion& q, const PricedServing& best) {
  TextTable rows{"term", ">ms", ">share"};
  for (const StepTerm& t : terms_of(q, best))
    if (std::fabs(t.seconds()) > 1e-9) rows.row(t.name, figure(1e3 * t.seconds()), percent(t.seconds() / best.time.tpot, 1));
  rows.row("TPOT", figure(1e3 * best.time.tpot));
  page.table(rows);
}

/// What lies outside the runs, with the largest of them.
[[nodiscard]] std::string extrapolated_text(const ServingQuestion& q, const PricedServing& p) {
  std::string out = "Extrapolated, which widens the ranges: the runs that " + q.stack.name + " was fitted to had";
  const char* between = "";
  for (const std::string& what : certainty_of(q, p).extrapolated) {
    if (what == "sequences")
      out += fmt::format("{} at most {:.0f} sequences a GPU (here {:.0f})", between, q.stack.measured.sequences, p.time.running / p.engine.gpus());
    else
      out += fmt::format("{} {} of at most {:.0f} tokens (here {:.0f})", between, what,
                         what == "prompts" ? q.stack.measured.prompt : q.stack.measured.answer, what == "prompts" ? q.isl : q.osl);
    between = ",";
  }
  return out + ".";
}

}  // namespace

void text_of(Page& page, const ServeAnswer& answer) {
  const FoundDeployments& a = *answer.found;
  const ServingQuestion& q = a.question;
  page.width = 98;
  page.title("{} in {} on {} {} GPUs, prompts of {:.0f} and answers of {:.0f} token{}, {}", q.model.name, name(q.format.weights), q.gpus,
             a.system.name, q.isl, q.osl, q.osl > 1 ? "s" : "", q.stack.name);
  add_layouts(page, q, a.pareto.empty() ? a.plan.layouts : a.pareto);
  if (!a.pareto.empty()) page.line("Most for each user first, most for all last; what is left out is beaten in both by one of these.");
  page.line("Tokens of answers are counted, not those of prompts. TTFT and TPOT are means, each client sending its next");
  page.line("request when the last is answered; limits are of these means, not of the slowest requests.");
  if (q.ttft <= 0 && a.plan.ttft > 0)
    page.line("Without --ttft, TTFT is at most {} here; --ttft 1d lifts that.", short_time_text(a.plan.ttft));
  page.line("{} batches of deployments priced, {} layouts left out: they do not fit or keep no limit; {:.3f} s", a.plan.evaluated,
            a.plan.pruned, answer.search_time.value());
  const PricedServing& best = a.plan.layouts.front();
  if (best.used() < q.gpus) page.line("{} of {} GPUs stay idle in the first", q.gpus - best.used(), q.gpus);
  if (q.osl > 1) page.section(a.pareto.empty() ? "A token of the first" : "A token of the last"), add_token(page, q, best);
  page.add("\n");
  if (best.on_host > 0) {
    page.line("{:.1f} GiB of each GPU's share lie in the host's memory, fetched every pass at {:.0f} GB/s", best.on_host / gibibyte,
              q.host.rate / 1e9);
    page.add("\n");
  }
  const ServingTime& t = best.time;
  std::string first;
  for (const StepTerm& term : first_token_terms(t))
    first += fmt::format("{}{} {}", first.empty() ? "" : ", ", term_words(term.name), short_time_text(term.seconds()));
  page.line("TTFT {}: {}", short_time_text(t.ttft), first);
  if (best.apart)
    page.line("Prefill workers compute {:.0f} % of the time{}", 100 * t.prefill_use,
              t.prefill_use > 0.99 ? ": more requests would only wait" : "");
  const ServingCertainty certain = certainty_of(q, best);
  const auto &ttft = certain.ttft, &tpot = certain.tpot;
  page.line("Nine in ten runs should show {}TTFT {} to {}: stack {}.",
            q.osl > 1 ? fmt::format("TPOT {} to {}, ", short_time_text(tpot.first), short_time_text(tpot.second)) : "",
            short_time_text(ttft.first), short_time_text(ttft.second), q.stack.name);
  if (!certain.extrapolated.empty()) page.say(extrapolated_text(q, best));
  if (q.stack.assumed_kernels) page.say(assumed_kernels_text(a.system));
  if (!q.model.unread.empty()) page.say(unread_text(q.model));
}

}  // namespace fabricost::cli
