/// \file goodput.cpp
/// fabricost goodput: how often a job of that size fails, how often to checkpoint, and which share of the time is left; with links that
/// drop out and come back, or a node that lost NICs, what those take of it.

#include "../io/text_table.hpp"
#include "amounts.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/io/load.hpp>
#include <fabricost/io/load_model.hpp>
#include <fabricost/io/reliability.hpp>
#include <fabricost/plan/stragglers.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <memory>

namespace fabricost::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr auto right = TextTable::Align::right;
constexpr double hours_of_a_year = 8766;

/// As typed; empty where nothing was.
struct Options {
  std::string gpus, gpus_per_node, system, fleet, mttf_node, per_node_day, per_thousand, checkpoint, drain, interval, restart, reload,
      model, storage, spares, repair, replaced, prices, price, jitter, links, flaps, flap_stall, flap_fatal, rails, lost_rails, network;
  bool async = false, json = false;
};

/// What was asked, and how it came about.
struct FailingJob {
  FailureQuestion question;
  double gpus = 0, gpus_per_node = 8;
  std::string rate_source;
  const FailureFleet* fleet = nullptr;  ///< when its rate is used
  double checkpoint_bytes = 0;
  double reload = 0;
  double rent = 0;    ///< USD per GPU and second; 0 unknown
  double jitter = 0;  ///< standard deviation of one rank's step over its mean
  LinkFlaps flaps{};  ///< of all links of the job
  int rails = 0, lost_rails = 0;
  double network = 0;  ///< share of a step that waits for the network
  /// What a step takes beside one with all NICs.
  [[nodiscard]] double slower() const {
    return lost_rails > 0 ? network_slowed(1, network, lost_rail_factor(rails, lost_rails, LostRail::spread)) : 1;
  }
};

/// Where the time goes, what links take included; shares of it that add up to 1.
struct Shares {
  Goodput of_failures;
  double flaps = 0;       ///< standing still until a link is back
  double lost_rails = 0;  ///< the same work through fewer NICs
};

/// Links of a job of so many GPUs, as many a GPU as there are now.
[[nodiscard]] LinkFlaps flaps_at(const FailingJob& a, double gpus) {
  LinkFlaps out = a.flaps;
  out.links *= gpus / a.gpus;
  return out;
}

/// While a link is out nothing else goes on; what is kept goes on more slowly where NICs are lost.
[[nodiscard]] Shares shares_of(const FailingJob& a, Goodput g, double gpus) {
  Shares out{.of_failures = g, .flaps = flaps_at(a, gpus).stalled()};
  for (double* share :
       {&out.of_failures.kept, &out.of_failures.checkpoints, &out.of_failures.lost, &out.of_failures.recovery, &out.of_failures.waiting})
    *share *= 1 - out.flaps;
  out.lost_rails = out.of_failures.kept * (1 - 1 / a.slower());
  out.of_failures.kept -= out.lost_rails;
  return out;
}

/// Flaps of links and lost NICs. \param nics of a node of the machine; 0: none named
void mean_links(FailingJob& out, const Options& o, int nics) {
  if (o.flaps.empty() != o.flap_stall.empty())
    throw RequestError(
        "link flaps need both: --flaps-per-link-year, how often a link drops out, and --flap-stall, until traffic flows again");
  if (o.flaps.empty() && (!o.links.empty() || !o.flap_fatal.empty()))
    throw RequestError("--links and --flap-fatal are of link flaps: add --flaps-per-link-year and --flap-stall");
  if (!o.flaps.empty()) {
    const double nodes = std::ceil(out.gpus / out.gpus_per_node);
    out.flaps = {.links = !o.links.empty() ? number_from(o.links, "--links", 1, 1e9)
                          : nics > 0       ? nodes * nics
                                           : out.gpus,
                 .per_link_hour = number_from(o.flaps, "--flaps-per-link-year", 0, 1e9) / hours_of_a_year,
                 .stall_seconds = duration_of(o.flap_stall, "--flap-stall"),
                 .fatal_share = o.flap_fatal.empty() ? 0 : share_of(o.flap_fatal, "--flap-fatal")};
    out.question.other_failures = out.flaps.failures_per_hour() / 3600;
  }
  if (o.lost_rails.empty()) {
    if (!o.rails.empty() || !o.network.empty()) throw RequestError("--rails and --network-share are of lost NICs: add --lost-rails");
    return;
  }
  if (o.network.empty()) throw RequestError("what does a step wait for the network? Add --network-share, as in --network-share 20%");
  out.rails = o.rails.empty() ? nics : count_of(o.rails, "--rails");
  if (out.rails == 0) throw RequestError("how many rails are there? Add --rails, as in --rails 8, or --system");
  out.lost_rails = count_of(o.lost_rails, "--lost-rails");
  out.network = share_of(o.network, "--network-share");
  (void)lost_rail_factor(out.rails, out.lost_rails, LostRail::spread);  // fewer than there are?
}

