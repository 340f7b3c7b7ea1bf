/// \file goodput.cpp
/// fabricost goodput: the answer as text.

#include "cli/face.hpp"
#include "cli/subcommands.hpp"
#include "text/text_table.hpp"

#include <fabricost/answers/goodput.hpp>

#include <fmt/format.h>

#include <string>
#include <vector>

namespace fabricost::cli {
namespace {

[[nodiscard]] std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

[[nodiscard]] std::string goodput_text(const GoodputAnswer& a, const Terminal& terminal) {
  std::string out =
      terminal.strong(fmt::format("{:.0f} GPUs in {:.0f} nodes: {} of the time is work that counts", a.gpus, a.nodes, percent(a.goodput))) +
      "\n";
  TextTable facts_table{{{""}, {"", right}, {""}}};
  facts_table.row({"failures", fmt::format("{:.3g} a day", a.failures_per_day),
                   fmt::format("{:.3g} per 1000 node-days ({})", a.failures_per_1000_node_days, a.failure_source)});
  facts_table.row({"mean time between", duration_text(a.mttf_seconds), "1 / (nodes x rate)"});
  facts_table.row({"checkpoint every", duration_text(a.checkpoint_every_seconds),
                   fmt::format("{}; Young {}, Daly {}, exact {}", a.own_interval ? "as given" : "the best", duration_text(a.young_seconds),
                               duration_text(a.daly_seconds), duration_text(a.best_seconds))});
  facts_table.row({"of which the job waits", duration_text(a.stall_seconds),
                   a.drain_seconds > 0  ? fmt::format("and it can be loaded {} later", duration_text(a.drain_seconds))
                   : a.checkpoint_bytes ? fmt::format("{:.3g} TB, 14 bytes a parameter", *a.checkpoint_bytes / 1e12)
                                        : std::string{}});
  facts_table.row({"recovery", duration_text(a.recovery_seconds),
                   a.reload_seconds > 0 ? fmt::format("of which loading {}", duration_text(a.reload_seconds)) : "detect, restart, load"});
  out += facts_table.text(2) + "\n" + terminal.strong("Where the time goes") + "\n";
  TextTable shares{{{"share"}, {"", right}, {""}}};
  shares.row({"work that counts", percent(a.goodput),
              fmt::format("first order {}; Meta's ETTR {}", percent(a.goodput_first_order), percent(a.ettr_meta))});
  shares.row({"standing still for checkpoints", percent(a.checkpoints_share), ""});
  shares.row({"work done again", percent(a.lost_share), "from the last checkpoint that could be loaded"});
  shares.row({"recovery", percent(a.recovery_share), "1 - e^(-R/M): it may fail, too"});
  if (a.repair_seconds > 0)
    shares.row({"waiting for a node", percent(a.waiting_share),
                fmt::format("{} spares, back after {}; {} spares would wait 0.1 %", a.spares, duration_text(a.repair_seconds),
                            a.spares_to_wait_a_thousandth)});
  if (a.links)
    shares.row(
        {"standing still for links", percent(a.flaps_share),
         fmt::format("{:.0f} links, {:.3g} flaps a day of {}{}", *a.links, *a.flaps_per_day, duration_text(*a.flap_stall_seconds),
                     *a.fatal_flaps_per_day > 0 ? fmt::format("; {:.3g} a day end the job", *a.fatal_flaps_per_day) : std::string{})});
  if (a.lost_rails)
    shares.row({"waiting for the node with fewer NICs", percent(a.lost_rails_share),
                fmt::format("{} of {} lost: the network's part of a step takes {:.3g} times as long", *a.lost_rails, *a.rails,
                            *a.network_factor)});
  out += shares.text(2);
  if (a.lost_dollars_per_day)
    out += fmt::format("  What does not count costs {} a day at {:.2f} USD a GPU-hour.\n", dollars_text(*a.lost_dollars_per_day),
                       a.dollars_per_gpu_hour);
  out += "\n" + terminal.strong("By size") + "\n";
  std::vector<TextTable::Column> columns{{"GPUs", right}, {"fails every", right}, {"checkpoint every", right}, {"counts", right}};
  if (a.jitter > 0) columns.insert(columns.end(), {{"mean over slowest", right}, {"both", right}});
  TextTable sizes{columns};
  for (const GoodputAtScale& one : a.by_scale) {
    std::vector<std::string> cells{fmt::format("{:.0f}", one.gpus), duration_text(one.mttf_seconds),
                                   duration_text(one.checkpoint_every_seconds), percent(one.goodput)};
    if (one.waiting_efficiency) {
      cells.push_back(percent(*one.waiting_efficiency));
      cells.push_back(percent(*one.efficiency));
    }
    sizes.row(cells);
  }
  out += sizes.text(2) + "\n" + terminal.strong("If nodes failed as they did elsewhere") + "\n";
  const bool waits = a.repair_seconds > 0;
  std::vector<TextTable::Column> heads{{"fleet"}, {"per 1000 node-days", right}, {"counts", right}};
  if (waits) heads.insert(heads.end(), {{"spares to wait 0.1 %", right}, {"counts with them", right}});
  heads.push_back({""});
  TextTable fleets{heads};
  for (const GoodputOfFleet& f : a.by_fleet) {
    std::vector<std::string> cells{f.fleet, fmt::format("{:.2f}", f.failures_per_1000_node_days), percent(f.goodput)};
    if (waits) cells.push_back(fmt::format("{}", f.spares_to_wait_a_thousandth)), cells.push_back(percent(f.goodput_with_them));
    cells.push_back(f.title);
    fleets.row(cells);
  }
  return out + fleets.text(2);
}

}  // namespace

void add_goodput(CLI::App& app, Runner& runner) {
  add_face<GoodputRequest>(app, runner, "goodput", "What failures and checkpoints leave of a job's time",
                           "Example: fabricost goodput --gpus 16384 --checkpoint 30s --restart 10min", goodput_text);
}

}  // namespace fabricost::cli
