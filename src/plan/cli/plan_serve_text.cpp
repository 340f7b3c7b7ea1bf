/// Serving plans as text: the deployments, and the terms of a token's time.

#include "answers/job_verdict.hpp"
#include "cli/plan_text.hpp"

#include "text/amounts.hpp"
#include "text/term_words.hpp"

#include <fabricost/plan/explain/nearest_plan.hpp>
#include <fabricost/plan/serving/arrivals/loaded.hpp>
#include <fabricost/plan/serving/certainty.hpp>

#include <array>
#include <cmath>

namespace fabricost::cli {
namespace {

void add_layouts(Page& page, const ServingQuestion& q, const std::vector<PricedServing>& layouts) {
  page.table({">tokens/s/GPU", ">nine in ten", ">/user", ">TTFT", ">TPOT", ">batch", q.disaggregated ? "=decode" : "=engine",
              q.disaggregated ? "=prefill" : "", ">GiB", ">KV GiB"},
             layouts, [&](const PricedServing& p) {
               const auto [low, high] = certainty_of(q, p).rate;
               return cells(figure(p.tokens_per_s_per_gpu), fmt::format("{} to {}", figure(low, 3), figure(high, 3)),
                            figure(p.tokens_per_s_per_user, 3), short_time_text(p.time.ttft),
                            p.time.tpot > 0 ? short_time_text(p.time.tpot) : "-", fmt::format("{:.0f}", p.batch),
                            fmt::format("{} x {}", p.replicas, engine_text(p.engine)),
                            p.apart ? fmt::format("{} x {}", p.prefill_workers, engine_text(p.prefill)) : "",
                            fmt::format("{:.1f}", p.memory / gibibyte), fmt::format("{:.1f}", p.cache / gibibyte));
             });
}

/// "reloaded from the host's memory at 26.6 and drives at 6.25 GB/s a GPU".
[[nodiscard]] std::string stores_text(const System& system, const std::vector<PrefixStore>& stores, const PlannedDeployment& best) {
  constexpr std::array<std::string_view, 4> names{"", "the host's memory", "drives", "the remote store"};
  const int gpus = best.disaggregated ? best.prefill_tp * best.prefill_pp : best.tp * best.pp;
  std::string out;
  for (const PrefixStore& store : stores)
    out += fmt::format("{}{} at {}", out.empty() ? "reloaded from " : &store == &stores.back() ? " and " : ", ",
                       names[static_cast<std::size_t>(store.tier)], figure(link_of(store, system, gpus).rate / gpus / 1e9, 3));
  return out + " GB/s a GPU";
}

/// Deployments under requests that arrive.
void add_loaded(Page& page, const ServingQuestion& q, const ServeAnswer& answer, const LoadQuestion& load) {
  const std::string percentile = fmt::format("p{:g}", load.percentile);
  const bool limited = q.ttft > 0 || q.tpot > 0;
  page.table({">req/s", ">within", ">up to", q.disaggregated ? "=decode" : "=engine", q.disaggregated ? "=prefill" : "", ">TTFT", ">" + percentile,
              ">TPOT", ">" + percentile, ">saturates", ">running", ">end to end", ">" + percentile},
             answer.layouts, [&](const PlannedDeployment& d) {
               const ServedArrivals& a = *d.arrivals;
               const auto time = [](Time t) { return t > Time{} ? short_time_text(t.value()) : std::string{"-"}; };
               return cells(figure(a.rate), percent(a.within, 1),
                            a.rate_within ? figure(*a.rate_within) : limited ? "any" : "-",
                            fmt::format("{} x {}", d.replicas, engine_text({d.tp, d.dp, d.pp, d.ep})),
                            d.disaggregated
                                ? fmt::format("{} x {}", d.prefill_workers,
                                              engine_text({d.prefill_tp, d.prefill_dp, d.prefill_pp, d.prefill_ep}))
                                : "",
                            time(a.ttft.mean), time(a.ttft.at_percentile), time(a.tpot.mean), time(a.tpot.at_percentile),
                            a.saturation ? figure(*a.saturation, 3) : "-", fmt::format("{:.0f}", d.batch), time(a.e2e.mean),
                            time(a.e2e.at_percentile));
             });
  const PlannedDeployment& best = answer.layouts.front();
  const ServedArrivals& a = *best.arrivals;
  page.say("Of the first: {} requests in flight; the queue takes {} of TTFT; half have at most TTFT {} and TPOT {}{}{}{}.", figure(a.in_flight),
           short_time_text(a.queue.value()), short_time_text(a.ttft.p50.value()), short_time_text(a.tpot.p50.value()),
           a.rate_within ? fmt::format("; {} up to {} requests/s",
                                       limited ? "the limits are met" : "all are answered", figure(*a.rate_within))
                         : "",
           a.hit_rate > 0 ? fmt::format("; the cache has {}{:.0f} % of the prompts' tokens{}",
                                        load.drawn.shared > 0 ? fmt::format("the first {}, ", counted(load.drawn.shared, "token")) : "", 100 * a.hit_rate,
                                        a.reloaded ? fmt::format(", {:.0f} % {}", 100 * *a.reloaded, stores_text(answer.found->system, load.stores, best))
                                                   : "")
                          : "",
           a.preempted > 0 ? fmt::format("; {} sequences gave their place up, as the cache was full", a.preempted) : "");
  page.say("{}{}", !load.trace || limited ? fmt::format("The first {} the most requests/s (up to). ", limited ? "meets the limits at" : "answers")
                                          : "The first answers a request soonest. ",
           load.trace                 ? ""
           : load.drawn.of_answers > 0 ? fmt::format("Figures are of 10,000 requests that were drawn; lengths of {} vary by {:.4g} % of their "
                                                     "mean (--length-variation).",
                                                     load.drawn.variation > 0 ? "prompts and of answers" : "answers", 100 * load.drawn.of_answers)
                                      : fmt::format("All prompts have one length and all answers another (--length-variation 0): what begins in a "
                                                    "bunch ends in one, and the next bunch comes where it was, so that waits are longer than with {:.4g}.",
                                                    usual_variation));
  page.line("{} simulated.", counted(static_cast<double>(answer.evaluated), "layout"));
}

/// Deployments with clients that wait for answers.
void add_closed(Page& page, const FoundDeployments& a) {
  const ServingQuestion& q = a.question;
  add_layouts(page, q, a.pareto.empty() ? a.plan.layouts : spread_over(a.pareto, q.top));
  if (const std::string left = spread_text(a.pareto.size(), q.top); !left.empty()) page.say(left);
  if (!a.pareto.empty()) page.line("Most for each user first, most for all last; what is left out is beaten in both by one of these.");
  if (std::any_of(a.plan.layouts.begin(), a.plan.layouts.end(), [](const PricedServing& p) { return p.engine.attention_dp > 1; }))
    page.line("batch: sequences of an engine, of all its replicas of attention (dp) together.");
  page.say("Tokens of answers are counted, not those of prompts. TTFT and TPOT are means, each client sending its next "
           "request when the last is answered; limits are of these means, not of the slowest requests.");
  if (q.ttft <= 0 && a.plan.ttft > 0)
    page.say("Without --ttft, TTFT is at most {} here{}; --ttft 1d lifts that.{}", short_time_text(a.plan.ttft),
             a.plan.ttft > q.usual_ttft ? fmt::format(", as none meets {}", short_time_text(q.usual_ttft)) : "",
             q.tpot <= 0 ? " TPOT is not limited; --tpot limits it." : "");
  if (q.format.weights == WeightFormat::fp8 && !Processor::of(a.system).has_fp8_units())
    page.say("{} has no fp8 units: products run at the bf16 rate.", a.system.gpu.name);
  page.line("{} tried; {} {} not fit or {} the latency limits.", counted(static_cast<double>(a.plan.evaluated), "configuration"),
            counted(static_cast<double>(a.plan.pruned), "layout"),
            a.plan.pruned == 1 ? "does" : "do", a.plan.pruned == 1 ? "misses" : "miss");
}

/// "0.23 USD of input (0.17 to 0.31), 2.04 of output (1.5 to 2.8)".
[[nodiscard]] std::string token_prices_text(const std::vector<TokenPrice>& prices) {
  std::string out;
  for (const TokenPrice& one : prices)
    if (one.dollars)
      out += fmt::format("{}{}{} of {}{}", out.empty() ? "" : ", ", figure(*one.dollars, 3), out.empty() ? " USD" : "", one.tokens,
                         one.interval && one.interval->second > 1.001 * one.interval->first ? fmt::format(" ({} to {})", figure(one.interval->first, 3), figure(one.interval->second, 3)) : "");
  return out;
}

/// The terms of a token's time.
void add_token(Page& page, const ServingQuestion& q, const PricedServing& best) {
  TextTable rows{"term", ">ms", ">share"};
  for (const StepTerm& t : terms_of(q, best))
    if (std::fabs(t.seconds()) > 1e-9) rows.row(term_words(t.name), figure(1e3 * t.seconds()), percent(t.seconds() / best.time.tpot, 1));
  rows.row("TPOT", figure(1e3 * best.time.tpot));
  page.table(rows);
}

/// What none of the runs had, and what lies outside them, with the largest of them.
[[nodiscard]] std::string extrapolated_text(const ServingQuestion& q, const PricedServing& p) {
  std::string out = "Extrapolated, which widens the ranges: the runs that " + q.stack.name + " was fitted to had";
  const char* between = "";
  for (const std::string& what : certainty_of(q, p).extrapolated) {
    if (what == "model")
      out += fmt::format("{} no {}", between, q.model.name);
    else if (what == "disaggregation")
      out += fmt::format("{} no prefill apart", between);
    else if (what == "sequences")
      out += fmt::format("{} at most {:.0f} sequences a GPU (here {:.0f})", between, q.stack.measured.sequences,
                         p.time.running / p.engine.gpus());
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
  page.title(verdict_of(answer));
  page.say("{} in {} on {} {} GPUs{}, prompts of {:.0f} and answers of {:.0f} token{}, {}{}", q.model.name, name(q.format.weights), q.gpus,
             a.system.name, q.pool ? fmt::format(" behind {} of {}", q.pool->gpus, q.pool->system->name) : "", q.isl, q.osl, q.osl > 1 ? "s" : "", q.stack.name,
           a.loaded ? ", " + arriving_text(a.loaded->load) : "");
  page.add("\n");
  if (a.loaded)
    add_loaded(page, q, answer, a.loaded->load);
  else
    add_closed(page, a);
  if (const PlannedDeployment& first = answer.layouts.front(); first.tokens_per_step)
    page.say("Drafts give {:.3g} token{} a step{}. They pay {}.", *first.tokens_per_step, *first.tokens_per_step > 1 ? "s" : "",
             first.without_drafts ? fmt::format(": here {} tokens/s/GPU with them, {} without at the same batch", figure(first.tokens_per_second_per_gpu),
                                                figure(*first.without_drafts))
                                  : "",
             first.drafts_pay.empty() ? "at no batch" : "at " + first.drafts_pay + " sequences of an engine");
  const PricedServing& best = a.plan.layouts.front();
  if (best.used() < q.all_gpus()) page.line("{} of {} GPUs stay idle in the first", q.all_gpus() - best.used(), q.all_gpus());
  if (q.osl > 1) {
    page.section(a.pareto.empty() ? "Time per output token of the first row" : "Time per output token of the last row");
    add_token(page, q, best);
  }
  page.add("\n");
  if (best.on_host > 0) {
    page.line("{:.1f} GiB of each GPU's share lie in the host's memory, fetched every pass at {:.0f} GB/s", best.on_host / gibibyte,
              q.host.rate / 1e9);
    page.add("\n");
  }
  const ServingTime& t = best.time;
  std::string first;
  for (const StepTerm& term : first_token_terms(t))
    if (term.seconds() > 0) first += fmt::format("{}{} {}", first.empty() ? "" : ", ", term_words(term.name), short_time_text(term.seconds()));
  page.line("TTFT {}: {}", short_time_text(t.ttft), first);
  if (best.apart) {
    const auto full = [](double use) { return use > 0.99 ? ": more requests would only wait" : ""; };
    page.line("Prefill workers compute {:.0f} % of the time{}", 100 * t.prefill_use, full(t.prefill_use));
    const bool inside = !q.pool && (best.domains > 0 || q.gpus <= a.system.domain);
    page.line("The KV cache of a prompt, {}, is sent {}at {} GB/s{}; links are busy {:.0f} % of the time{}",
              size_text(Bytes::from_value(kv_bytes(q.model, q.isl, q.format.kv_width))), q.by_layer ? "layer by layer " : "", figure(best.link.rate / 1e9, 3),
              inside ? "" : fmt::format(" ({:.0f} % of the NICs' rate, as Mooncake's transfers reach)", 100 * KvLinkConstants{}.nic_share),
              100 * t.link_use, full(t.link_use));
  }
  const PlannedDeployment& row = answer.layouts.front();
  if (row.expert_imbalance) page.line("The fullest expert rank has {:.3g} times the rows of the mean", *row.expert_imbalance);
  if (row.expert_copies)
    page.line("Redundant experts take {} of each GPU; all of its experts are sent anew in {}", size_text(*row.expert_copies),
              short_time_text(row.rebalance->value()));
  if (row.dollars_per_million_tokens)
    page.say("A million tokens cost {}, by the GPU time that each takes; if only output is billed: {}{}{}{}.", token_prices_text(row.token_prices),
             figure(*row.dollars_per_million_tokens, 3), q.pool ? fmt::format(", both machines {}", paid_words(row.price_kind)) : "",
             row.paid_gpus > q.all_gpus() ? fmt::format("; {} GPUs are paid for", row.paid_gpus) : "",
             row.arrivals && row.arrivals->saturation ? fmt::format("; at {} of the {} requests/s that it can take",
                                                                    figure(row.arrivals->asked, 3), figure(*row.arrivals->saturation, 3))
                                                      : "");
  if (answer.stack_scale)
    page.say("The measured TPOT is explained by the factor {0:.4g}: give --stack-scale {0:.4g} for other loads of this engine. Half or twice "
             "the clients are then told better than without, other layouts and lengths no better; ranges printed with it are those of a stack that was not "
             "measured.", *answer.stack_scale);
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
