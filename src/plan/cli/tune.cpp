/// fabricost tune: the answer as text.

#include "answers/job_verdict.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"
#include "text/amounts.hpp"

#include <fabricost/plan/answers/tune.hpp>

#include <algorithm>
#include <map>

namespace fabricost::cli {
namespace {

/// The title names the ranks of a row, which follow from its nodes.
void add_ranges(Page& page, const TuneAnswer& a, bool sure) {
  const bool several = a.groups.size() > 1;
  TextTable rows{"operation", several ? ">nodes" : "", ">from", ">to", fmt::format("{} runs", library_text(a)), "faster", ">lost us",
                 ">lost",     sure ? ">at least" : ""};
  for (const SlowChoice& r : a.ranges)
    if (r.sure == sure)
      rows.row(r.operation, several ? std::to_string(r.nodes) : "", rough_size(r.smallest.value()), rough_size(r.largest.value() + 1),
               r.algorithm + " " + r.protocol, r.better_algorithm + " " + r.better_protocol, fmt::format("{:.1f}", r.lost.value() * 1e6),
               percent(r.lost_share, 0), sure ? percent(r.least_share, 0) : "");
  page.table(rows);
}

/// "nvls simple (all_gather, reduce_scatter on 1 node)", each pair once; with nodes where it is not so on all that were asked for.
[[nodiscard]] std::string unmeasured_text(const TuneAnswer& a) {
  std::map<std::string, std::map<std::string, std::vector<std::string>>> nodes;  // of each pair and operation
  for (const UnmeasuredChoice& p : a.unmeasured) nodes[p.algorithm + " " + p.protocol][p.operation].push_back(std::to_string(p.nodes));
  std::map<std::string, std::vector<std::string>> operations;
  for (const auto& [pair, its] : nodes)
    for (const auto& [operation, where] : its)
      operations[pair].push_back(where.size() == a.groups.size() ? operation
                                                                 : fmt::format("{} on {} node{}", operation, joined_with_and(where),
                                                                               where == std::vector<std::string>{"1"} ? "" : "s"));
  std::string out;
  for (const auto& [pair, its] : operations) out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", pair, joined(its));
  return out;
}

void tune_text(Page& page, const TuneAnswer& a) {
  const auto sure = static_cast<std::size_t>(std::count_if(a.ranges.begin(), a.ranges.end(), [](const SlowChoice& r) { return r.sure; }));
  page.width = 98;
  page.title(verdict_of(a));
  if (sure > 0) add_ranges(page, a, true);
  if (sure < a.ranges.size()) {
    page.section("Perhaps: within what the predictions leave open");
    add_ranges(page, a, false);
  }
  if (!a.ranges.empty() || !a.unmeasured.empty() || !a.doubts.empty()) page.add("\n");
  if (!a.ranges.empty()) page.say("Lost: at the size of the range that loses most; at least: in nineteen of twenty measurements there.");
  for (const std::string& doubt : a.doubts) page.say("Not sure: {}.", doubt);
  if (!a.unmeasured.empty()) page.say("Never recommended, because no fit covers them here: {}.", unmeasured_text(a));
}

}  // namespace

void add_tune(CLI::App& app, Runner& runner) {
  add_question<TuneRequest>(
      app, runner, "tune", "Where NCCL's own choice of algorithm or protocol loses time",
      "Example: fabricost tune --system dgx-b200 --op all_gather -o nccl_tuner.conf", tune_text,
      Writes{"--out,-o", "Write the reliable recommendations as a config for NCCL's example\ntuner plugin", [](const TuneAnswer& a) { return a.config; }});
}

}  // namespace fabricost::cli
