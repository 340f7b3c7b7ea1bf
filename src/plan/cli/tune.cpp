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

/// "nvls simple (all_gather, reduce_scatter)", each pair once.
[[nodiscard]] std::string unmeasured_text(const std::vector<UnmeasuredChoice>& pairs) {
  std::map<std::string, std::vector<std::string>> operations;
  for (const UnmeasuredChoice& p : pairs) {
    std::vector<std::string>& its = operations[p.algorithm + " " + p.protocol];
    if (std::find(its.begin(), its.end(), p.operation) == its.end()) its.push_back(p.operation);
  }
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
  if (!a.unmeasured.empty()) page.say("Never recommended, because no fit covers them here: {}.", unmeasured_text(a.unmeasured));
}

}  // namespace

void add_tune(CLI::App& app, Runner& runner) {
  add_question<TuneRequest>(
      app, runner, "tune", "Where NCCL's own choice of algorithm or protocol loses time",
      "Example: fabricost tune --system dgx-b200 --op all_gather -o nccl_tuner.conf", tune_text,
      Writes{"--out,-o", "Write the reliable recommendations as a config for NCCL's example\ntuner plugin", [](const TuneAnswer& a) { return a.config; }});
}

}  // namespace fabricost::cli
