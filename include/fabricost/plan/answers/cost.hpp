#pragma once
/// \file cost.hpp
/// The cost of GPUs, tokens and training runs in dollars and joules, and the value of a share of the time.
///
///   rented   GPUs x time x price of a GPU-hour
///   owned    (servers + network) x time / lifetime + energy x electricity + rated power x time x site
///   share    p x the cost of an hour: the rent, or owning where no rent is known; payback = upgrade / that

#include <fabricost/fields/field.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/plan/economics/bill.hpp>
#include <fabricost/plan/fields/named_models.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

[[nodiscard]] constexpr auto words_of(ScaleOut) { return EnumWords{scale_out_names, "a kind of network"}; }
[[nodiscard]] constexpr auto words_of(PriceKind) { return EnumWords{requested_price_kinds, "a kind of price"}; }

/// The speed of an existing plan, and the system and model it was made for.
struct PlannedRate {
  std::string system, model;
  double gpus = 0, tokens_per_second_per_gpu = 0;
  std::string source;    ///< in words
  double idle_gpus = 0;  ///< that the layout leaves
};
/// The fastest layout of a file that `fabricost plan train --json` wrote. \throws RequestError naming the file for other content
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, PlannedRate& out);

namespace field {

// Fields that requests for a cost and for a project share.
template <class R>
inline constexpr auto ask_dollars_per_kwh = asks(&R::dollars_per_kwh, "dollars_per_kwh", "--price-kwh", Amount::number, {0, 10}, "X",
                                                 "Price of electricity, USD per kWh");
template <class R>
inline constexpr auto ask_pue = asks(&R::pue, "pue", "--pue", Amount::number, {1, 5}, "X",
                                     "Power of the site divided by that of racks and switches");
template <class R>
inline constexpr auto ask_lifetime_years = asks(&R::lifetime_years, "lifetime_years", "--years", Amount::number, {0.1, 50}, "X",
                                                "Years over which servers are written off");
template <class R>
inline constexpr auto ask_interest = asks(&R::interest, "interest", "--interest", Amount::share, {0, 1}, "X",
                                          "Interest a year on what is bought, in equal payments; default 0");
template <class R>
inline constexpr auto ask_storage_share = asks(&R::storage_share, "storage_share", "--storage-share", Amount::share, {0, 10}, "X",
                                               "Price of the storage as a share of the servers'; default 0");
template <class R>
inline constexpr auto ask_network = asks(&R::network, "network", "--network", "KIND",
                                         "Network to pay for: rail, fat_tree, torus or dragonfly (no\n"
                                         "speed changes); default the machine's own, rail where its\nfile names none");

}  // namespace field

struct CostRequest {
  Machine system;
  std::optional<int> gpus;
  std::optional<double> hours, tokens;
  std::optional<Time> step;
  std::optional<int> global_batch, sequence;
  std::optional<double> tokens_per_second_per_gpu;
  NamedModel model;
  std::optional<double> mfu;
  std::optional<PlannedRate> plan;
  double goodput = 1, share = 0.01;
  std::optional<Dollars> upgrade;
  std::optional<double> dollars_per_gpu_hour;
  std::optional<PriceKind> price_kind;
  std::optional<double> dollars_per_server, dollars_per_kwh, pue, lifetime_years, interest, storage_share;
  std::optional<ScaleOut> network;
  std::string prices = "default";
  std::vector<std::string> overrides;
  double spare_gpus = 0;  ///< of the GPUs: they stand by (economics/network.hpp)
  double paid_gpus = 0;   ///< known already; 0: they follow (economics/cost.hpp)

