/// \file moe.cpp
/// moe_dispatch and moe_combine as text, and the reports of validate and calibrate on them.

#include "cli/workloads/moe.hpp"

#include "cli/face.hpp"
#include "faces/names.hpp"
#include "cli/report.hpp"
#include "text/text_table.hpp"

#include <fabricost/answers/moe.hpp>
#include <fabricost/answers/predict.hpp>
#include <fabricost/evaluation/workload.hpp>
#include <fabricost/explain/assumed.hpp>
#include <fabricost/explain/moe.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

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

std::string moe_table(const MoeAnswer& a, const Terminal& terminal) {
  const MoePrediction& p = a.made;
  const MoeQuestion& q = p.question;
  const std::string head =
      fmt::format("{} of {:.0f} tokens x {} ({}), top {} of {} experts, {} on {}, {}, {}", a.operation, q.tokens, q.hidden, a.dtype,
                  q.gate.top_k, q.gate.experts, counted(p.placement.ranks, "rank"), counted(p.nodes, "node"), a.implementation, a.system);
  std::string out = terminal.strong(head) + "\n";
  out +=
      fmt::format("  {:.1f} us   {:.1f} to {:.1f} us nine times in ten, {}\n", 1e6 * p.seconds, 1e6 * p.low, 1e6 * p.high, name(p.basis));
  if (p.bytes > 0)
    out += fmt::format("  {:.2f} copies of a token, {:.2f} MB; {:.2f} MB sent{}: {:.1f} GB/s counted, {:.1f} GB/s sent\n", p.copies,
                       p.bytes / 1e6, (p.inside_bytes + p.across_bytes) / 1e6,
                       p.across_bytes > 0 ? fmt::format(" ({:.2f} MB the domain)", p.across_bytes / 1e6) : "",
                       p.algorithm_bandwidth() / 1e9, p.bus_bandwidth() / 1e9);
  TextTable terms{{{"term"}, {"tier"}, {"us", right}, {"share", right}}};
  for (const Term& t : p.terms)
    terms.row({std::string{t.name.view()}, std::string{t.tier.view()}, fmt::format("{:.2f}", 1e6 * t.time.value()),
               fmt::format("{:.0f} %", 100 * t.time.value() / p.seconds)});
  if (!p.terms.empty()) out += terms.text(2);
  for (const std::string& what : a.extrapolated) out += fmt::format("  Outside what was measured: {}.\n", what);
  for (const std::string& one : a.assumed) out += wrapped("  ", "Assumed: " + one + ".");
  return out;
}

std::string moe_story(const MoeAnswer& a, const Terminal& terminal) { return terminal.strong_headings(explain(*a.machine, a.made)); }

void add_moe_options(CLI::App& sub, Typed& typed) { add_options<MoeTyped>(sub, typed, "Of moe_dispatch and moe_combine"); }

void refuse_moe_options(const Typed& typed) {
  if (const std::string_view option = given_beyond<MoeTyped, PredictRequest>(typed); !option.empty()) {
    (void)request_of<PredictRequest>(typed);  // an operation that is none comes first
    throw RequestError(fmt::format("{} is for moe_dispatch and moe_combine; leave it out of {}", option, typed.texts.at("OP")));
  }
}

std::string moe_output(const Typed& typed, bool json, const Terminal& terminal,
                       const std::function<std::string(const MoeAnswer&, const Terminal&)>& text_of) {
  if (const std::string_view option = given_beyond<PredictRequest, MoeTyped>(typed); !option.empty())
    throw RequestError(fmt::format("{} does not go with expert exchange; it takes --implementation and --tokens", option));
  if (!typed.given("--system,-s")) throw RequestError("which machine? Add --system NAME; fabricost systems lists the names");
  return output_of<MoeTyped>(typed, json, terminal, text_of, nothing_beside);
}

}  // namespace fabricost::cli
