/// \file moe.cpp
/// moe_dispatch and moe_combine as text.

#include "cli/workloads/moe.hpp"

#include <fabricost/answers/predict.hpp>
#include <fabricost/explain/moe.hpp>

namespace fabricost::cli {
namespace {

/// The request, with the options that predict and explain have for every operation.
struct MoeTyped : MoeRequest {
  static constexpr auto fields() {
    using R = MoeTyped;
    return tables(MoeRequest::fields(), Table{asks(&R::phase, "operation", "OP", "", ""), fabricost::detail::ask_system<R>,
                                              fabricost::detail::ask_calibration<R>, fabricost::detail::ask_tier_override<R>});
  }
};

}  // namespace

void moe_table(Page& page, const MoeAnswer& a) {
  const MoePrediction& p = a.made;
  const MoeQuestion& q = p.question;
  page.width = 80;
  page.title("{} of {:.0f} tokens x {} ({}), top {} of {} experts, {} on {}, {}, {}", a.operation, q.tokens, q.hidden, a.dtype,
             q.gate.top_k, q.gate.experts, counted(p.placement.ranks, "rank"), counted(p.nodes, "node"), a.implementation, a.system);
  page.line("{:.1f} us   {:.1f} to {:.1f} us nine times in ten, {}", 1e6 * p.seconds, 1e6 * p.low, 1e6 * p.high, name(p.basis));
  if (p.bytes > 0)
    page.line("{:.2f} copies of a token, {:.2f} MB; {:.2f} MB sent{}: {:.1f} GB/s counted, {:.1f} GB/s sent", p.copies, p.bytes / 1e6,
              (p.inside_bytes + p.across_bytes) / 1e6,
              p.across_bytes > 0 ? fmt::format(" ({:.2f} MB the domain)", p.across_bytes / 1e6) : "", p.algorithm_bandwidth() / 1e9,
              p.bus_bandwidth() / 1e9);
  if (!p.terms.empty())
    page.table({"term", "tier", ">us", ">share"}, p.terms, [&](const Term& t) {
      return cells(t.name, t.tier, fmt::format("{:.2f}", 1e6 * t.time.value()), percent(t.time.value() / p.seconds, 0));
    });
  for (const std::string& what : a.extrapolated) page.line("Outside what was measured: {}.", what);
  for (const std::string& one : a.assumed) page.say("Assumed: {}.", one);
}

void moe_story(Page& page, const MoeAnswer& a) { page.add_headed(explain(*a.machine, a.made)); }

void add_moe_options(CLI::App& sub, Typed& typed) { add_options<MoeTyped>(sub, typed, "Of moe_dispatch and moe_combine"); }

void refuse_moe_options(const Typed& typed) {
  if (const std::string_view option = given_beyond<MoeTyped, PredictRequest>(typed); !option.empty()) {
    (void)request_of<PredictRequest>(typed);  // an operation that is none comes first
    throw RequestError(fmt::format("{} is for moe_dispatch and moe_combine; leave it out of {}", option, typed.texts.at("OP")));
  }
}

std::string moe_output(const Typed& typed, bool json, const Terminal& terminal, void (*text_of)(Page&, const MoeAnswer&)) {
  if (const std::string_view option = given_beyond<PredictRequest, MoeTyped>(typed); !option.empty())
    throw RequestError(fmt::format("{} does not go with expert exchange; it takes --implementation and --tokens", option));
  if (!typed.given("--system,-s")) throw RequestError("which machine? Add --system NAME; fabricost systems lists the names");
  return output_of<MoeTyped>(typed, json, terminal, text_of, nothing_beside);
}

}  // namespace fabricost::cli
