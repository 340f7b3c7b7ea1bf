/// fabricost share: the answer as text.

#include "answers/job_verdict.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"

#include <fabricost/plan/answers/share.hpp>

namespace fabricost::cli {
namespace {

/// "nic 0 of node 0 (out), 50 GB/s, shared by 8 of 8 groups of all_reduce 1 GiB over dp and ..."
[[nodiscard]] std::string link_text(const SharedCollective& one) {
  const std::string out = fmt::format("{}, {}", *one.link, rate_text(*one.link_bandwidth));
  if (one.sharers.size() == 1 && one.sharers.front().groups < 2) return out + ", not shared";
  std::vector<std::string> who;
  for (const Sharer& s : one.sharers) who.push_back(s.of > 1 ? fmt::format("{} of {} groups of {}", s.groups, s.of, s.name) : s.name);
  return out + ", shared by " + joined(who, " and ");
}

void shared_run_text(Page& page, const ShareAnswer& a) {
  page.width = 98;
  const bool several = a.collectives.size() > 1;
  page.title(verdict_of(a));
  page.table(
      {"collective", ">groups", ">ranks", "runs", ">alone", ">ends", ">slowed", ">for ever"}, a.collectives, [](const SharedCollective& one) {
        const std::string least = one.slow_down > one.least_slow_down * (1 + 1e-6) ? fmt::format("{:.2f} to ", one.least_slow_down) : "";
        return cells(one.name, one.groups, one.ranks, fmt::format("{} {}", one.alone.algorithm.view(), one.alone.protocol.view()),
                     time_text(one.alone.time()), time_text(one.end), fmt::format("{}{:.2f} x", least, one.slow_down),
                     time_text(one.time));
      });
  page.add("\n");
  for (const SharedCollective& one : a.collectives)
    if (one.link) page.say("{}: held by {}.", one.name, link_text(one));
  if (!several && a.collectives.front().groups == 1 && a.collectives.front().slow_down > 1.005)
    page.say("Nothing else runs: its own routes put more on that link than an even spread between neighbours would.");
  if (a.detoured)
    page.say("{:.0f} % of what groups of the dragonfly send each other crosses a third group: the wires of two carry no more.",
             *a.detoured * 100);
  if (a.sharp.turns > 1)
    page.say("SHARP: {} aggregations at once take {} turns on {} switches; the times are those of one turn.", a.sharp.jobs, a.sharp.turns,
             a.sharp.switches);
  if (several) page.say("One after the other they would take {}.", time_text(a.in_turn));
  page.say(
      "Ends: they start together, and links are shared anew whenever one ends. Slowed and for ever: as long as all of them run. "
      "What a collective spends on latency is not slowed down.");
  page.say("Beside matrix products on the same GPUs a collective takes {:.2f} times as long, they {:.2f} times (4 GH200, 4 A100).",
           a.beside_products, a.products_beside);
}

}  // namespace

void add_share(CLI::App& app, Runner& runner) {
  add_question<ShareRequest>(app, runner, "share", "Collectives that run at once: who slows whom down, on which link",
                         "Example: fabricost share --system aws-p4d --nodes 8 --layout tp=8,dp --of \"all_reduce 1GiB over dp\"",
                         shared_run_text);
}

}  // namespace fabricost::cli
