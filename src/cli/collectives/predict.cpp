/// \file predict.cpp
/// fabricost predict and fabricost explain: the time of one operation, and the reasons. moe.cpp prints
/// exchanges of experts.

#include "cli/face.hpp"
#include "cli/subcommands.hpp"
#include "cli/workloads/moe.hpp"

#include <fabricost/answers/predict.hpp>

#include <cmath>

namespace fabricost::cli {
namespace {

void text_of(Page& page, const PredictAnswer& a) {
  page.width = 80;
  page.title(title_of(a, a.system)), page.add(explain(a));
  if (a.norm)
    page.line("with residual and norm {:.1f} us; {}", 1e6 * a.norm->apart_seconds,
              a.norm->saved_seconds > 0 ? fmt::format("fused into the all-reduce {:.1f} us", 1e6 * a.norm->fused_seconds)
                                        : "nothing to fuse: NCCL runs here");
  if (a.upgrade)
    page.say("With {}: {} {}, {}: {:.1f} % {} ({} to {}).", a.upgrade->library, a.upgrade->algorithm, a.upgrade->protocol,
             seconds_text(a.upgrade->seconds), a.seconds > 0 ? 100 * std::fabs(a.upgrade->saved_seconds) / a.seconds : 0,
             a.upgrade->saved_seconds >= 0 ? "less" : "more", seconds_text(a.upgrade->low_seconds), seconds_text(a.upgrade->high_seconds));
  for (const std::string& one : a.assumed) page.say("Assumed: {}.", one);
}

void text_of(Page& page, const ExplainAnswer& a) { page.add_headed(a.text); }

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
        o.typed, o.json, terminal, [](Page& page, const auto& a) { text_of(page, a); }, nothing_beside);
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
