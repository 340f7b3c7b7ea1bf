/// fabricost goodput: the answer as text.

#include "answers/job_verdict.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"

#include <fabricost/plan/answers/goodput.hpp>

#include <algorithm>

namespace fabricost::cli {
namespace {

[[nodiscard]] std::string share_text(double share) { return percent(share, 2); }

void add_facts(Page& page, const GoodputAnswer& a) {
  TextTable facts{"", ">", ""};
  facts.row("failures", fmt::format("{:.3g} a day", a.failures_per_day),
            fmt::format("{:.3g} per 1000 node-days ({})", a.failures_per_1000_node_days, a.failure_source));
  facts.row("mean time between", duration_text(a.mttf), "1 / (nodes x rate)");
  facts.row("checkpoint every", duration_text(a.checkpoint_every),
            fmt::format("{}; Young {}, Daly {}, exact {}", a.own_interval ? "as given" : "the best", duration_text(a.young),
                        duration_text(a.daly), duration_text(a.best)));
  facts.row("of which the job waits", duration_text(a.stall),
            a.drain > Time{}  ? fmt::format("and it can be loaded {} later", duration_text(a.drain))
            : a.checkpoint ? fmt::format("{:.3g} TB, 14 bytes a parameter", a.checkpoint->value() / 1e12)
                                 : "");
  facts.row("recovery", duration_text(a.recovery),
            a.reload > Time{} ? "of which loading " + duration_text(a.reload) : "detect, restart, load");
  page.table(facts);
}

[[nodiscard]] std::string approximation_text(const std::optional<double>& share) {
  return share ? share_text(*share) : "does not hold here";
}

void add_shares(Page& page, const GoodputAnswer& a) {
  TextTable shares{"", ">share", ""};
  shares.row("work that counts", share_text(a.goodput),
             fmt::format("first order {}; Meta's ETTR {}{}", approximation_text(a.goodput_first_order), approximation_text(a.ettr_meta),
                         a.waiting_share > 0 ? "; both leave waiting out" : ""));
  shares.row("standing still for checkpoints", share_text(a.checkpoints_share));
  shares.row("work done again", share_text(a.lost_share), "from the last checkpoint that could be loaded");
  shares.row("recovery", share_text(a.recovery_share), "1 - e^(-R/M): restarts can fail as well");
  if (a.repair > Time{})
    shares.row(a.racks ? "waiting for a rack" : "waiting for a node", share_text(a.waiting_share),
               a.racks ? fmt::format("{:.0f} racks with {} spare nodes each, back after {}; spare racks: {}, {} would wait 0.1 %", *a.racks,
                                     *a.spares_per_rack, duration_text(a.repair), a.spares, a.spares_to_wait_a_thousandth)
                       : fmt::format("{} spares, back after {}; {} spares would wait 0.1 %", a.spares, duration_text(a.repair),
                           a.spares_to_wait_a_thousandth));
  if (a.links)
    shares.row("standing still for links", share_text(a.flaps_share),
               fmt::format("{:.0f} links, {:.3g} flaps a day of {}{}", *a.links, *a.flaps_per_day, duration_text(*a.flap_stall),
                           *a.fatal_flaps_per_day > 0 ? fmt::format("; {:.3g} a day end the job", *a.fatal_flaps_per_day) : ""));
  if (a.lost_rails)
    shares.row(
        "waiting for the node with fewer NICs", share_text(a.lost_rails_share),
        fmt::format("{} of {} lost: the network's part of a step takes {:.3g} times as long", *a.lost_rails, *a.rails, *a.network_factor));
  page.table(shares);
}

void goodput_text(Page& page, const GoodputAnswer& a) {
  page.title(verdict_of(a));
  add_facts(page, a);
  page.section("Where the time goes");
  add_shares(page, a);
  if (a.lost_dollars_per_day)
    page.line("What does not count costs {} a day at {:.2f} USD a GPU-hour.", dollars_text(*a.lost_dollars_per_day),
              a.dollars_per_gpu_hour);
  page.section("By size");
  const bool slowest = a.jitter > 0;
  page.table({">GPUs", ">fails every", ">checkpoint every", ">counts", slowest ? ">mean over slowest" : "", slowest ? ">both" : ""},
             a.by_scale, [](const GoodputAtScale& one) {
               const auto if_known = [](const std::optional<double>& share) { return share ? share_text(*share) : ""; };
               return cells(fmt::format("{:.0f}", one.gpus), duration_text(one.mttf), duration_text(one.checkpoint_every),
                            share_text(one.goodput), if_known(one.waiting_efficiency), if_known(one.efficiency));
             });
  page.section("If nodes failed as they did elsewhere");
  const bool waits = a.repair > Time{};
  const bool other_nodes = std::any_of(a.by_fleet.begin(), a.by_fleet.end(), [](const GoodputOfFleet& f) {
    return f.failures_per_1000_node_days != f.published_per_1000_node_days;
  });
  page.table({"fleet", ">per 1000 node-days", other_nodes ? ">of its own nodes" : "", ">counts", waits ? ">spares to wait 0.1 %" : "",
              waits ? ">counts with them" : "", ""},
             a.by_fleet, [&](const GoodputOfFleet& f) {
               return cells(f.fleet, fmt::format("{:.2f}", f.failures_per_1000_node_days),
                            other_nodes ? fmt::format("{:.2f}", f.published_per_1000_node_days) : "", share_text(f.goodput),
                            waits ? std::to_string(f.spares_to_wait_a_thousandth) : "", waits ? share_text(f.goodput_with_them) : "",
                            f.title);
             });
}

}  // namespace

void add_goodput(CLI::App& app, Runner& runner) {
  add_question<GoodputRequest>(app, runner, "goodput", "What failures and checkpoints leave of a job's time",
                           "Example: fabricost goodput --gpus 16384 --checkpoint 30s --restart 10min", goodput_text);
}

}  // namespace fabricost::cli