[[nodiscard]] FailingJob meant(const Options& o, const FailureFacts& facts) {
  FailingJob out;
  if (o.gpus.empty()) throw RequestError("how many GPUs? Add --gpus, as in --gpus 16384");
  out.gpus = count_of(o.gpus, "--gpus");
  int nics = 0;
  if (!o.system.empty()) {
    const System system = load_system(o.system, {}, {}, KernelSets::none());
    if (const Tier* nic = system.tier(TierRole::nic)) nics = nic->endpoints;
    out.gpus_per_node = system.gpus_per_node;
    Prices prices = load_prices(o.prices.empty() ? "default" : o.prices);
    if (!o.price.empty()) prices.gpu_hour.value = units::USD_per_h(number_from(o.price, "--price-gpu-hour", 0, 1e6));
    out.rent = rent_of(system, prices).value.value();
  } else if (!o.prices.empty()) {
    throw RequestError("--prices are those of a machine: add --system");
  } else if (!o.price.empty()) {
    out.rent = number_from(o.price, "--price-gpu-hour", 0, 1e6) / 3600;
  }
  if (!o.gpus_per_node.empty()) out.gpus_per_node = count_of(o.gpus_per_node, "--gpus-per-node");
  FailureQuestion& q = out.question;
  q.nodes = std::ceil(out.gpus / out.gpus_per_node);

  const int rates = !o.mttf_node.empty() + !o.per_node_day.empty() + !o.per_thousand.empty() + !o.fleet.empty();
  if (rates > 1)
    throw RequestError("one rate of failures is enough: --mttf-node, --failures-per-node-day, --failures-per-1000-node-days or --fleet");
  q.replaced = 1;
  out.rate_source = "as given";
  if (!o.mttf_node.empty()) {
    q.rate = FailureRate::of_mttf(duration_of(o.mttf_node, "--mttf-node"));
  } else if (!o.per_node_day.empty()) {
    q.rate = FailureRate::per_thousand_node_days(1000 * number_from(o.per_node_day, "--failures-per-node-day", 1e-9, 1e6));
  } else if (!o.per_thousand.empty()) {
    q.rate = FailureRate::per_thousand_node_days(number_from(o.per_thousand, "--failures-per-1000-node-days", 1e-6, 1e9));
  } else {
    const FailureFleet& fleet = facts.fleet(o.fleet.empty() ? "llama3" : o.fleet);
    out.fleet = &fleet;
    q.rate = fleet.rate;
    // published per node of its own size: nodes of another size fail in proportion to their GPUs
    q.rate.per_node *= out.gpus_per_node / fleet.gpus_per_node;
    q.replaced = fleet.replaced();
    out.rate_source = fmt::format("{}: {}", fleet.name, fleet.title);
  }
  if (!o.replaced.empty()) q.replaced = share_of(o.replaced, "--replaced");

  Checkpointing& c = q.checkpointing;
  if (!o.model.empty()) out.checkpoint_bytes = checkpoint_bytes_per_parameter * parameters_of(load_model(o.model)).total;
  const double rate = o.storage.empty() ? 0 : storage_rate_of(o.storage, "--storage");
  if (rate > 0 && out.checkpoint_bytes <= 0) throw RequestError("--storage writes the checkpoint of a model: add --model");
  const double written = rate > 0 ? out.checkpoint_bytes / rate : 0;
  if (!o.drain.empty() && !o.async) throw RequestError("--drain is how long a checkpoint is written in the background: add --async");
  c.stall = o.async ? facts.background_stall : written > 0 ? written : facts.stall;
  if (!o.checkpoint.empty()) c.stall = duration_of(o.checkpoint, "--checkpoint");
  if (o.async) c.drain = !o.drain.empty() ? duration_of(o.drain, "--drain") : written > 0 ? written : facts.background_drain;
  if (!o.interval.empty()) c.interval = duration_of(o.interval, "--interval");
  out.reload = !o.reload.empty() ? duration_of(o.reload, "--reload") : written;
  c.recovery = (o.restart.empty() ? facts.recovery : duration_of(o.restart, "--restart")) + out.reload;

  if (!o.jitter.empty()) out.jitter = share_of(o.jitter, "--jitter");
  if (!o.spares.empty()) q.spares = whole_number_from(o.spares, "--spares", 0, 1000000);
  if (!o.repair.empty())
    q.repair = duration_of(o.repair, "--repair");
  else if (!o.spares.empty())
    q.repair = facts.repair;
  mean_links(out, o, nics);
  return out;
}

