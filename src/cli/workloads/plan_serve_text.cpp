/// \file plan_serve_text.cpp
/// Serving plans as text: the deployments, and the terms of a token's time.

#include "cli/workloads/plan_text.hpp"

#include "cli/report.hpp"
#include "text/short_text.hpp"
#include "text/text_table.hpp"

#include <fabricost/explain/nearest_plan.hpp>
#include <fabricost/kernels/interval.hpp>

#include <fmt/format.h>

#include <cmath>

namespace fabricost::cli {
namespace {

[[nodiscard]] std::string layouts_text(const ServingQuestion& q, const std::vector<PricedServing>& layouts) {
  TextTable rows{{{"tokens/s/GPU", right},
                  {"/user", right},
                  {"TTFT", right},
                  {"TPOT", right},
                  {"batch", right},
                  {"GiB", right},
                  {"KV GiB", right},
                  {q.disaggregated ? "decode" : "engine"},
                  {"prefill"}}};
  for (const PricedServing& p : layouts)
    rows.row({fmt::format("{:.4g}", p.tokens_per_s_per_gpu), fmt::format("{:.3g}", p.tokens_per_s_per_user),
              io::short_time_text(p.time.ttft), p.time.tpot > 0 ? io::short_time_text(p.time.tpot) : "-", fmt::format("{:.0f}", p.batch),
              fmt::format("{:.1f}", p.memory / gibibyte), fmt::format("{:.1f}", p.cache / gibibyte),
              fmt::format("{} x {}", p.replicas, engine_text(p.engine, q.model.mixture())),
              p.apart ? fmt::format("{} x {}", p.prefill_workers, engine_text(p.prefill, q.model.mixture())) : ""});
  return rows.text(2);
}

}  // namespace

std::string text_of(const ServeAnswer& answer, const Terminal& terminal) {
  const FoundDeployments& a = *answer.found;
  const ServingQuestion& q = a.question;
  std::string out =
      terminal.strong(fmt::format("{} in {} on {} {} GPUs, prompts of {:.0f} and answers of {:.0f} token{}, {}", q.model.name,
                                  name(q.format.weights), q.gpus, a.system.name, q.isl, q.osl, q.osl > 1 ? "s" : "", q.stack.name)) +
      "\n";
  out += layouts_text(q, a.pareto.empty() ? a.plan.layouts : a.pareto);
  if (!a.pareto.empty()) out += "  Most for each user first, most for all last; what is left out is beaten in both by one of these.\n";
  out += "  Tokens of answers are counted, not those of prompts.\n";
  out += fmt::format("  {} batches of deployments priced, {} layouts left out: they do not fit or keep no limit; {:.3f} s\n",
                     a.plan.evaluated, a.plan.pruned, answer.search_seconds);
  const PricedServing& best = a.plan.layouts.front();
  if (best.used() < q.gpus) out += fmt::format("  {} of {} GPUs stay idle in the first\n", q.gpus - best.used(), q.gpus);
  out += q.osl > 1 ? "\n" + terminal.strong(a.pareto.empty() ? "A token of the first" : "A token of the last") + "\n" : "";
  TextTable rows{{{"term"}, {"ms", right}, {"share", right}}};
  for (const TimeTerm& t : terms_of(q, best))
    if (std::fabs(t.seconds) > 1e-9)
      rows.row({std::string{t.name}, fmt::format("{:.4g}", 1e3 * t.seconds), fmt::format("{:.1f} %", 100 * t.seconds / best.time.tpot)});
  rows.row({"TPOT", fmt::format("{:.4g}", 1e3 * best.time.tpot), ""});
  if (q.osl > 1) out += rows.text(2);
  if (best.on_host > 0)
    out += fmt::format("\n  {:.1f} GiB of each GPU's share lie in the host's memory, fetched every pass at {:.0f} GB/s\n",
                       best.on_host / gibibyte, q.host.rate / 1e9);
  const ServingTime& t = best.time;
  out += fmt::format("\n  TTFT {}: prompt {}, waiting for others {}, cache transfer {}, framework {}\n", io::short_time_text(t.ttft),
                     io::short_time_text(t.prompt), io::short_time_text(t.queue), io::short_time_text(t.transfer),
                     io::short_time_text(t.ttft - t.prompt - t.queue - t.transfer));
  if (best.apart)
    out += fmt::format("  Prefill workers compute {:.0f} % of the time{}\n", 100 * t.prefill_use,
                       t.prefill_use > 0.99 ? ": more requests would only wait" : "");
  const auto ttft = interval_around(t.ttft, q.stack.spread_ttft), tpot = interval_around(t.tpot, q.stack.spread_tpot);
  const std::string further =
      q.osl > 1 ? fmt::format("TPOT {} to {}, ", io::short_time_text(tpot.first), io::short_time_text(tpot.second)) : "";
  out += fmt::format("  Nine in ten runs should show {}TTFT {} to {}: stack {}.\n", further, io::short_time_text(ttft.first),
                     io::short_time_text(ttft.second), q.stack.name);
  if (q.stack.assumed_kernels) out += wrapped("  ", assumed_kernels_text(a.system), 98);
  if (!q.model.unread.empty()) out += wrapped("  ", unread_text(q.model), 98);
  return out;
}

}  // namespace fabricost::cli
