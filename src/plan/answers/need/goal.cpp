/// Goals from the fields of a request.

#include "answers/need/goal.hpp"

#include "text/amounts.hpp"
#include "text/term_words.hpp"
#include "text/parse_quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fabricost::plan::need {
namespace {

/// "3%", "3 % of infinite", "0.03". \throws Refusal
[[nodiscard]] double share_in(std::string_view text, std::string_view field) {
  std::string_view rest;
  const double number = leading_number(text, rest);
  if (const auto of = rest.find("of inf"); of != std::string_view::npos) rest = rest.substr(0, of);
  while (rest.ends_with(' ')) rest.remove_suffix(1);
  const double out = rest == "%" ? number / 100 : rest.empty() ? number : std::nan("");
  if (!(out > 0 && out <= 10))
    throw Refusal(fmt::format("<{}>: \"{}\" is no share above zero; write 3% or 0.03", field, text.substr(0, 40)));
  return out;
}

constexpr std::array<std::string_view, 11> terms{"tensor",       "context",   "expert",     "hand_over",   "bubble",       "data",
                                                 "accumulation", "optimizer", "stragglers", "layer_floor", "communication"};

/// The term a text begins with: its name, or words that contain it ("expert exchange"). \throws Refusal
[[nodiscard]] std::string term_in(std::string_view text) {
  std::string given{text};
  std::replace(given.begin(), given.end(), ' ', '_');
  for (const std::string_view term : terms)
    if (given == term || given.starts_with(std::string{term} + "_") || given.starts_with(std::string{term} + "s_") ||
        given == std::string{term} + "s" || text == term_words(term))
      return std::string{term};
  throw Refusal("<share_of>: " + unknown_text(text, "a term of a step", terms));
}

[[nodiscard]] Goal share_goal(const std::string& text) {
  constexpr std::array<std::string_view, 4> below{" below ", " under ", " at most ", " < "};
  for (const std::string_view word : below) {
    const std::size_t at = text.find(word);
    if (at == std::string::npos) continue;
    const std::string term = term_in(std::string_view{text}.substr(0, at));
    const double limit = share_in(std::string_view{text}.substr(at + word.size()), "share_of");
    const std::string words = term == "communication" ? term : std::string{term_words(term)};
    return {.words = fmt::format("{} at most {:.3g} % of the step", words, 100 * limit),
            .measured = fmt::format("{}, share of the step", words),
            .limit = limit,
            .measure = [term](const Outcome& o, double by) {
              double own = term == "communication" ? o.exposed : 0;
              for (const StepTerm& one : o.terms)
                if (one.name == term) own += one.time.value();
              const bool moves = term == "communication" || term == "tensor" || term == "context" || term == "expert" ||
                                 term == "hand_over" || term == "data";
              return own * (moves ? by : 1) / stretched(o, by);
            }};
  }
  throw Refusal(fmt::format("<share_of>: \"{}\" is no goal; write one as in \"expert exchange below 10%\"", text.substr(0, 60)));
}

}  // namespace

Goal goal_of(const NeedRequest& r) {
  std::vector<Goal> all;
  if (!r.within.empty()) {
    const double share = share_in(r.within, "within");
    all.push_back({.words = fmt::format("a step within {:.3g} % of the one with no limit on it", 100 * share),
                   .measured = "step over that with infinitely much",
                   .limit = 1 + share,
                   .measure = {},
                   .against = Against::unbounded});
  }
  if (r.step)
    all.push_back({.words = "a step of at most " + given_time_text(r.step->value()),
                   .measured = "step, s",
                   .limit = r.step->value(),
                   .measure = [](const Outcome& o, double by) { return o.seconds * by; }});
  if (r.mfu)
    all.push_back({.words = fmt::format("an MFU of at least {:.3g} %", 100 * *r.mfu),
                   .measured = "MFU",
                   .limit = *r.mfu,
                   .at_least = true,
                   .measure = [](const Outcome& o, double by) { return std::min(1.0, o.rate / by); }});
  if (r.scaling)
    all.push_back({.words = fmt::format("at least {:.3g} % of the tokens per GPU of the smallest value", 100 * *r.scaling),
                   .measured = "tokens per GPU over those at the least",
                   .limit = *r.scaling,
                   .at_least = true,
                   .measure = {},
                   .against = Against::least});
  if (!r.share_of.empty()) all.push_back(share_goal(r.share_of));
  if (r.tokens.has_value() != r.in.has_value())
    throw Refusal("a run has tokens and a time: give both <tokens=15T> and <in_seconds=5184000>");
  if (r.in)
    all.push_back({.words = fmt::format("{} tokens in at most {}{}", count_text(*r.tokens), given_time_text(r.in->value()),
                                        r.goodput ? ", with failures" : ", failures left out"),
                   .measured = "run, days",
                   .limit = r.in->value() / day_seconds,
                   .measure = [](const Outcome& o, double by) { return o.steps * o.seconds * by / o.kept / day_seconds; }});
  else if (r.goodput)
    throw Refusal("<goodput> is of a run: add <tokens=15T> and <in_seconds=5184000>");
  if (all.size() != 1)
    throw Refusal(
        fmt::format("{}: give one of <within=3%>, <step_seconds=8>, <mfu=0.4>, <scaling=0.5>, <share_of>, <tokens> with <in_seconds>",
                    all.empty() ? "enough for what" : "several goals"),
        all.empty());
  return all.front();
}

Goal goal_of(const NeedServeRequest& r) {
  if (r.request_rate || !r.requests.empty()) {
    if (r.tokens_per_second) throw Refusal("<tokens_per_second> is of clients that wait for answers; leave it out of requests that arrive");
    return {.words = r.request_rate ? fmt::format("{:.4g} requests/s within the limits", r.request_rate->per_second)
                                    : "the trace's requests within the limits",
            .measured = "requests/s within limits over those asked",
            .limit = 1,
            .at_least = true,
            .measure = [](const Outcome& o, double by) { return o.rate / by; }};
  }
  if (!r.tokens_per_second && r.concurrency && r.tpot)
    return {.words = fmt::format("{:.4g} requests in flight, each further token within {}", *r.concurrency, given_time_text(r.tpot->value())),
            .measured = "TPOT, s",
            .limit = r.tpot->value(),
            .measure = [](const Outcome& o, double by) { return o.seconds * by; }};
  if (!r.tokens_per_second)
    throw Refusal("enough for what? Give <tokens_per_second=1e6>, <request_rate=30>, or <concurrency=40> with <tpot_seconds=0.06>", true);
  return {.words = fmt::format("{} tokens/s", count_text(*r.tokens_per_second)),
          .measured = "tokens/s",
          .limit = *r.tokens_per_second,
          .at_least = true,
          .measure = [](const Outcome& o, double by) { return o.rate / by; }};
}

std::string takes_most(const std::vector<StepTerm>& all, Time of) {
  StepTerm max;
  for (const StepTerm& t : all)
    if (t.name != "compute" && t.time > max.time) max = t;
  return max.name.empty() ? "computing" : fmt::format("{}, {:.0f} %", term_words(max.name), 100 * (max.time / of));
}

}  // namespace fabricost::plan::need