  static constexpr auto fields() {
    using R = CostRequest;
    using enum Amount;
    return Table{
        field::ask_machine<R>,
        asks(&R::gpus, "gpus", "--gpus,-g", count, any_count, "N", "Number of GPUs"),
        asks(&R::hours, "hours", "--hours", number, {1e-9, 1e9}, "X", "Length of the run, hours"),
        asks(&R::tokens, "tokens", "--tokens", large_count, {0, 1e18, true}, "N", "Tokens of the run, as in 15T"),
        asks(&R::step, "step_seconds", "--step-time", seconds, some_time, "TIME",
             "Speed: seconds of a step, with <global_batch> and <sequence>"),
        asks(&R::global_batch, "global_batch", "--global-batch,-b", count, any_count, "N", "Sequences a step"),
        asks(&R::sequence, "sequence", "--sequence,-l", length, any_count, "N",
             "Tokens a sequence, as in 128k (131072); default 4096 with <mfu>"),
        asks(&R::tokens_per_second_per_gpu, "tokens_per_second_per_gpu", "--tokens-per-s-per-gpu", number, {1e-9, 1e12}, "X",
             "Speed: tokens a second of one GPU"),
        asks(&R::model, "model", "--model,-m", "NAME", "The model, for <mfu>"),
        asks(&R::mfu, "mfu", "--mfu", Amount::share, some_share, "X", "Speed: share of the 16-bit peak that a training step reaches"),
        asks(&R::plan, "plan", "--plan", "FILE", "Speed: what fabricost plan --json wrote, its fastest layout"),
        asks(&R::goodput, "goodput", "--goodput", Amount::share, some_share, "X",
             "Share of the time that is useful (see fabricost goodput); default 1"),
        asks(&R::share, "share", "--share", Amount::share, any_share, "X", "Share of the time to put a price on; default 1%"),
        asks(&R::upgrade, "upgrade_dollars", "--upgrade", large_count, {0, 1e18}, "N",
             "Price of an upgrade that saves that share: when it is paid back"),
        asks(&R::dollars_per_gpu_hour, "dollars_per_gpu_hour", "--price-gpu-hour", number, {1e-6, 1e6}, "X",
             "USD for a GPU-hour; default the GPU's of <prices>"),
        asks(&R::price_kind, "price_kind", "--price-kind", "KIND",
             "Kind of price: on_demand, reserved or owned; default on_demand\nwhere known, else reserved"),
        asks(&R::dollars_per_server, "dollars_per_server", "--price-server", number, {1, 1e12}, "X",
             "USD for a server, or a rack where that is the machine"),
        field::ask_dollars_per_kwh<R>,
        field::ask_pue<R>,
        field::ask_lifetime_years<R>,
        field::ask_interest<R>,
        field::ask_storage_share<R>,
        field::ask_network<R>,
        asks(&R::prices, "prices", "--prices", "FILE", "File of prices; it may say extends: default"),
        field::ask_overrides<R>};
  }
};

/// A cost when rented and when owned; unknown amounts are empty.
struct MoneyAnswer {
  std::optional<Dollars> price, rented, owned, servers, electricity, site;
  std::optional<Joules> energy;
  Dollars network{};
  std::optional<Dollars> storage, interest;
  bool operator==(const MoneyAnswer&) const = default;

  static constexpr auto fields() {
    using A = MoneyAnswer;
    return Table{
        gives(&A::price, "", "dollars", "The rent where it is known, else what owning costs, USD."),
        gives(&A::rented, "rented_usd", "rented_dollars", "GPUs x time x price of a GPU-hour, USD."),
        gives(&A::owned, "owned_usd", "owned_dollars", "servers + network + storage + interest + electricity + site, USD."),
        gives(&A::servers, "servers_usd", "servers_dollars", "Servers x time / lifetime, USD."),
        gives(&A::network, "network_usd", "network_dollars", "Switches and cables x time / lifetime, USD."),
        gives(&A::electricity, "electricity_usd", "electricity_dollars", "Energy x its price, USD."),
        gives(&A::site, "site_usd", "site_dollars", "Rated power x time x price of building and staff, USD."),
        gives(&A::energy, "joules", "joules", "Energy of the site with cooling, J."),
        gives(&A::storage, "storage_usd", "storage_dollars", "Storage x time / lifetime, USD; None: no share was given.", 1, true),
        gives(&A::interest, "interest_usd", "interest_dollars", "Interest in that time, USD; None: none was given.", 1, true)};
  }
};

