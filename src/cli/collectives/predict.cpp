/// \file predict.cpp
/// fabricost predict and fabricost explain: the time of one operation, and the reasons. moe.cpp prints
/// exchanges of experts.

#include "cli/face.hpp"
#include "cli/subcommands.hpp"
#include "cli/workloads/moe.hpp"
#include "text/text_table.hpp"

#include <fabricost/answers/predict.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <cmath>
#include <memory>

namespace fabricost::cli {
namespace {

[[nodiscard]] std::string text_of(const PredictAnswer& a, const Terminal& terminal) {
  std::string out = terminal.strong(title_of(a, a.system)) + "\n" + explain(a);
  if (a.norm)
    out += a.norm->saved_seconds > 0
               ? fmt::format("  with residual and norm {:.1f} us; fused into the all-reduce {:.1f} us\n", 1e6 * a.norm->apart_seconds,
                             1e6 * a.norm->fused_seconds)
               : fmt::format("  with residual and norm {:.1f} us; nothing to fuse: NCCL runs here\n", 1e6 * a.norm->apart_seconds);
  if (a.upgrade)
    out += wrapped("  ", fmt::format("With {}: {} {}, {}: {:.1f} % {} ({} to {}).", a.upgrade->library, a.upgrade->algorithm,
                                     a.upgrade->protocol, time_text(Time::from_value(a.upgrade->seconds)),
                                     a.seconds > 0 ? 100 * std::fabs(a.upgrade->saved_seconds) / a.seconds : 0,
                                     a.upgrade->saved_seconds >= 0 ? "less" : "more", time_text(Time::from_value(a.upgrade->low_seconds)),
                                     time_text(Time::from_value(a.upgrade->high_seconds))));
  for (const std::string& one : a.assumed) out += wrapped("  ", "Assumed: " + one + ".");
  return out;
}

[[nodiscard]] std::string text_of(const ExplainAnswer& a, const Terminal& terminal) { return terminal.strong_headings(a.text); }

/// \param moe_text prints an exchange of experts
template <HasFields Request, class MoeText>
void add_operation_face(CLI::App& app, Runner& runner, const char* name, const char* words, const char* json_words, const char* footer,
                        MoeText moe_text) {
  const auto job = [moe_text](const GivenOptions& o, const Terminal& terminal) {
    const std::string& operation = o.typed.texts.at("OP");
    if (operation.empty()) throw RequestError("which operation? One of: " + joined(operation_names()));
    if (worded<MoePhase>(operation)) return moe_output(o.typed, o.json, terminal, moe_text);
    refuse_moe_options(o.typed);
    return output_of<Request>(
        o.typed, o.json, terminal, [](const auto& a, const Terminal& t) { return text_of(a, t); }, nothing_beside);
  };
  add_command<Request>(app, runner, name, words, footer, job, json_words,
                       [](CLI::App& sub, GivenOptions& o) { add_moe_options(sub, o.typed); });
}

}  // namespace

void add_predict(CLI::App& app, Runner& runner) {
  add_operation_face<PredictRequest>(app, runner, "predict", "How long one operation takes", "Print JSON",
                                     "Example: fabricost predict all_reduce --system dgx-h100 --nodes 4 --size 256MiB", &moe_table);
}

void add_explain(CLI::App& app, Runner& runner) {
  add_operation_face<ExplainRequest>(app, runner, "explain", "Why: the arithmetic, the sources, what would change it",
                                     "Print the prediction, naive time and changes as JSON",
                                     "Example: fabricost explain all_reduce --system dgx-h100 --ranks 8 --size 64KiB", &moe_story);
}

}  // namespace fabricost::cli
