/// \file share.cpp
/// fabricost share: the answer as text.

#include "cli/face.hpp"
#include "cli/subcommands.hpp"
#include "faces/requests.hpp"
#include "text/text_table.hpp"

#include <fabricost/answers/share.hpp>
#include <fabricost/explain/assumed.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

namespace fabricost::cli {
namespace {

/// "nic 0 of node 0 (out), 50 GB/s, shared by 8 of 8 groups of all_reduce 1 GiB over dp and ..."
[[nodiscard]] std::string link_text(const SharedCollective& one) {
  const std::string out = fmt::format("{}, {}", *one.link, rate_text(Bandwidth::from_value(*one.link_bytes_per_second)));
  if (one.sharers.size() == 1 && one.sharers.front().groups < 2) return out + ", not shared";
  std::vector<std::string> who;
  for (const Sharer& s : one.sharers) who.push_back(s.of > 1 ? fmt::format("{} of {} groups of {}", s.groups, s.of, s.name) : s.name);
  return out + ", shared by " + joined(who, " and ");
}

[[nodiscard]] std::string shared_run_text(const ShareAnswer& a, const Terminal& terminal) {
  TextTable rows{
      {{"collective"}, {"groups", right}, {"ranks", right}, {"runs"}, {"alone", right}, {"wire slowed", right}, {"beside", right}}};
  for (const SharedCollective& one : a.collectives) {
    const std::string slowed = one.slow_down > one.least_slow_down * (1 + 1e-6)
                                   ? fmt::format("{:.2f} to {:.2f} x", one.least_slow_down, one.slow_down)
                                   : fmt::format("{:.2f} x", one.slow_down);
    rows.row({one.name, std::to_string(one.groups), std::to_string(one.ranks),
              fmt::format("{} {}", one.alone.algorithm.view(), one.alone.protocol.view()), time_text(one.alone.time()), slowed,
              time_text(Time::from_value(one.seconds))});
  }
  std::string out =
      terminal.strong(fmt::format("At once on {} GPUs, {} of {}", a.gpus, counted(a.nodes, "node"), a.system)) + "\n" + rows.text(2) + "\n";
  for (const SharedCollective& one : a.collectives)
    if (one.link) out += wrapped("  ", fmt::format("{}: held by {}.", one.name, link_text(one)), 98);
  if (a.sharp.turns > 1)
    out += wrapped("  ",
                   fmt::format("SHARP: {} aggregations at once take {} turns on {} switches; the times are those of one turn.",
                               a.sharp.jobs, a.sharp.turns, a.sharp.switches),
                   98);
  out += wrapped("  ", "Beside: while all of them run; what a collective spends on latency is not slowed down.", 98);
  return out;
}

}  // namespace

void add_share(CLI::App& app, Runner& runner) {
  add_face<ShareRequest>(app, runner, "share", "Collectives that run at once: who slows whom down, on which link",
                         "Example: fabricost share --system aws-p4d --nodes 8 --layout tp=8,dp --of \"all_reduce 1GiB over dp\"",
                         shared_run_text);
}

}  // namespace fabricost::cli
