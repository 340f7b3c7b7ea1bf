/// Values of plans as people write them: machines with a price or a day, slow ranks, the plan of a cost.

#include "text/plain_tree.hpp"
#include "specs/tree.hpp"
#include "text/amounts.hpp"
#include "text/parse_quantity.hpp"

#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/answers/design/project.hpp>
#include <fabricost/plan/answers/stragglers.hpp>

#include <fmt/format.h>

#include <utility>

namespace fabricost::plan {

void from_text(const std::string& text, std::string_view, const Amount&, const Range&, Machines& out) {
  out.all = {text};
}

namespace {
/// The parts of "NAME=VALUE". \param what is said of the machine \param as its example \throws RequestError
[[nodiscard]] std::pair<std::string, std::string> machine_and_value(const std::string& text, std::string_view option, std::string_view what,
                                                                    std::string_view as) {
  const auto equals = text.rfind('=');
  if (equals == std::string::npos)
    throw RequestError(fmt::format("{} {}: write a machine and {}, as in {}={}", option, text, what, text, as));
  return {text.substr(0, equals), text.substr(equals + 1)};
}
}  // namespace

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, OwnPrice& out) {
  std::string_view rest;
  if (const double alone = leading_number(text, rest); alone > 0 && text.find('=') == std::string::npos) {
    out = {"", number_from(text, option, 1e-6, 1e6)};
    return;
  }
  const auto [machine, dollars] = machine_and_value(text, option, "USD for a GPU-hour", "2.50");
  out = {machine, number_from(dollars, option, 1e-6, 1e6)};
}

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, OwnDelivery& out) {
  const auto [machine, day] = machine_and_value(text, option, "the day on which it can be had", "2027-03");
  out = {machine, day};
}

void from_text(const std::string& text, std::string_view, const Amount&, const Range&, TimesGiven& out) { out.file = text; }

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, SlowKind& out) {
  const auto colon = text.find(':');
  if (colon == std::string::npos)
    throw RequestError(fmt::format("{}: \"{}\" is not SHARE:FACTOR, as in 1%:1.1", option, text.substr(0, 60)));
  out = {core::share_of(text.substr(0, colon), option), number_from(text.substr(colon + 1), option, 1, 1e6)};
}

std::string of_two_kinds(std::string_view plan, std::string_view reads) {
  return fmt::format("{}: prompts are read on {}, and cost is of one machine; the plan has the prices of both (token_prices)", plan, reads);
}

void from_text(const std::string& file, std::string_view, const Amount&, const Range&, PlannedRate& out) {
  constexpr std::size_t max = 16 << 20;
  const std::string text = read_text_file(file, max);
  const auto refuse = [&](std::string_view what) -> RequestError {
    return RequestError(fmt::format("{}: {}; write it with fabricost plan ... --json", file, what));
  };
  PlainTree json;
  try {
    std::size_t next = 0;
    json = read_json_value(text, next, file);
  } catch (const SpecError&) {
    throw refuse("is not JSON");
  }
  const auto& layouts = json.items(json.find(json.root, "layouts"));
  if (layouts.empty()) throw refuse("holds no layouts");
  const auto number = [&](PlainTree::Id map, std::string_view key) { return json.real(json.find(map, key), std::nan("")); };
  const double rate = number(layouts.front(), "tokens_per_s_per_gpu"), gpus = number(json.root, "gpus"),
               idle = number(layouts.front(), "idle_gpus");
  const std::string_view system = json.text(json.find(json.root, "system"));
  if (!(rate > 0)) throw refuse("layouts[0].tokens_per_s_per_gpu is missing or no number above 0");
  if (!(gpus >= 1)) throw refuse("gpus is missing or no number above 0");
  if (system.empty()) throw refuse("system is missing");
  out = {std::string{system}, std::string{json.text(json.find(json.root, "model"))}, gpus, rate,
         fmt::format("the fastest layout of {}", file)};
  if (const std::string_view reads = json.text(json.find(json.find(layouts.front(), "prefill"), "system")); !reads.empty())
    throw RequestError(of_two_kinds(file, reads));
  for (const PlainTree::Id one : json.items(json.find(layouts.front(), "token_prices")))
    out.tokens.push_back({.tokens = std::string{json.text(json.find(one, "tokens"))}, .per_request = number(one, "per_request"), .share = number(one, "share")});
  if (const auto& ends = json.items(json.find(layouts.front(), "interval_tokens_per_s_per_gpu")); ends.size() == 2)
    out.between = {json.real(ends[0], 0), json.real(ends[1], 0)};
  if (out.tokens.empty() && idle > 0) out.idle_gpus = idle;  // those of a served plan are among the job's
}

}  // namespace fabricost::plan