struct CostAnswer {
  std::string system;
  double gpus = 0, paid_gpus = 0;
  bool part_of_rack = false;
  std::string prices, prices_date;
  std::optional<double> dollars_per_gpu_hour;
  std::optional<std::string> gpu_hour_kind;
  std::string gpu_hour_source, gpu_hour_confidence;
  std::optional<Dollars> server_per_gpu;
  std::string server_source;
  double dollars_per_kwh = 0, pue = 0, load = 0, lifetime_years = 0;
  std::optional<Watts> rated_power, racks_power, switches_power, site_power;
  std::string power_source, power_confidence;
  std::optional<Dollars> servers_price;
  Dollars network_price{};
  std::optional<double> network_share;
  std::optional<Dollars> capital;
  std::optional<Time> break_even;
  std::optional<double> break_even_use;
  int network_tiers = 0;
  double network_ports = 0, network_cables = 0, network_switches = 0, transceivers = 0, network_taper = 1;
  ScaleOut network = ScaleOut::rail;
  std::string network_note;
  std::optional<double> racks;
  MoneyAnswer hour;
  double share = 0, share_gpus = 0;
  std::optional<Dollars> share_per_day, share_per_30_days, share_per_year;
  std::optional<double> payback_days;
  std::optional<double> tokens_per_second;
  std::string rate_source;
  std::optional<MoneyAnswer> million_tokens;
  double goodput = 1;
  std::optional<Time> run_time;
  std::optional<double> run_tokens, run_goodput, run_gpu_hours;
  std::optional<MoneyAnswer> run;
  std::optional<Dollars> upgrade;

