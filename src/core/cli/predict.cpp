/// fabricost predict and fabricost explain: the time of one operation, an exchange of experts among them, and the reasons.

#include "answers/verdict.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"
#include "text/amounts.hpp"

#include <fabricost/answers/moe.hpp>
#include <fabricost/answers/predict.hpp>
#include <fabricost/explain/explain.hpp>

#include <CLI/CLI.hpp>
#include <cmath>
#include <concepts>

namespace fabricost::cli {
namespace {

void text_of(Page& page, const PredictAnswer& a) {
  page.width = 80;
  page.title(verdict_of(a));
  page.add(explain(a));
  if (a.norm)
    page.line("with residual and norm {:.1f} us; {}", 1e6 * a.norm->apart.value(),
              a.norm->saved > Time{} ? fmt::format("fused into the all-reduce {:.1f} us", 1e6 * a.norm->fused.value())
                                     : "nothing to fuse: NCCL runs here");
  if (a.upgrade)
    page.say("With {}: {} {}, {}: {:.1f} % {} ({} to {}).", a.upgrade->library, a.upgrade->algorithm, a.upgrade->protocol,
             time_text(a.upgrade->time), a.seconds > 0 ? 100 * std::fabs(a.upgrade->saved.value()) / a.seconds : 0,
             a.upgrade->saved >= Time{} ? "less" : "more", time_text(a.upgrade->low), time_text(a.upgrade->high));
  if (const auto faster = faster_than_chosen(a))
    page.say("NCCL's tuner chooses {0} {1}; {2} {3} would take {4} less (--algorithm {2} --protocol {3}; fabricost tune lists such sizes).",
             a.algorithm.view(), a.protocol.view(), faster->algorithm.view(), faster->protocol.view(), percent(1 - faster->seconds / a.seconds, 0));
  for (const std::string& one : a.assumed) page.say("Assumed: {}.", one);
}

void text_of(Page& page, const ExplainAnswer& a) {
  page.width = 80;
  page.title(verdict_of(a));
  page.add("\n");
  page.add_headed(a.text);
}

/// The request of an exchange, with the options that predict and explain have for every operation.
struct MoeTyped : MoeRequest {
  static RequestTable<MoeTyped> fields() {
    using R = MoeTyped;
    return {MoeRequest::fields(), asks(&R::phase, "operation", "OP", "", ""), fabricost::core::field::ask_system<R>,
            fabricost::core::field::ask_calibration<R>, fabricost::core::field::ask_tier_override<R>};
  }
};

/// An exchange as predict prints it.
void moe_table(Page& page, const MoeAnswer& a) {
  const MoePrediction& p = a.made;
  page.width = 80;
  page.title(verdict_of(a));
  page.line("nine measurements in ten should fall into the range; {}", name(p.basis));
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

/// The same at several numbers of tokens.
void moe_rows(Page& page, const std::vector<MoeAnswer>& rows) {
  page.width = 80;
  page.title(verdict_of(rows));
  page.table({">tokens", ">time", ">GB/s counted", ">GB/s sent", "bottleneck", ">nine in ten within"}, rows, [](const MoeAnswer& a) {
    const MoePrediction& p = a.made;
    return cells(fmt::format("{:.0f}", p.question.tokens), time_text(a.time), fmt::format("{:.1f}", p.algorithm_bandwidth() / 1e9),
                 fmt::format("{:.1f}", p.bus_bandwidth() / 1e9),
                 p.terms.empty() ? "" : fmt::format("{} {}", p.bottleneck().tier.view(), p.bottleneck().name.view()),
                 fmt::format("{} .. {}", seconds_text(p.low), seconds_text(p.high)));
  });
  for (const std::string& one : rows.back().assumed) page.say("Assumed: {}.", one);
}

/// Exchanges of a list or range of --tokens; nothing where it is one number.
[[nodiscard]] std::vector<MoeAnswer> at_each_count_of_tokens(const Typed& typed) {
  const auto tokens = typed.texts.find("--tokens");
  if (tokens == typed.texts.end() || tokens->second.find_first_of(":,") == std::string::npos) return {};
  Counts counts;
  from_text(tokens->second, "--tokens", Amount::count, any_count, counts);
  std::vector<MoeAnswer> out;
  Typed one = typed;
  for (const int count : counts.values) {
    one.texts["--tokens"] = std::to_string(count);
    out.push_back(spelled_answer(request_of<MoeTyped>(one)));
  }
  return out;
}

/// The same as explain does.
void moe_story(Page& page, const MoeAnswer& a) { page.add_headed(explain(*a.machine, a.made)); }

/// \param moe_text prints an exchange of experts
template <HasFields Request>
void add_operation(CLI::App& app, Runner& runner, const char* name, const char* words, const char* json_words, const char* footer,
                        void (*moe_text)(Page&, const MoeAnswer&)) {
  const auto job = [moe_text](const GivenOptions& o, const Terminal& terminal) {
    const std::string& operation = o.typed.texts.at("OP");
    if (operation.empty()) throw RequestError("which operation? One of: " + joined(operation_names()));
    if (worded<MoePhase>(operation)) {
      if (const std::string_view option = given_beyond<PredictRequest, MoeTyped>(o.typed); !option.empty())
        throw RequestError(fmt::format("{} does not go with expert exchange; it takes --implementation and --tokens", option));
      if (!o.typed.given("--system,-s")) throw RequestError("which machine? Add --system NAME; fabricost machine lists the names");
      try {
        if (moe_text == &moe_table)
          if (const std::vector<MoeAnswer> rows = at_each_count_of_tokens(o.typed); !rows.empty())
            return shown(rows, o.json, terminal, moe_rows);
        return output_of<MoeTyped>(o.typed, o.json, terminal, moe_text, nothing_beside);
      } catch (const Refusal& refusal) {
        throw Refusal(refusal.text());  // it names all that is missing: an exchange has no size, which other operations need
      }
    }
    if (const std::string_view option = given_beyond<MoeTyped, PredictRequest>(o.typed); !option.empty()) {
      (void)request_of<PredictRequest>(o.typed);  // an operation that is none comes first
      throw RequestError(fmt::format("{} is for moe_dispatch and moe_combine; leave it out of {}", option, operation));
    }
    return output_of<Request>(
        o.typed, o.json, terminal, [](Page& page, const auto& a) { text_of(page, a); }, nothing_beside);
  };
  add_command<Request>(app, runner, name, words, footer, job, json_words, [](CLI::App& sub, GivenOptions& o) {
    add_options(sub, o.typed, fields_of<MoeTyped>(), "MoE dispatch and combine");
    if constexpr (!std::same_as<Request, ExplainRequest>)
      sub.add_flag("--explain")->description("Also why: each term with its numbers and sources");  // command_words.hpp asks it
  });
}

}  // namespace

void add_predict(CLI::App& app, Runner& runner) {
  add_operation<PredictRequest>(app, runner, "predict", "How long one operation takes", "Print JSON",
                                     "Example: fabricost predict all_reduce --system dgx-h100 --nodes 4 --size 256MiB", &moe_table);
}

void add_explain(CLI::App& app, Runner& runner) {
  add_operation<ExplainRequest>(app, runner, "explain", "Why: the arithmetic, the sources, what would change it",
                                     "Print the prediction, naive time and changes as JSON",
                                     "Example: fabricost explain all_reduce --system dgx-h100 --ranks 8 --size 64KiB", &moe_story);
}

}  // namespace fabricost::cli