[[nodiscard]] FailureAnswer at_scale(const FailingJob& a, double gpus, bool own_interval) {
  FailureQuestion q = a.question;
  q.nodes = std::ceil(gpus / a.gpus_per_node);
  q.other_failures = flaps_at(a, gpus).failures_per_hour() / 3600;
  q.repair = 0;  // the table is about failures; spares are a matter of one size
  if (!own_interval) q.checkpointing.interval = 0;
  FailureAnswer out = failures_of(q);
  out.share.kept = shares_of(a, out.share, gpus).of_failures.kept;
  return out;
}

/// Mean step of one rank over that of the slowest of them all.
[[nodiscard]] double waiting_efficiency(const FailingJob& a, double gpus) {
  return 1 / expected_maximum({JitterShape::normal, 1, a.jitter}, gpus);
}

[[nodiscard]] std::vector<double> scales(double gpus) {
  std::vector<double> out;
  for (double g = 1024; g <= 131072; g *= 2) out.push_back(g);
  if (std::find(out.begin(), out.end(), gpus) == out.end()) out.push_back(gpus);
  std::sort(out.begin(), out.end());
  return out;
}

[[nodiscard]] Json shares_json(const Shares& s) {
  const Goodput& g = s.of_failures;
  return {{"kept", g.kept},   {"checkpoints", g.checkpoints}, {"lost", g.lost}, {"recovery", g.recovery}, {"waiting", g.waiting},
          {"flaps", s.flaps}, {"lost_rails", s.lost_rails}};
}

[[nodiscard]] double fleet_goodput(const FailingJob& a, const FailureFleet& f) {
  FailureQuestion q = a.question;
  q.rate = f.rate;
  q.rate.per_node *= a.gpus_per_node / f.gpus_per_node;
  q.checkpointing.interval = 0;
  q.repair = 0;
  return shares_of(a, failures_of(q).share, a.gpus).of_failures.kept;
}

