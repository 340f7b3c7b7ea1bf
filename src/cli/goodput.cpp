/// \file goodput.cpp
/// fabricost goodput: how often a job of that size fails, how often to checkpoint, and which share of the time is left.

#include "../io/text_table.hpp"
#include "amounts.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/io/load.hpp>
#include <fabricost/io/load_model.hpp>
#include <fabricost/io/reliability.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <memory>

namespace fabricost::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr auto right = TextTable::Align::right;

/// As typed; empty where nothing was.
struct Options {
  std::string gpus, gpus_per_node, system, fleet, mttf_node, per_node_day, per_thousand, checkpoint, drain, interval, restart, reload,
      model, storage, spares, repair, replaced, prices, price, jitter;
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
};

[[nodiscard]] FailingJob meant(const Options& o, const FailureFacts& facts) {
  FailingJob out;
  if (o.gpus.empty()) throw RequestError("how many GPUs? Add --gpus, as in --gpus 16384");
  out.gpus = count_of(o.gpus, "--gpus");
  if (!o.system.empty()) {
    const System system = load_system(o.system, {}, {}, KernelSets::none());
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
  return out;
}

[[nodiscard]] FailureAnswer at_scale(FailureQuestion q, double nodes, bool own_interval) {
  q.nodes = nodes;
  q.repair = 0;  // the table is about failures; spares are a matter of one size
  if (!own_interval) q.checkpointing.interval = 0;
  return failures_of(q);
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

[[nodiscard]] Json shares_json(const Goodput& g) {
  return {{"kept", g.kept}, {"checkpoints", g.checkpoints}, {"lost", g.lost}, {"recovery", g.recovery}, {"waiting", g.waiting}};
}

[[nodiscard]] double fleet_goodput(const FailingJob& a, const FailureFleet& f) {
  FailureQuestion q = a.question;
  q.rate = f.rate;
  q.rate.per_node *= a.gpus_per_node / f.gpus_per_node;
  q.checkpointing.interval = 0;
  q.repair = 0;
  return failures_of(q).share.kept;
}

[[nodiscard]] Json to_json(const FailingJob& a, const FailureAnswer& r, const FailureFacts& facts, bool own_interval) {
  const Checkpointing& c = r.checkpointing;
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
  out["goodput"] = r.share.kept;
  out["goodput_first_order"] = goodput_estimate(c, r.mttf);
  out["ettr_meta"] = effective_training_time(1 / r.mttf, c.recovery, c.interval, c.stall);
  out["shares"] = shares_json(r.share);
  out["spares"] = {{"spares", r.spares},
                   {"repair_s", a.question.repair},
                   {"to_wait_a_thousandth", r.spares_to_hardly_wait},
                   {"kept_per_node", r.per_node()}};
  if (a.rent > 0) out["lost_usd_per_day"] = a.rent * a.gpus * day_seconds * (1 - r.share.kept);
  if (a.fleet != nullptr) {
    out["causes"] = Json::array();
    for (const FailureCause& cause : a.fleet->causes)
      out["causes"].push_back(
          {{"cause", cause.cause}, {"part", cause.part}, {"per_day", cause.count / a.fleet->failures() * day_seconds / r.mttf}});
  }
  out["by_scale"] = Json::array();
  for (const double g : scales(a.gpus)) {
    const FailureAnswer one = at_scale(a.question, std::ceil(g / a.gpus_per_node), own_interval);
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
  std::string out = terminal.strong(fmt::format("{:.0f} GPUs in {:.0f} nodes: {} of the time is work that counts", a.gpus, r.nodes,
                                                percent(r.share.kept))) +
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
  shares.row({"work that counts", percent(r.share.kept),
              fmt::format("first order {}; Meta's ETTR {}", percent(goodput_estimate(c, r.mttf)),
                          percent(effective_training_time(1 / r.mttf, c.recovery, c.interval, c.stall)))});
  shares.row({"standing still for checkpoints", percent(r.share.checkpoints), ""});
  shares.row({"work done again", percent(r.share.lost), "from the last checkpoint that could be loaded"});
  shares.row({"recovery", percent(r.share.recovery), "1 - e^(-R/M): it may fail, too"});
  if (a.question.repair > 0)
    shares.row({"waiting for a node", percent(r.share.waiting),
                fmt::format("{} spares, back after {}; {} spares would wait 0.1 %", r.spares, duration_text(a.question.repair),
                            r.spares_to_hardly_wait)});
  out += shares.text(2);
  if (a.rent > 0)
    out += fmt::format("  What does not count costs {} a day at {:.2f} USD a GPU-hour.\n",
                       dollars_text(a.rent * a.gpus * day_seconds * (1 - r.share.kept)), a.rent * 3600);
  out += "\n" + terminal.strong("By size") + "\n";
  std::vector<TextTable::Column> columns{{"GPUs", right}, {"fails every", right}, {"checkpoint every", right}, {"counts", right}};
  if (a.jitter > 0) columns.insert(columns.end(), {{"mean over slowest", right}, {"both", right}});
  TextTable sizes{columns};
  for (const double g : scales(a.gpus)) {
    const FailureAnswer one = at_scale(a.question, std::ceil(g / a.gpus_per_node), own_interval);
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
