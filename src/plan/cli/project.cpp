/// fabricost project: the answer as text, a column for each machine.

#include "answers/job_verdict.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"
#include "text/joined.hpp"

#include <fabricost/plan/answers/design/project.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

namespace fabricost::cli {
namespace {

using Ends = std::pair<double, double>;

/// "71.5 (49.4 to 113)"
[[nodiscard]] std::string ranged(double value, const Ends& ends) {
  return fmt::format("{} ({} to {})", figure(value, 4), figure(ends.first, 3), figure(ends.second, 3));
}

/// Where given spares are fewer than would be taken: what they cost.
[[nodiscard]] std::string spares_text(const ProjectedRun& r) {
  return fmt::format(
      "{}: with {} the run waits for repairs and {} of its time is work that counts; with {}, which it takes by default, {}.", r.system,
      r.spares == 0 ? "no spare nodes" : counted(r.spares, "spare node"), percent(r.goodput, 1), *r.usual_spares,
      percent(*r.usual_goodput, 1));
}

[[nodiscard]] std::string gpus_text(const ProjectedRun& r) {
  if (!r.gpus_found) return fmt::format("{}", r.gpus);
  return r.gpus_interval ? fmt::format("{} ({:.0f} to {:.0f})", r.gpus, r.gpus_interval->first, r.gpus_interval->second)
                         : fmt::format("{}, the least", r.gpus);
}

[[nodiscard]] std::string in_time_text(const ProjectedRun& r) {
  return fmt::format("{}{}", *r.in_time ? "yes" : "no", r.sure_in_time ? "" : ", not sure");
}

[[nodiscard]] std::string kind_words(const std::string& kind) {
  return kind == "on_demand" ? "rented on demand" : kind == "reserved" ? "rented, reserved" : kind == "owned" ? "owned" : "as stated";
}

[[nodiscard]] std::string million(Dollars dollars) { return figure(dollars.value() / 1e6, 4); }

/// The cost of owning during the run, by part; empty where it is not known.
[[nodiscard]] std::string owned_text(const ProjectedRun& r, const std::function<std::optional<Dollars>(const MoneyAnswer&)>& part) {
  const std::optional<Dollars> value = r.cost->run->owned ? part(*r.cost->run) : std::nullopt;
  return value ? million(*value) : "";
}

/// A row of the table where any machine has something to say.
class Rows {
 public:
  explicit Rows(const std::vector<ProjectedRun>& rows) {
    Cells headings{""};
    for (const ProjectedRun& r : rows)
      if (r.trouble.empty()) able_.push_back(&r), headings.push_back(">" + r.system);
    table_ = TextTable{headings};
  }
  template <class Text>
  void add(const std::string& name, Text&& text) {
    Cells cells{name};
    bool any = false;
    for (const ProjectedRun* r : able_) cells.push_back(text(*r)), any = any || !cells.back().empty();
    if (any) table_.row(cells);
  }
  [[nodiscard]] TextTable table() const {
    TextTable out = table_;
    out.go_on_below();
    return out;
  }
  [[nodiscard]] const std::vector<const ProjectedRun*>& able() const { return able_; }