[[nodiscard]] Json to_json(const FailingJob& a, const FailureAnswer& r, const FailureFacts& facts, bool own_interval) {
  const Checkpointing& c = r.checkpointing;
  const Shares shares = shares_of(a, r.share, a.gpus);
  const double kept = shares.of_failures.kept;
  Json out{{"gpus", a.gpus}, {"nodes", r.nodes}};
  out["failures"] = {{"source", a.rate_source},
                     {"per_1000_node_days", a.question.rate.thousand_node_days()},
                     {"per_day", day_seconds / r.mttf},
                     {"mttf_s", r.mttf}};
  out["checkpoint"] = {{"interval_s", c.interval},
                       {"stall_s", c.stall},
                       {"drain_s", c.drain},
                       {"young_s", young_interval(c.stall, r.mttf)},
                       {"daly_s", daly_interval(c.stall, r.mttf)},
                       {"best_s", best_interval(c.stall, r.mttf, c.drain)}};
  if (a.checkpoint_bytes > 0) out["checkpoint"]["bytes"] = a.checkpoint_bytes;
  out["recovery_s"] = c.recovery;
  out["goodput"] = kept;
  out["goodput_first_order"] = goodput_estimate(c, r.mttf);
  out["ettr_meta"] = effective_training_time(1 / r.mttf, c.recovery, c.interval, c.stall);
  out["shares"] = shares_json(shares);
  out["spares"] = {{"spares", r.spares},
                   {"repair_s", a.question.repair},
                   {"to_wait_a_thousandth", r.spares_to_hardly_wait},
                   {"kept_per_node", kept * r.nodes / (r.nodes + r.spares)}};
  if (a.flaps.links > 0)
    out["flaps"] = {{"links", a.flaps.links},
                    {"per_day", 24 * a.flaps.links * a.flaps.per_link_hour},
                    {"stall_s", a.flaps.stall_seconds},
                    {"fatal_per_day", 24 * a.flaps.failures_per_hour()}};
  if (a.lost_rails > 0)
    out["rails"] = {{"rails", a.rails},
                    {"lost", a.lost_rails},
                    {"network_factor", lost_rail_factor(a.rails, a.lost_rails, LostRail::spread)},
                    {"step_factor", a.slower()}};
  if (a.rent > 0) out["lost_usd_per_day"] = a.rent * a.gpus * day_seconds * (1 - kept);
  if (a.fleet != nullptr) {
    out["causes"] = Json::array();
    for (const FailureCause& cause : a.fleet->causes)
      out["causes"].push_back({{"cause", cause.cause},
                               {"part", cause.part},
                               {"per_day", cause.count / a.fleet->failures() * day_seconds * a.question.rate.per_node * r.nodes}});
  }
  out["by_scale"] = Json::array();
  for (const double g : scales(a.gpus)) {
    const FailureAnswer one = at_scale(a, g, own_interval);
    out["by_scale"].push_back({{"gpus", g}, {"mttf_s", one.mttf}, {"interval_s", one.checkpointing.interval}, {"goodput", one.share.kept}});
    if (a.jitter > 0) {
      out["by_scale"].back()["waiting_efficiency"] = waiting_efficiency(a, g);
      out["by_scale"].back()["efficiency"] = waiting_efficiency(a, g) * one.share.kept;
    }
  }
  out["by_fleet"] = Json::array();
  for (const FailureFleet& f : facts.fleets)
    out["by_fleet"].push_back({{"fleet", f.name}, {"per_1000_node_days", f.rate.thousand_node_days()}, {"goodput", fleet_goodput(a, f)}});
  return out;
}

[[nodiscard]] std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

