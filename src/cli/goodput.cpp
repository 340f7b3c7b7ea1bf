/// \file goodput.cpp
/// fabricost goodput: how often a job of that size fails, how often to checkpoint, and which share of the time is left; with links that
/// drop out and come back, or a node that lost NICs, what those take of it.

#include "text/text_table.hpp"
#include "amounts.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/answers/goodput.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/specs/load_model.hpp>
#include <fabricost/specs/prices.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace fabricost::cli {
namespace {

using Json = nlohmann::ordered_json;
/// As typed; empty where nothing was.
struct GoodputOptions {
  std::string gpus, gpus_per_node, system, fleet, mttf_node, per_node_day, per_thousand, checkpoint, drain, interval, restart, reload,
      model, storage, spares, repair, replaced, prices, price, jitter, links, flaps, flap_stall, flap_fatal, rails, lost_rails, network;
  bool async = false, json = false;
};

constexpr GoodputWords goodput_words{.rates = "--mttf-node, --failures-per-node-day, --failures-per-1000-node-days or --fleet",
                                     .storage = "--storage",
                                     .model = "--model",
                                     .drain = "--drain",
                                     .background = "--async",
                                     .flaps = "--flaps-per-link-year",
                                     .flap_stall = "--flap-stall",
                                     .links = "--links",
                                     .flap_fatal = "--flap-fatal",
                                     .lost_rails = "--lost-rails",
                                     .rails = "--rails",
                                     .network_share = "--network-share",
                                     .rails_example = "--rails 8",
                                     .network_example = "--network-share 20%",
                                     .system = "--system"};

/// Texts as numbers; what they mean together is goodput_of_job's.
[[nodiscard]] GoodputAsked meant(const GoodputOptions& o) {
  const auto seconds = [](const std::string& text, std::string_view option) {
    return text.empty() ? std::nullopt : std::optional{duration_of(text, option)};
  };
  const auto number = [](const std::string& text, std::string_view option, double least, double most) {
    return text.empty() ? std::nullopt : std::optional{number_from(text, option, least, most)};
  };
  const auto share = [](const std::string& text, std::string_view option) {
    return text.empty() ? std::nullopt : std::optional{share_of(text, option)};
  };
  const auto count = [](const std::string& text, std::string_view option) {
    return text.empty() ? std::nullopt : std::optional{count_of(text, option)};
  };
  if (o.gpus.empty()) throw RequestError("how many GPUs? Add --gpus, as in --gpus 16384");
  GoodputAsked out;
  out.gpus = count_of(o.gpus, "--gpus");
  if (!o.system.empty()) out.system = load_system(o.system, {}, {}, KernelSets::none());
  if (o.system.empty() && !o.prices.empty()) throw RequestError("--prices are those of a machine: add --system");
  if (!o.prices.empty()) out.prices = load_prices(o.prices);
  out.gpu_hour = number(o.price, "--price-gpu-hour", 0, 1e6);
  if (const auto each = count(o.gpus_per_node, "--gpus-per-node")) out.gpus_per_node = *each;
  if (!o.fleet.empty()) out.fleet = o.fleet;
  out.mttf_node = seconds(o.mttf_node, "--mttf-node");
  out.per_node_day = number(o.per_node_day, "--failures-per-node-day", 1e-9, 1e6);
  out.per_thousand_node_days = number(o.per_thousand, "--failures-per-1000-node-days", 1e-6, 1e9);
  out.replaced = share(o.replaced, "--replaced");
  if (!o.model.empty()) out.model = load_model(o.model);
  if (!o.storage.empty()) out.storage = storage_rate_of(o.storage, "--storage");
  out.background = o.async;
  out.checkpoint = seconds(o.checkpoint, "--checkpoint");
  out.interval = seconds(o.interval, "--interval");
  out.drain = seconds(o.drain, "--drain");
  out.restart = seconds(o.restart, "--restart");
  out.reload = seconds(o.reload, "--reload");
  out.jitter = share(o.jitter, "--jitter").value_or(0);
  if (!o.spares.empty()) out.spares = whole_number_from(o.spares, "--spares", 0, 1000000);
  out.repair = seconds(o.repair, "--repair");
  out.flaps_per_link_year = number(o.flaps, "--flaps-per-link-year", 0, 1e9);
  out.flap_stall = seconds(o.flap_stall, "--flap-stall");
  out.links = number(o.links, "--links", 1, 1e9);
  out.flap_fatal = share(o.flap_fatal, "--flap-fatal");
  out.lost_rails = count(o.lost_rails, "--lost-rails");
  out.rails = count(o.rails, "--rails");
  out.network_share = share(o.network, "--network-share");
  return out;
}

[[nodiscard]] Json shares_json(const GoodputShares& s) {
  const Goodput& g = s.of_failures;
  return {{"kept", g.kept},   {"checkpoints", g.checkpoints}, {"lost", g.lost}, {"recovery", g.recovery}, {"waiting", g.waiting},
          {"flaps", s.flaps}, {"lost_rails", s.lost_rails}};
}

[[nodiscard]] Json to_json(const GoodputAnswer& answer) {
  const FailingJob& a = answer.job;
  const FailureAnswer& r = answer.failures;
  const Checkpointing& c = r.checkpointing;
  Json out{{"gpus", a.gpus}, {"nodes", r.nodes}};
  out["failures"] = {{"source", a.rate_source},
                     {"per_1000_node_days", a.question.rate.thousand_node_days()},
                     {"per_day", day_seconds / r.mttf},
                     {"mttf_s", r.mttf}};
  out["checkpoint"] = {{"interval_s", c.interval}, {"stall_s", c.stall},    {"drain_s", c.drain},
                       {"young_s", answer.young},  {"daly_s", answer.daly}, {"best_s", answer.best}};
  if (a.checkpoint_bytes > 0) out["checkpoint"]["bytes"] = a.checkpoint_bytes;
  out["recovery_s"] = c.recovery;
  out["goodput"] = answer.kept();
  out["goodput_first_order"] = answer.first_order;
  out["ettr_meta"] = answer.ettr;
  out["shares"] = shares_json(answer.shares);
  out["spares"] = {{"spares", r.spares},
                   {"repair_s", a.question.repair},
                   {"to_wait_a_thousandth", r.spares_to_hardly_wait},
                   {"kept_per_node", answer.kept_per_node()}};
  if (a.flaps.links > 0)
    out["flaps"] = {{"links", a.flaps.links},
                    {"per_day", 24 * a.flaps.links * a.flaps.per_link_hour},
                    {"stall_s", a.flaps.stall_seconds},
                    {"fatal_per_day", 24 * a.flaps.failures_per_hour()}};
  if (a.lost_rails > 0)
    out["rails"] = {{"rails", a.rails}, {"lost", a.lost_rails}, {"network_factor", a.network_factor()}, {"step_factor", a.step_factor()}};
  if (a.rent > 0) out["lost_usd_per_day"] = answer.lost_per_day;
  if (a.fleet) {
    out["causes"] = Json::array();
    for (const CausePerDay& cause : answer.causes)
      out["causes"].push_back({{"cause", cause.cause}, {"part", cause.part}, {"per_day", cause.per_day}});
  }
  out["by_scale"] = Json::array();
  for (const GoodputAtScale& one : answer.by_scale) {
    out["by_scale"].push_back({{"gpus", one.gpus}, {"mttf_s", one.mttf}, {"interval_s", one.interval}, {"goodput", one.kept}});
    if (one.waiting_efficiency) {
      out["by_scale"].back()["waiting_efficiency"] = *one.waiting_efficiency;
      out["by_scale"].back()["efficiency"] = *one.efficiency();
    }
  }
  out["by_fleet"] = Json::array();
  for (const GoodputOfFleet& f : answer.by_fleet)
    out["by_fleet"].push_back({{"fleet", f.name}, {"per_1000_node_days", f.per_thousand_node_days}, {"goodput", f.kept}});
  return out;
}

[[nodiscard]] std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

[[nodiscard]] std::string text_of(const GoodputAnswer& answer, const Terminal& terminal) {
  const FailingJob& a = answer.job;
  const FailureAnswer& r = answer.failures;
  const Checkpointing& c = r.checkpointing;
  const Goodput& share = answer.shares.of_failures;
  std::string out = terminal.strong(fmt::format("{:.0f} GPUs in {:.0f} nodes: {} of the time is work that counts", a.gpus, r.nodes,
                                                percent(share.kept))) +
                    "\n";
  TextTable facts_table{{{""}, {"", right}, {""}}};
  facts_table.row({"failures", fmt::format("{:.3g} a day", day_seconds / r.mttf),
                   fmt::format("{:.3g} per 1000 node-days ({})", a.question.rate.thousand_node_days(), a.rate_source)});
  facts_table.row({"mean time between", duration_text(r.mttf), "1 / (nodes x rate)"});
  facts_table.row({"checkpoint every", duration_text(c.interval),
                   fmt::format("{}; Young {}, Daly {}, exact {}", a.own_interval ? "as given" : "the best", duration_text(answer.young),
                               duration_text(answer.daly), duration_text(answer.best))});
  facts_table.row({"of which the job waits", duration_text(c.stall),
                   c.drain > 0              ? fmt::format("and it can be loaded {} later", duration_text(c.drain))
                   : a.checkpoint_bytes > 0 ? fmt::format("{:.3g} TB, 14 bytes a parameter", a.checkpoint_bytes / 1e12)
                                            : std::string{}});
  facts_table.row({"recovery", duration_text(c.recovery),
                   a.reload > 0 ? fmt::format("of which loading {}", duration_text(a.reload)) : "detect, restart, load"});
  out += facts_table.text(2) + "\n" + terminal.strong("Where the time goes") + "\n";
  TextTable shares{{{"share"}, {"", right}, {""}}};
  shares.row({"work that counts", percent(share.kept),
              fmt::format("first order {}; Meta's ETTR {}", percent(answer.first_order), percent(answer.ettr))});
  shares.row({"standing still for checkpoints", percent(share.checkpoints), ""});
  shares.row({"work done again", percent(share.lost), "from the last checkpoint that could be loaded"});
  shares.row({"recovery", percent(share.recovery), "1 - e^(-R/M): it may fail, too"});
  if (a.question.repair > 0)
    shares.row({"waiting for a node", percent(share.waiting),
                fmt::format("{} spares, back after {}; {} spares would wait 0.1 %", r.spares, duration_text(a.question.repair),
                            r.spares_to_hardly_wait)});
  if (a.flaps.links > 0)
    shares.row({"standing still for links", percent(answer.shares.flaps),
                fmt::format("{:.0f} links, {:.3g} flaps a day of {}{}", a.flaps.links, 24 * a.flaps.links * a.flaps.per_link_hour,
                            duration_text(a.flaps.stall_seconds),
                            a.flaps.fatal_share > 0 ? fmt::format("; {:.3g} a day end the job", 24 * a.flaps.failures_per_hour())
                                                    : std::string{})});
  if (a.lost_rails > 0)
    shares.row(
        {"waiting for the node with fewer NICs", percent(answer.shares.lost_rails),
         fmt::format("{} of {} lost: the network's part of a step takes {:.3g} times as long", a.lost_rails, a.rails, a.network_factor())});
  out += shares.text(2);
  if (a.rent > 0)
    out +=
        fmt::format("  What does not count costs {} a day at {:.2f} USD a GPU-hour.\n", dollars_text(answer.lost_per_day), a.rent * 3600);
  out += "\n" + terminal.strong("By size") + "\n";
  std::vector<TextTable::Column> columns{{"GPUs", right}, {"fails every", right}, {"checkpoint every", right}, {"counts", right}};
  if (a.jitter > 0) columns.insert(columns.end(), {{"mean over slowest", right}, {"both", right}});
  TextTable sizes{columns};
  for (const GoodputAtScale& one : answer.by_scale) {
    std::vector<std::string> cells{fmt::format("{:.0f}", one.gpus), duration_text(one.mttf), duration_text(one.interval),
                                   percent(one.kept)};
    if (one.waiting_efficiency) {
      cells.push_back(percent(*one.waiting_efficiency));
      cells.push_back(percent(*one.efficiency()));
    }
    sizes.row(cells);
  }
  out += sizes.text(2) + "\n" + terminal.strong("If nodes failed as they did elsewhere") + "\n";
  TextTable fleets{{{"fleet"}, {"per 1000 node-days", right}, {"counts", right}, {""}}};
  for (const GoodputOfFleet& f : answer.by_fleet)
    fleets.row({f.name, fmt::format("{:.2f}", f.per_thousand_node_days), percent(f.kept), f.title});
  return out + fleets.text(2);
}

}  // namespace

void add_goodput(CLI::App& app, Runner& runner) {
  const auto o = std::make_shared<GoodputOptions>();
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
    const GoodputAnswer answer = goodput_of_job(meant(*o), goodput_words);
    return o->json ? printed(to_json(answer)) : text_of(answer, terminal);
  });
}

}  // namespace fabricost::cli