 private:
  std::vector<const ProjectedRun*> able_;
  TextTable table_{};
};

/// \param dated a day was requested, or a machine is not yet on sale
void add_work(Rows& rows, bool dated) {
  using R = ProjectedRun;
  rows.add("GPUs", gpus_text);
  rows.add("of them at work", [](const R& r) { return r.used_gpus < r.gpus ? fmt::format("{}", r.used_gpus) : std::string{}; });
  rows.add("idle in their domains", [](const R& r) { return r.idle_gpus > 0 ? fmt::format("{}", r.idle_gpus) : std::string{}; });
  rows.add("spare nodes", [](const R& r) {
    if (r.spares == 0) return std::string{"0"};
    if (r.spares_per_rack) return counted(r.spares, "rack");
    const int idle = std::min(r.spares, (r.gpus - r.used_gpus) / r.gpus_per_node);
    return fmt::format("{} (of {} GPUs each{})", r.spares, r.gpus_per_node, idle > 0 ? fmt::format(", {} among the idle", idle) : "");
  });
  rows.add("step, s", [](const R& r) { return ranged(r.step.value(), numbers_in(r.interval_step)); });
  rows.add("MFU", [](const R& r) { return percent(r.mfu, 1); });
  rows.add("goodput, %", [](const R& r) {
    const auto& [low, high] = r.interval_goodput;
    return fmt::format("{:.1f}", 100 * r.goodput) + (low < high ? fmt::format(" ({:.1f} to {:.1f})", 100 * low, 100 * high) : "");
  });
  rows.add("days", [](const R& r) {
    return ranged(r.time.value() / day_seconds, {r.interval.first.value() / day_seconds, r.interval.second.value() / day_seconds});
  });
  if (dated) {
    rows.add("ends", [](const R& r) { return r.ends.value_or("?"); });
    rows.add("  at the earliest", [](const R& r) { return r.interval_ends ? r.interval_ends->first : std::string{}; });
    rows.add("  at the latest", [](const R& r) { return r.interval_ends ? r.interval_ends->second : std::string{}; });
  }
  rows.add("in time", [](const R& r) { return r.in_time ? in_time_text(r) : std::string{}; });
  rows.add("thousand GPU-hours", [](const R& r) {
    return ranged(r.gpu_hours / 1e3, {r.interval_gpu_hours.first / 1e3, r.interval_gpu_hours.second / 1e3});
  });
  rows.add("racks", [](const R& r) { return r.racks ? fmt::format("{:.0f}", *r.racks) : "?"; });
  rows.add("power of the site, MW", [](const R& r) { return r.site_power ? fmt::format("{:.4g}", r.site_power->value() / 1e6) : "?"; });
  rows.add("energy of the site, GWh", [](const R& r) {
    constexpr double gigawatt_hour = 3.6e12;
    if (!r.energy) return std::string{"?"};
    const auto [low, high] = numbers_in(*r.interval_energy);
    return ranged(r.energy->value() / gigawatt_hour, {low / gigawatt_hour, high / gigawatt_hour});
  });
}

void add_money(Rows& rows, const ProjectAnswer& a) {
  using R = ProjectedRun;
  const auto add_rent = [&] {
    rows.add("rent, USD a GPU-hour", [](const R& r) {
      return r.cost->dollars_per_gpu_hour ? fmt::format("{:.4g}{}", *r.cost->dollars_per_gpu_hour, r.price_kind == "stated" ? ", stated" : "")
                                          : "";
    });
  };
  if (a.price_kind)
    rows.add("million USD, " + kind_words(*a.price_kind), [](const R& r) {
      if (!r.price) return std::string{"?"};
      const auto [low, high] = numbers_in(*r.interval_price);
      return ranged(r.price->value() / 1e6, {low / 1e6, high / 1e6});
    });
  if (a.price_kind != "owned") {
    add_rent();
    rows.add("owning in that time, million USD",
             [](const R& r) { return r.cost->run->owned ? million(*r.cost->run->owned) : std::string{}; });
  }
  rows.add("  servers", [](const R& r) { return owned_text(r, [](const MoneyAnswer& m) { return m.servers; }); });
  rows.add("  network", [](const R& r) { return owned_text(r, [](const MoneyAnswer& m) { return std::optional{m.network}; }); });
  rows.add("  storage", [](const R& r) { return owned_text(r, [](const MoneyAnswer& m) { return m.storage; }); });
  rows.add("  interest", [](const R& r) { return owned_text(r, [](const MoneyAnswer& m) { return m.interest; }); });
  rows.add("  electricity", [](const R& r) { return owned_text(r, [](const MoneyAnswer& m) { return m.electricity; }); });
  rows.add("  site", [](const R& r) { return owned_text(r, [](const MoneyAnswer& m) { return m.site; }); });
  if (a.price_kind == "owned") add_rent();  // no part of what stands above
  rows.add("to buy, million USD", [](const R& r) { return r.capital ? million(*r.capital) : std::string{}; });
  rows.add("  a server's price is", [](const R& r) { return r.capital ? r.cost->server_kind : std::string{}; });
  rows.add("cheaper than renting after, months", [](const R& r) {
    constexpr double month = day_seconds * 365.25 / 12;
    if (r.break_even) return figure(r.break_even->value() / month, 3);
    return std::string{r.cost->hour.rented && r.cost->hour.owned ? "never" : ""};
  });
}

[[nodiscard]] std::string layout_text(const PlannedLayout& l) {
  return fmt::format("tp {} pp {} cp {} ep {} dp {} zero {}, {}", l.tp, l.pp, l.cp, l.ep, l.dp, l.zero, l.stack);
}

[[nodiscard]] std::string bought_network_text(const CostAnswer& c) {
  if (c.network_cables == 0) return "none: one domain";
  return fmt::format("{}: {:.0f} switches, {:.0f} ports, {:.0f} cables, {:.0f} transceivers, {} to buy", name(c.network),
                     c.network_switches, c.network_ports, c.network_cables, c.transceivers, dollars_text(c.network_price));
}

void add_sources(Page& page, const ProjectedRun& r) {
  const CostAnswer& c = *r.cost;
  page.section(r.system);
  TextTable table{"", ""};
  table.row("layout", layout_text(*r.layout));
  if (r.wait > Time{}) table.row("delivery", fmt::format("{}; {}", *r.delivery, r.delivery_source));
  table.row("kernels", kernels_words(r.kernels));
  if (!r.stack_note.empty()) table.row("assumed", r.stack_note);
  table.row("failures", fmt::format("{:.3g} a day, a checkpoint every {} ({})", r.failures->failures_per_day,
                                    duration_text(r.failures->checkpoint_every), r.failures->failure_source));
  if (c.dollars_per_gpu_hour) table.row("rent", fmt::format("{}: {}", c.gpu_hour_confidence, c.gpu_hour_source));
  if (c.servers_price) table.row("servers", fmt::format("{} a GPU; {}", dollars_text(*c.server_per_gpu), c.server_source));
  table.row("network", bought_network_text(c));
  if (c.site_power) table.row("power", fmt::format("PUE {:.3g}; {}: {}", c.pue, c.power_confidence, c.power_source));
  if (c.hour.owned)
    table.row("owning", fmt::format("electricity {:.3g} USD/kWh, site {:.3g} USD/kW/month, {:.3g} years", c.dollars_per_kwh,
                                    c.dollars_per_kw_month, c.lifetime_years));
  page.table(table);
}

/// Of more machines the table of all figures goes on below.
constexpr std::size_t most_side_by_side = 3;

/// A line for each machine.
[[nodiscard]] TextTable summary_of(const ProjectAnswer& a, const std::vector<const ProjectedRun*>& able) {
  TextTable out{"machine", ">GPUs", ">days", ">M USD" + (a.price_kind ? ", " + kind_words(*a.price_kind) : ""), ">MW"};
  for (const ProjectedRun* r : able)
    out.row(r->system, r->gpus, figure(r->time.value() / day_seconds, 4), r->price ? million(*r->price) : "?",
            r->site_power ? figure(r->site_power->value() / 1e6, 4) : "?");
  return out;
}

void project_text(Page& page, const ProjectAnswer& a) {
  Rows rows{a.rows};
  if (!rows.able().empty()) page.title(verdict_of(a));
  for (const ProjectedRun* r : rows.able())
    if (const int idle = r->gpus - r->used_gpus - (r->spares_per_rack ? 0 : r->spares * r->gpus_per_node); idle > 0)
      page.say("{}: {} of {} GPUs work, no layout of all costs less a token, and all are paid for: need machine tries other numbers.",
               r->system, r->used_gpus, r->gpus);
  page.title("{}, {} tokens, {} sequences of {} tokens a step, {}{}", a.model, count_text(a.tokens), a.global_batch, a.sequence,
             a.precision,
             a.in        ? ", in " + given_time_text(*a.in)
             : a.done_by ? ", by " + *a.done_by
                         : "");
  for (const ProjectedRun& r : a.rows)
    if (r.usual_spares) page.say(spares_text(r));
  const bool dated = a.done_by || std::any_of(a.rows.begin(), a.rows.end(), [](const ProjectedRun& r) { return r.wait > Time{}; });
  if (rows.able().size() > most_side_by_side) {
    page.table(summary_of(a, rows.able()));
    page.add("\n");
  }
  add_work(rows, dated);
  add_money(rows, a);
  page.table(rows.table());
  for (const ProjectedRun& r : a.rows)
    if (r.better_batch)
      page.say("{}: {} GPUs divide a batch of {} better, which gives {:.0f} % more tokens a second.", r.system, r.gpus, *r.better_batch,
               100 * r.better_batch_gain);
  for (const ProjectedRun& r : a.rows)
    if (!r.trouble.empty()) page.say("{}: {}", r.system, r.trouble);
  if (a.price_instead && a.price_kind) page.say("Money is {}: {}.", paid_words(a.price_kind), *a.price_instead);
  if (!a.unranked.empty())
    page.say("Not ranked, as what kernels reach was not measured on processors like theirs: {}.", joined(a.unranked));
  if (a.no_price)
    page.say("{}: {}; give one with --price NAME=USD.", a.price_kind ? "Not all have a price" : "Money is left out", *a.no_price);
  if (rows.able().size() > 1 && rows.able().front()->gpus_found)
    page.say("Each has the fewest GPUs that end in time; need machine tries more, which can cost less.");
  for (const ProjectedRun* r : rows.able())
    if (!r->cost->network_note.empty()) page.say("{}: {}", r->system, r->cost->network_note);
  for (const ProjectedRun* r : rows.able()) add_sources(page, *r);
  page.add("\n");
  page.say(
      "In brackets where nine steps in ten, and failures as of the published fleets, would put it; prices are taken as exact. "
      "Racks, power and money are of the GPUs, the idle ones and the spares.");
}

}  // namespace

void add_project(CLI::App& app, Runner& runner) {
  add_question<ProjectRequest>(app, runner, "project", "A whole training run on machines: days, failures, power, energy, money",
                           "Example: fabricost project -m llama3-405b -s dgx-h100,gb200-nvl72 -b 2048 --tokens 15T --in 90d", project_text);
  app.get_subcommand("project")->get_option("--system")->join(',');
  app.get_subcommand("project")->add_flag("--train")->group("");  // which need, compare and explore ask for
}

}  // namespace fabricost::cli
