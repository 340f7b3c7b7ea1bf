/// fabricost cost: the answer as text.

#include "answers/job_verdict.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"

#include <fabricost/plan/answers/cost.hpp>

namespace fabricost::cli {
namespace {

[[nodiscard]] std::string kind_text(const std::string& kind) {
  return kind == "on_demand" ? "on demand" : kind == "stated" ? "as stated" : kind;
}

[[nodiscard]] std::string either(const std::optional<Dollars>& dollars) { return dollars ? dollars_text(*dollars) : "unknown"; }

/// \param bought GPUs, where they are more than those rented; else 0
void money_rows(TextTable& table, const MoneyAnswer& m, double bought) {
  const auto part = [](std::string_view words, const std::optional<Dollars>& dollars) {
    return dollars ? fmt::format("{}{}", words, dollars_text(*dollars)) : std::string{};
  };
  table.row("rented", either(m.rented), m.rented ? "" : "no price is known; add --price-gpu-hour");
  table.row("or owned", either(m.owned),
            m.owned ? fmt::format("{}servers {}, network {}{}{}, electricity {}, site {}", bought > 0 ? fmt::format("{:.0f} GPUs, whole racks: ", bought) : "", dollars_text(*m.servers), dollars_text(m.network),
                                  part(", storage ", m.storage), part(", interest ", m.interest), dollars_text(*m.electricity),
                                  dollars_text(*m.site))
            : m.servers ? "no power is known"
                        : "no price of a server is known; add --price-server");
  if (m.energy)
    table.row("energy", *m.energy >= units::kWh(0.001) ? large_text(m.energy->value() / 3.6e3, "Wh") : large_text(m.energy->value(), "J"),
              "with cooling");
}

[[nodiscard]] std::string network_text(const CostAnswer& a) {
  std::string out;
  if (a.network != ScaleOut::rail) out += fmt::format("{}, ", name(a.network));
  if (a.network_ports > 0)
    out += (a.network == ScaleOut::dragonfly ? "" : counted(a.network_tiers, "tier") + ", ") +
           fmt::format("{:.0f} switch ports, ", a.network_ports);
  out += fmt::format("{:.0f} cables", a.network_cables);
  if (a.network_taper > 1) out += fmt::format(", tapered {:.3g}:1", a.network_taper);
  if (a.transceivers > 0) out += fmt::format(", {:.0f} transceivers", a.transceivers);
  return out + (a.network_share ? fmt::format("; {:.1f} % of all", 100 * *a.network_share) : "");
}

void add_machine(Page& page, const CostAnswer& a) {
  TextTable table{"", ">", ""};
  table.row("price", a.dollars_per_gpu_hour ? figure(*a.dollars_per_gpu_hour) + " USD a GPU-hour" : "unknown",
            a.gpu_hour_kind ? fmt::format("{}{}: {}", kind_text(*a.gpu_hour_kind), *a.gpu_hour_kind == "stated" ? "" : ", " + a.gpu_hour_confidence,
                                          a.gpu_hour_source)
                            : "");
  if (a.servers_price)
    table.row("servers", dollars_text(*a.servers_price), fmt::format("{} a GPU{}; {}", dollars_text(*a.server_per_gpu), a.server_kind.empty() ? "" : ", " + a.server_kind, a.server_source));
  if (a.network_cables > 0) table.row("network", dollars_text(a.network_price), network_text(a));
  if (a.storage_price) table.row("storage", dollars_text(*a.storage_price), fmt::format("{:.3g} % of the servers' price", 100 * *a.storage_price / *a.servers_price));
  if (a.rated_power) {
    table.row("power, rated", large_text(a.rated_power->value(), "W"), fmt::format("{}: {}", a.power_confidence, a.power_source));
    table.row("power, drawn", large_text((*a.racks_power + *a.switches_power).value(), "W"),
              fmt::format("{:.0f} % of the rating{}", 100 * a.load,
                          a.network_tiers > 0 ? ", switches " + large_text(a.switches_power->value(), "W") : ""));
    table.row("power, site", large_text(a.site_power->value(), "W"), fmt::format("PUE {:.3g}", a.pue));
    if (a.hour.owned) {
      table.row("electricity", fmt::format("{:.3g} USD/kWh", a.dollars_per_kwh), a.electricity_source);
      table.row("site", fmt::format("{:.3g} USD/kW/month", a.dollars_per_kw_month), a.site_source);
    }
  } else {
    table.row("power", "unknown", "add it with --set, as in --set power=\"10 kW\"");
  }
  page.table(table);
  if (!a.network_note.empty()) page.say(a.network_note);
}

void add_share(Page& page, const CostAnswer& a, Dollars a_day) {
  TextTable table{"", ">", ""};
  table.row({"a day", dollars_text(a_day),
             fmt::format("{:.4g} x {:.0f} = {:.2f} GPUs x 24 h x {:.4g} USD", a.share, a.paid_gpus, a.share_gpus,
                         a_day.value() / 24 / a.share_gpus)});
  table.row("30 days", dollars_text(*a.share_per_30_days));
  table.row("a year", dollars_text(*a.share_per_year));
  if (a.payback_days)
    table.row("pays back", duration_text(*a.payback_days * day_seconds), fmt::format("{} saving that share", dollars_text(*a.upgrade)));
  page.table(table);
}

/// \param first a row before those of the money; may be empty
void add_money(Page& page, const CostAnswer& a, const MoneyAnswer& m, const Cells& first = {}) {
  TextTable table{"", ">", ""};
  if (!first.empty()) table.row(first);
  money_rows(table, m, a.bought_gpus > a.paid_gpus ? a.bought_gpus : 0);
  page.table(table);
}

void cost_text(Page& page, const CostAnswer& a) {
  page.title(verdict_of(a));
  add_machine(page, a);
  page.section("One hour");
  add_money(page, a, a.hour);
  if (a.break_even)
    page.say(
        "Buying for {} costs less than renting after {:.3g} months of use, interest, electricity and site included; over {:.3g} years "
        "if it is busy {:.0f} % of the time.",
        dollars_text(*a.capital), a.break_even->value() * 12 / 31557600, a.lifetime_years, 100 * *a.break_even_use);
  else if (a.hour.rented && a.hour.owned)
    page.say("Buying never pays: renting costs less than buying for {}, even if it is busy for all {:.3g} years.", dollars_text(*a.capital),
             a.lifetime_years);
  if (a.share_per_day) {
    page.section("{:.3g} % of the time", 100 * a.share);
    add_share(page, a, *a.share_per_day);
  }
  if (a.million_tokens) {
    page.section("One million tokens{}", !a.token_prices.empty() ? " of answers, their prompts included" : "");
    add_money(page, a, *a.million_tokens,
              {"tokens/s", large_text(*a.tokens_per_second * a.goodput),
               a.rate_source + (a.goodput < 1 ? fmt::format(", {:.3g} % of it kept", 100 * a.goodput) : "")});
    if (!a.token_prices.empty()) {
      page.section("One million tokens of a kind, by the GPU time that they take");
      TextTable table{"tokens", ">a request", ">share", ">$/Mtoken", ">nine in ten"};
      for (const TokenPrice& one : a.token_prices)
        table.row(one.tokens, figure(one.per_request), percent(one.share, 1), one.dollars ? figure(*one.dollars, 3) : "?",
                  one.interval ? fmt::format("{} to {}", figure(one.interval->first, 3), figure(one.interval->second, 3)) : "");
      page.table(table);
    }
  }
  if (a.run) {
    page.section(*a.run_tokens > 0 ? large_text(*a.run_tokens) + " tokens" : figure(a.run_time->value() / 3600) + " h");
    add_money(page, a, *a.run, {"takes", duration_text(*a.run_time), large_text(*a.run_gpu_hours) + " GPU-hours"});
  }
  page.add("\n");
  if (a.run)
    page.item("", a.goodput < 1 ? "Spare nodes are left out; fabricost project counts them."
                                : "Failures, checkpoints and spare nodes are left out; fabricost project counts them.");
  page.item("", fmt::format("Prices: {} of {}; they move, so put your own in (--price-gpu-hour, --prices FILE).", a.prices, a.prices_date));
}

}  // namespace

void add_cost(CLI::App& app, Runner& runner) {
  add_question<CostRequest>(app, runner, "cost", "What GPUs, tokens and training runs cost in dollars and joules",
                        "Example: fabricost cost --system dgx-h100 --gpus 1024 --model llama3-70b --mfu 40% --tokens 1T", cost_text);
}

}  // namespace fabricost::cli