[[nodiscard]] std::string text_of(const FailingJob& a, const FailureAnswer& r, const FailureFacts& facts, bool own_interval,
                                  const Terminal& terminal) {
  const Checkpointing& c = r.checkpointing;
  const Shares all = shares_of(a, r.share, a.gpus);
  const Goodput& share = all.of_failures;
  std::string out = terminal.strong(fmt::format("{:.0f} GPUs in {:.0f} nodes: {} of the time is work that counts", a.gpus, r.nodes,
                                                percent(share.kept))) +
                    "\n";
  TextTable facts_table{{{""}, {"", right}, {""}}};
  facts_table.row({"failures", fmt::format("{:.3g} a day", day_seconds / r.mttf),
                   fmt::format("{:.3g} per 1000 node-days ({})", a.question.rate.thousand_node_days(), a.rate_source)});
  facts_table.row({"mean time between", duration_text(r.mttf), "1 / (nodes x rate)"});
  facts_table.row({"checkpoint every", duration_text(c.interval),
                   fmt::format("{}; Young {}, Daly {}, exact {}", own_interval ? "as given" : "the best",
                               duration_text(young_interval(c.stall, r.mttf)), duration_text(daly_interval(c.stall, r.mttf)),
                               duration_text(best_interval(c.stall, r.mttf, c.drain)))});
  facts_table.row({"of which the job waits", duration_text(c.stall),
                   c.drain > 0              ? fmt::format("and it can be loaded {} later", duration_text(c.drain))
                   : a.checkpoint_bytes > 0 ? fmt::format("{:.3g} TB, 14 bytes a parameter", a.checkpoint_bytes / 1e12)
                                            : std::string{}});
  facts_table.row({"recovery", duration_text(c.recovery),
                   a.reload > 0 ? fmt::format("of which loading {}", duration_text(a.reload)) : "detect, restart, load"});
  out += facts_table.text(2) + "\n" + terminal.strong("Where the time goes") + "\n";
  TextTable shares{{{"share"}, {"", right}, {""}}};
  shares.row({"work that counts", percent(share.kept),
              fmt::format("first order {}; Meta's ETTR {}", percent(goodput_estimate(c, r.mttf)),
                          percent(effective_training_time(1 / r.mttf, c.recovery, c.interval, c.stall)))});
  shares.row({"standing still for checkpoints", percent(share.checkpoints), ""});
  shares.row({"work done again", percent(share.lost), "from the last checkpoint that could be loaded"});
  shares.row({"recovery", percent(share.recovery), "1 - e^(-R/M): it may fail, too"});
  if (a.question.repair > 0)
    shares.row({"waiting for a node", percent(share.waiting),
                fmt::format("{} spares, back after {}; {} spares would wait 0.1 %", r.spares, duration_text(a.question.repair),
                            r.spares_to_hardly_wait)});
  if (a.flaps.links > 0)
    shares.row({"standing still for links", percent(all.flaps),
                fmt::format("{:.0f} links, {:.3g} flaps a day of {}{}", a.flaps.links, 24 * a.flaps.links * a.flaps.per_link_hour,
                            duration_text(a.flaps.stall_seconds),
                            a.flaps.fatal_share > 0 ? fmt::format("; {:.3g} a day end the job", 24 * a.flaps.failures_per_hour())
                                                    : std::string{})});
  if (a.lost_rails > 0)
    shares.row({"waiting for the node with fewer NICs", percent(all.lost_rails),
                fmt::format("{} of {} lost: the network's part of a step takes {:.3g} times as long", a.lost_rails, a.rails,
                            lost_rail_factor(a.rails, a.lost_rails, LostRail::spread))});
  out += shares.text(2);
  if (a.rent > 0)
    out += fmt::format("  What does not count costs {} a day at {:.2f} USD a GPU-hour.\n",
                       dollars_text(a.rent * a.gpus * day_seconds * (1 - share.kept)), a.rent * 3600);
  out += "\n" + terminal.strong("By size") + "\n";
  std::vector<TextTable::Column> columns{{"GPUs", right}, {"fails every", right}, {"checkpoint every", right}, {"counts", right}};
  if (a.jitter > 0) columns.insert(columns.end(), {{"mean over slowest", right}, {"both", right}});
  TextTable sizes{columns};
  for (const double g : scales(a.gpus)) {
    const FailureAnswer one = at_scale(a, g, own_interval);
    std::vector<std::string> cells{fmt::format("{:.0f}", g), duration_text(one.mttf), duration_text(one.checkpointing.interval),
                                   percent(one.share.kept)};
    if (a.jitter > 0) {
      cells.push_back(percent(waiting_efficiency(a, g)));
      cells.push_back(percent(waiting_efficiency(a, g) * one.share.kept));
    }
    sizes.row(cells);
  }
  out += sizes.text(2) + "\n" + terminal.strong("If nodes failed as they did elsewhere") + "\n";
  TextTable fleets{{{"fleet"}, {"per 1000 node-days", right}, {"counts", right}, {""}}};
  for (const FailureFleet& f : facts.fleets)
    fleets.row({f.name, fmt::format("{:.2f}", f.rate.thousand_node_days()), percent(fleet_goodput(a, f)), f.title});
  return out + fleets.text(2);
}

}  // namespace