  static constexpr auto fields() {
    using A = CostAnswer;
    constexpr bool left_out = true;
    return Table{
        field::give_system<A>,
        gives(&A::gpus, "gpus", "gpus", "How many GPUs."),
        gives(&A::paid_gpus, "paid_gpus", "paid_gpus",
              "Those that are paid for: whole racks, or whole nodes of a part. Power, racks and money are of them."),
        gives(&A::part_of_rack, "part_of_rack", "part_of_rack", "Some nodes of one rack are rented; bought, it would be whole."),
        gives(&A::prices, "prices.file", "prices", "Name of the prices."),
        gives(&A::prices_date, "prices.date", "prices_date", "Their date."),
        gives(&A::dollars_per_gpu_hour, "prices.gpu_hour_usd", "dollars_per_gpu_hour", "Rent of a GPU, USD/h; None: not known."),
        gives(&A::gpu_hour_kind, "prices.gpu_hour_kind", "gpu_hour_kind", "on_demand, reserved or stated (your own); None: not known."),
        gives(&A::gpu_hour_source, "prices.gpu_hour_source", "gpu_hour_source", "Where that comes from."),
        gives(&A::gpu_hour_confidence, "prices.gpu_hour_confidence", "gpu_hour_confidence", "How far to trust it."),
        gives(&A::server_per_gpu, "prices.server_per_gpu_usd", "server_dollars_per_gpu",
              "A GPU's share of its server, USD; None: not known."),
        gives(&A::server_source, "prices.server_source", "server_source", "Where that comes from."),
        gives(&A::dollars_per_kwh, "prices.electricity_usd_per_kwh", "dollars_per_kwh", "Electricity, USD/kWh."),
        gives(&A::pue, "prices.pue", "pue", "Power of the site over that of racks and switches."),
        gives(&A::load, "prices.load", "load", "What a busy node draws of its rating."),
        gives(&A::lifetime_years, "prices.lifetime_years", "lifetime_years", "Over which servers are written off."),
        gives(&A::rated_power, "power.rated_kW", "rated_watts", "Of the racks, W; None: not known.", 1e3),
        gives(&A::racks_power, "power.racks_kW", "racks_watts", "Drawn: rated x load, W.", 1e3),
        gives(&A::switches_power, "power.switches_kW", "switches_watts", "NICs x (2 tiers - 1) ports x power of a port, W.", 1e3),
        gives(&A::site_power, "power.site_kW", "site_watts", "(racks + switches) x PUE, W.", 1e3),
        gives(&A::power_source, "power.source", "power_source", "Where the rating comes from."),
        gives(&A::power_confidence, "power.confidence", "power_confidence", "How far to trust it."),
        gives(&A::servers_price, "capital.servers_usd", "servers_dollars", "To buy all servers, USD; None: not known."),
        gives(&A::network_price, "capital.network_usd", "network_dollars", "To buy all switches and cables, USD."),
        gives(&A::network_share, "capital.network_share", "network_share", "Of both, the network's; None: not known."),
        gives(&A::capital, "capital.usd", "capital_dollars", "To buy servers, network and storage, USD; None: not known."),
        gives(&A::break_even, "capital.break_even_days", "break_even_seconds",
              "Busy time after which buying has cost less than renting, with interest, electricity and site, s; None: never, or not known.",
              day_seconds),
        gives(&A::break_even_use, "capital.break_even_use", "break_even_use",
              "Share of the lifetime that it must be busy for that; above 1: renting is cheaper. None: not known."),
        gives(&A::network_tiers, "capital.network_tiers", "network_tiers", "Tiers of switches; 0: one domain."),
        gives(&A::network, "network.kind", "network", "rail, fat_tree, torus or dragonfly."),
        gives(&A::network_note, "network.note", "network_note",
              "That no speed is of the network asked for, and what changes it; empty: it is the machine's own.", 1, left_out),
        gives(&A::network_taper, "network.taper", "network_taper",
              "The NICs' rate over what the top of the network carries of it; 1: all."),
        gives(&A::network_switches, "network.switches", "network_switches", "Whole ones, tier by tier."),
        gives(&A::network_ports, "network.ports", "network_ports", "Ports of switches."),
        gives(&A::network_cables, "network.cables", "network_cables", "Of copper and optical."),
        gives(&A::transceivers, "network.transceivers", "transceivers", "Two for an optical cable."),
        gives(&A::racks, "power.racks", "racks", "Of servers; None: not known."),
        gives(&A::hour, "hour", "hour", "One hour, a Money."),
        gives(&A::share, "share.share", "share", "The share of the time asked about."),
        gives(&A::share_gpus, "share.gpus", "", "The same in GPUs."),
        gives(&A::share_per_day, "share.usd_per_day", "share_dollars_per_day", "What that share costs a day, USD."),
        gives(&A::share_per_30_days, "share.usd_per_30_days", "share_dollars_per_30_days", "The same in 30 days, USD."),
        gives(&A::share_per_year, "share.usd_per_year", "share_dollars_per_year", "The same in 8,766 hours, USD."),
        gives(&A::payback_days, "share.payback_days", "payback_days",
              "Days until an upgrade that saves the share is paid; None: none was given.", 1, left_out),
        gives(&A::tokens_per_second, "tokens_per_s", "tokens_per_second", "Of all GPUs; None: no speed was given.", 1, left_out),
        gives(&A::rate_source, "", "rate_source", "Where that comes from."),
        gives(&A::million_tokens, "per_million_tokens", "million_tokens",
              "One million tokens that count, a Money; None: no speed was given.", 1, left_out),
        gives(&A::goodput, "", "goodput", "Share of the time that counts."),
        gives(&A::run_time, "run.seconds", "run_seconds", "How long the run takes, s; None: none was asked for.", 1, left_out),
        gives(&A::run_tokens, "run.tokens", "run_tokens", "Its tokens.", 1, left_out),
        gives(&A::run_goodput, "run.goodput", "", "Share of the time that counts.", 1, left_out),
        gives(&A::run_gpu_hours, "run.gpu_hours", "run_gpu_hours", "gpus x run_seconds / 3600.", 1, left_out),
        gives(&A::run, "run", "run", "The run, a Money; None: none was asked for.", 1, left_out)};
  }
};
[[nodiscard]] inline bool operator==(const CostAnswer& a, const CostAnswer& b) { return same_fields(a, b); }

/// \throws Refusal for values that contradict each other; SpecError, RequestError as load_system, load_model, load_prices
[[nodiscard]] CostAnswer answer(const CostRequest& request);

}  // namespace fabricost::plan