void add_goodput(CLI::App& app, Runner& runner) {
  const auto o = std::make_shared<Options>();
  CLI::App& sub = *app.add_subcommand("goodput", "What failures and checkpoints leave of a job's time");
  const auto option = [&](const char* names, std::string& into, const char* help, const char* kind) {
    sub.add_option(names, into, help)->option_text(kind);
  };
  option("--gpus,-g", o->gpus, "How many GPUs the job has", "N");
  option("--gpus-per-node", o->gpus_per_node, "Default 8, or the system's", "N");
  option("--system,-s", o->system, "The machine: GPUs per node and price", "NAME");
  option("--fleet", o->fleet, "Fail as often as: llama3 (default), rsc-1, rsc-2, rsc-observed, opt-175b", "NAME");
  option("--mttf-node", o->mttf_node, "Mean time to failure of a node, as in 6000h", "TIME");
  option("--failures-per-node-day", o->per_node_day, "The same as a rate", "X");
  option("--failures-per-1000-node-days", o->per_thousand, "The same as papers print it", "X");
  option("--checkpoint,-c", o->checkpoint, "How long the job stands still for one; default 40s, --async 0.6s", "TIME");
  option("--interval", o->interval, "Work between checkpoints; default the best", "TIME");
  sub.add_flag("--async", o->async, "Checkpoints are written in the background");
  option("--drain", o->drain, "How long that takes; default 60s, or the model's size at --storage", "TIME");
  option("--restart", o->restart, "Detect, replace and restart; default 10min", "TIME");
  option("--reload", o->reload, "Load the checkpoint; default the model's size at --storage", "TIME");
  option("--model,-m", o->model, "The model: 14 bytes a parameter in a checkpoint", "NAME");
  option("--storage", o->storage, "What the storage writes and reads, as in 2TB/s", "RATE");
  option("--spares", o->spares, "Nodes that stand by; default: there is always one", "N");
  option("--repair", o->repair, "Until a node is back; default 24h", "TIME");
  option("--replaced", o->replaced, "Share of failures that take a node away; default the fleet's", "X");
  option("--flaps-per-link-year", o->flaps, "How often a link drops out and comes back; needs --flap-stall", "X");
  option("--flap-stall", o->flap_stall, "Until traffic flows again: everybody waits", "TIME");
  option("--links", o->links, "Links whose flaps the job feels; default one per NIC", "N");
  option("--flap-fatal", o->flap_fatal, "Share of flaps that outlast the transport and end the job; default 0", "X");
  option("--lost-rails", o->lost_rails, "NICs that one node has lost; needs --network-share", "N");
  option("--rails", o->rails, "NICs of a node; default the system's", "N");
  option("--network-share", o->network, "Share of a step that waits for the network", "X");
  option("--jitter", o->jitter, "Deviation of one GPU's step over its mean: adds waiting to the table", "X");
  option("--prices", o->prices, "A file of prices", "FILE");
  option("--price-gpu-hour", o->price, "USD for a GPU-hour", "X");
  sub.add_flag("--json", o->json, "Print JSON");
  sub.footer("Example: fabricost goodput --gpus 16384 --checkpoint 30s --restart 10min");
  runner.add(sub, [o](const Terminal& terminal) {
    const FailureFacts facts = load_failure_facts();
    const FailingJob asked = meant(*o, facts);
    const FailureAnswer answer = failures_of(asked.question);
    const bool own_interval = !o->interval.empty();
    return o->json ? printed(to_json(asked, answer, facts, own_interval)) : text_of(asked, answer, facts, own_interval, terminal);
  });
}

}  // namespace fabricost::cli
