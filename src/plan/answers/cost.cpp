/// Builds a bill from a request, and the answer's figures from the bill.

#include "text/amounts.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/plan/model/flops.hpp>
#include <fabricost/plan/specs/prices.hpp>

#include <fmt/format.h>

#include <cmath>

namespace fabricost::plan {

RequestTable<OwningRequest> OwningRequest::fields() {
  using R = OwningRequest;
  using enum Amount;
  return {
      asks(&R::dollars_per_kwh, "dollars_per_kwh", "--price-kwh", number, {0, 10}, "X", "Price of electricity, USD per kWh"),
      asks(&R::dollars_per_kw_month, "dollars_per_kw_month", "--price-site", number, {0, 10000}, "X",
           "Price of building and staff, USD a month for a kW of rated power"),
      asks(&R::pue, "pue", "--pue", number, {1, 5}, "X", "Power of the site divided by that of racks and switches"),
      asks(&R::lifetime_years, "lifetime_years", "--years", number, {0.1, 50}, "X", "Years over which servers are written off"),
      asks(&R::interest, "interest", "--interest", share, {0, 1}, "X", "Interest a year on what is bought, in equal payments; default 0"),
      asks(&R::storage_share, "storage_share", "--storage-share", share, {0, 10}, "X",
           "Price of the storage as a share of the servers'; default 0"),
      asks(&R::network, "network", "--network", "KIND",
           "Network to pay for: rail, fat_tree, torus or dragonfly (no\nspeed changes); default the machine's own, rail where "
           "its\nfile names none")};
}

RequestTable<CostRequest> CostRequest::fields() {
  using R = CostRequest;
  using enum Amount;
  return {field::ask_machine<R>,
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
          OwningRequest::fields(),
          asks(&R::prices, "prices", "--prices", "FILE", "File of prices; it may say extends: default"),
          field::ask_overrides<R>};
}

AnswerTable<MoneyAnswer> MoneyAnswer::fields() {
  using A = MoneyAnswer;
  return {gives(&A::price, "", "dollars", "The rent where it is known and owning was not asked for, else what owning costs, USD."),
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

AnswerTable<CostAnswer> CostAnswer::fields() {
  using A = CostAnswer;
  constexpr bool left_out = true;
  return {
      field::give_system<A>,
      gives(&A::gpus, "gpus", "gpus", "How many GPUs."),
      gives(&A::paid_gpus, "paid_gpus", "paid_gpus",
            "Those that are paid for: whole racks, or whole nodes of a part. Power, racks and money are of them."),
      gives(&A::bought_gpus, "bought_gpus", "bought_gpus",
            "Those that are paid for where they are bought, in whole racks: capital and what owning costs are of them."),
      gives(&A::paid_in, "paid_in", "paid_in", "What is paid for whole: servers, racks, nodes of a rack, or slices of a torus."),
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
      gives(&A::server_kind, "prices.server_kind", "server_kind",
            "What kind of figure it is: list, quotation, estimate, press or stated (your own); empty: not said."),
      gives(&A::dollars_per_kwh, "prices.electricity_usd_per_kwh", "dollars_per_kwh", "Electricity, USD/kWh."),
      gives(&A::electricity_source, "prices.electricity_source", "electricity_source", "Where that comes from."),
      gives(&A::dollars_per_kw_month, "prices.site_usd_per_kw_month", "dollars_per_kw_month",
            "Building and staff, USD a month for a kW of rated power."),
      gives(&A::site_source, "prices.site_source", "site_source", "Where that comes from."),
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
      gives(&A::storage_price, "capital.storage_usd", "storage_dollars", "To buy the storage, USD; None: none is counted, or it is not known.", 1,
            true),
      gives(&A::network_price, "capital.network_usd", "network_dollars", "To buy all switches and cables, USD."),
      gives(&A::network_share, "capital.network_share", "network_share", "Of both, the network's; None: not known."),
      gives(&A::capital, "capital.usd", "capital_dollars", "To buy servers, network and storage, USD; None: not known."),
      gives(&A::break_even, "capital.break_even_days", "break_even_seconds",
            "Busy time after which buying has cost less than renting, with interest, electricity and site, s; None: never in the lifetime, "
            "or not known.",
            day_seconds),
      gives(&A::break_even_use, "capital.break_even_use", "break_even_use",
            "Share of the lifetime that it must be busy for that; above 1: renting is cheaper. None: not known."),
      gives(&A::network_tiers, "capital.network_tiers", "network_tiers", "Tiers of switches; 0: one domain."),
      gives(&A::network, "network.kind", "network", "rail, fat_tree, torus or dragonfly."),
      gives(&A::network_note, "network.note", "network_note",
            "That no speed is of the network asked for, and what changes it; empty: it is the machine's own.", 1, left_out),
      gives(&A::network_taper, "network.taper", "network_taper", "The NICs' rate over what the top of the network carries of it; 1: all."),
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
      gives(&A::million_tokens, "per_million_tokens", "million_tokens", "One million tokens that count, a Money; None: no speed was given.",
            1, left_out),
      gives(&A::token_prices, "token_prices", "token_prices",
            "Of a served plan, the same divided over input, cached and output tokens by the GPU time that each takes; a list of TokenPrice.", 1,
            left_out),
      gives(&A::goodput, "", "goodput", "Share of the time that counts."),
      gives(&A::run_time, "run.seconds", "run_seconds", "How long the run takes, s; None: none was asked for.", 1, left_out),
      gives(&A::run_tokens, "run.tokens", "run_tokens", "Its tokens.", 1, left_out),
      gives(&A::run_goodput, "run.goodput", "", "Share of the time that counts.", 1, left_out),
      gives(&A::run_gpu_hours, "run.gpu_hours", "run_gpu_hours", "gpus x run_seconds / 3600.", 1, left_out),
      gives(&A::run, "run", "run", "The run, a Money; None: none was asked for.", 1, left_out)};
}

bool operator==(const CostAnswer& a, const CostAnswer& b) { return same_fields(a, b); }

namespace {

constexpr Time a_year = units::h(hours_of_a_year);

constexpr double hour = 3600;

void refuse_contradictions(const CostRequest& r) {
  if (!r.plan) need_machine(r.system);
  if (!r.gpus && !r.plan) throw Refusal("how many GPUs? Add <gpus>, as in <gpus=16384>", true);
  if (r.plan && r.gpus && std::fabs(*r.gpus - r.plan->gpus) > 0.5)
    throw Refusal(fmt::format("<gpus>: {}, but the plan is for {:.0f}; leave it out", *r.gpus, r.plan->gpus));
  if (r.step.has_value() + r.tokens_per_second_per_gpu.has_value() + r.mfu.has_value() + r.plan.has_value() > 1)
    throw Refusal("one speed is enough: <step_seconds>, <tokens_per_second_per_gpu>, <mfu> or <plan>");
  if (r.step && (!r.global_batch || !r.sequence))
    throw Refusal("<step_seconds> is for a step of known tokens: add <global_batch> and <sequence>");
  if (r.global_batch && !r.step) throw Refusal("<global_batch> is that of a step: add <step_seconds>");
  if (r.sequence && !r.step && !r.mfu) throw Refusal("<sequence> is for a speed by <step_seconds> or <mfu>: add one of them");
  if (r.mfu && !r.model) throw Refusal("<mfu> is of a model's FLOPs: add <model>");
  if (r.model && !r.mfu) throw Refusal("<model> is for a speed by <mfu>: add it, or leave <model> out");
  if (r.goodput < 1 && !r.step && !r.tokens_per_second_per_gpu && !r.mfu && !r.plan)
    throw Refusal("<goodput> is the share of the time in which tokens are made: add a speed, as <tokens_per_second_per_gpu>");
  if (r.hours && r.tokens) throw Refusal("<hours> or <tokens>: the other one follows");
}

/// Tokens per second of all GPUs, from whichever speed was given.
void find_rate(Bill& out, const CostRequest& r, const Model& model) {
  const double sequence = r.sequence.value_or(4096);
  if (r.step) {
    const double tokens = *r.global_batch * sequence;
    out.tokens_per_second = tokens / r.step->value();
    out.rate_source = fmt::format("{:.4g} M tokens a step of {}", tokens / 1e6, duration_text(r.step->value()));
  } else if (r.tokens_per_second_per_gpu) {
    out.tokens_per_second = out.gpus * *r.tokens_per_second_per_gpu;
    out.rate_source = "as given";
  } else if (r.mfu) {
    const double flops = training_flops_per_token(model, sequence, FlopConvention::matmul, Scores::full);
    const double peak = Processor::of(out.system).peak(Precision::bf16);
    if (!(peak > 0)) throw RequestError(fmt::format("{} has no 16-bit rate in its description", out.system.gpu.name));
    out.tokens_per_second = out.gpus * *r.mfu * peak / flops;
    out.rate_source = fmt::format("{:.3g} % of {:.4g} TFLOP/s, {:.4g} GFLOP a token of {} at {:.0f}", 100 * *r.mfu, peak / 1e12,
                                  flops / 1e9, model.name, sequence);
  } else if (r.plan) {
    out.tokens_per_second = out.gpus * r.plan->tokens_per_second_per_gpu;
    out.rate_source = r.plan->source;
  }
}

[[nodiscard]] Bill bill_of(const CostRequest& r) {
  refuse_contradictions(r);
  check_ranges(r);
  const Model model = r.model ? r.model.load() : Model{};  // a name that was given must exist
  Bill out;
  out.system = (r.system ? r.system : Machine{r.plan->system}).load(r.overrides, KernelSets::none());
  if (r.plan && r.plan->system != out.system.name)
    throw Refusal(fmt::format("<plan>: of {}, but the system is {}; give the same to both", r.plan->system, out.system.name));
  out.gpus = r.gpus ? *r.gpus : r.plan->gpus;
  out.prices = load_prices(r.prices);
  out.prices.kind = r.price_kind;
  out.prices.power.network = r.network;
  override_prices(out.prices,
                  {.gpu_hour = r.dollars_per_gpu_hour,
                   .server = r.dollars_per_server,
                   .electricity = r.dollars_per_kwh,
                   .site = r.dollars_per_kw_month,
                   .pue = r.pue,
                   .years = r.lifetime_years,
                   .interest = r.interest,
                   .storage = r.storage_share},
                  out.system);
  check_size(out.system, out.gpus);  // by what was asked for, before racks are made whole
  out.paid = r.paid.bought > 0 ? r.paid : both_paid_gpus(out.system, out.gpus, out.prices, r.plan ? r.plan->idle_gpus : 0);
  out.prices.power.spare_gpus = r.spare_gpus;
  find_rate(out, r, model);
  out.goodput = r.goodput;
  out.share = r.share;
  out.upgrade = r.upgrade.value_or(Dollars{});
  if (r.hours) {
    out.time = units::h(*r.hours);
    out.tokens = out.tokens_per_second * out.goodput * out.time.value();
  } else if (r.tokens) {
    if (out.tokens_per_second <= 0)
      throw Refusal(
          "how fast are those tokens? Add <step_seconds> with <global_batch> and <sequence>, <tokens_per_second_per_gpu>, <model> with "
          "<mfu>, or <plan>");
    out.tokens = *r.tokens;
    out.time = units::s(run_seconds(out.tokens, out.tokens_per_second, out.goodput));
  }
  return out;
}

template <class Value>
[[nodiscard]] std::optional<Value> when(bool known, Value value) {
  return known ? std::optional{value} : std::nullopt;
}

[[nodiscard]] MoneyAnswer answer_of(const Money& m) {
  return {.price = when(m.paid_known(), m.paid()),
          .rented = when(m.rent_known, m.rented),
          .owned = when(m.owned_known(), m.owned()),
          .servers = when(m.servers_known, m.servers),
          .electricity = when(m.power_known, m.electricity),
          .site = when(m.power_known, m.site),
          .energy = when(m.power_known, m.energy),
          .network = m.network,
          .storage = when(m.storage > Dollars{}, m.storage),
          .interest = when(m.interest > Dollars{}, m.interest)};
}

/// Where the network that is billed is another kind than the machine's own, of which all speeds are.
[[nodiscard]] std::string network_note(const System& system, const NetworkSize& net) {
  const ScaleOut own = own_kind(system);
  if (!(net.nics > 0) || net.kind == own) return "";
  const Tier* first = system.tier(TierRole::network);
  return fmt::format(
      "The {0} asked for changes money and power only: steps and speeds are those of the machine's own network ({1}). Set nic.bandwidth{2} "
      "to what the {0} would leave.",
      name(net.kind), name(own), first == nullptr ? "" : fmt::format(" or {}.oversubscription", first->name.view()));
}

void add_machine(CostAnswer& out, const Bill& a, const BillFigures& f) {
  const Rent rent = rent_of(a.system, a.prices);
  const Money& h = f.hourly;
  out.system = a.system.name;
  out.gpus = a.gpus;
  out.paid_gpus = f.paid;
  out.bought_gpus = a.paid.bought;
  out.part_of_rack = rents_part(a.system, a.gpus, a.prices);
  out.paid_in = paid_in(a.system, a.gpus, a.prices);
  out.prices = a.prices.name;
  out.prices_date = a.prices.date;
  out.dollars_per_gpu_hour = when(h.rent_known, in(rent.value, units::USD_per_h).value());
  if (h.rent_known) out.gpu_hour_kind = std::string{name(rent.kind)};
  out.gpu_hour_source = rent.provenance.source;
  out.gpu_hour_confidence = rent.kind == PriceKind::stated ? name(PriceKind::stated) : name(rent.provenance.confidence);
  out.server_per_gpu = when(h.servers_known, f.server / a.paid.bought);
  out.server_source = server_price_of(a.system, a.prices).provenance.source;
  out.server_kind = server_price_kind_of(a.system, a.prices);
  out.dollars_per_kwh = (a.prices.electricity.value * units::kWh(1)).value();
  out.electricity_source = a.prices.electricity.provenance.source;
  out.dollars_per_kw_month = (a.prices.site.value * (units::kW(1) * a_year) / 12).value();
  out.site_source = a.prices.site.provenance.source;
  out.pue = a.prices.power.pue.value;
  out.load = a.prices.power.load.value;
  out.lifetime_years = a.prices.lifetime.value / a_year;
  out.rated_power = when(h.power_known, f.power.rated);
  out.racks_power = when(h.power_known, f.power.racks);
  out.switches_power = when(h.power_known, f.power.switches);
  out.site_power = when(h.power_known, f.power.site);
  out.power_source = f.power.basis.source;
  out.power_confidence = name(f.power.basis.confidence);
  out.servers_price = when(h.servers_known, f.server);
  if (h.storage > Dollars{}) out.storage_price = f.server * a.prices.storage.value;
  out.network_price = f.network;
  out.network_share = when(h.servers_known, f.network / (f.network + f.server));
  out.network = f.net.kind;
  out.network_taper = f.net.taper;
  out.network_note = network_note(a.system, f.net);
  const BreakEven even = break_even_of(h, a.prices);
  out.capital = when(h.servers_known, even.capital);
  out.break_even = even.owned_for;
  out.break_even_use = even.use;
  out.network_tiers = f.net.tiers;
  out.network_ports = f.net.ports;
  out.network_cables = f.net.cables;
  out.network_switches = f.net.switches;
  out.transceivers = f.net.transceivers();
  const double racks = racks_of(a.system, f.paid, a.prices.power);
  out.racks = when(racks > 0, racks);
}

}  // namespace

CostAnswer answer(const CostRequest& request) {
  const Bill a = bill_of(request);
  const BillFigures f = figures_of(a);
  CostAnswer out;
  add_machine(out, a, f);
  out.hour = answer_of(f.hourly);
  out.share = a.share;
  out.share_gpus = a.share * f.paid;
  out.upgrade = when(a.upgrade > Dollars{}, a.upgrade);
  if (const DollarRate rate = share_rate(a, f); rate > DollarRate{}) {
    const Time day = units::s(day_seconds);
    out.share_per_day = rate * day;
    out.share_per_30_days = rate * (30 * day);
    out.share_per_year = rate * a_year;
    if (out.upgrade) out.payback_days = *out.upgrade / rate / day;
  }
  out.goodput = a.goodput;
  out.rate_source = a.rate_source;
  if (a.tokens_per_second > 0) {
    out.tokens_per_second = a.tokens_per_second;
    out.million_tokens = answer_of(money_per_million_tokens(a.system, a.paid, a.tokens_per_second * a.goodput, a.prices));
    if (request.plan && out.million_tokens->price)
      out.token_prices = token_prices(request.plan->tokens, out.million_tokens->price->value(), request.plan->tokens_per_second_per_gpu,
                                      request.plan->between);
  }
  if (a.time > Time{}) {
    out.run_time = a.time;
    out.run_tokens = a.tokens;
    out.run_goodput = a.goodput;
    out.run_gpu_hours = a.gpus * a.time.value() / hour;
    out.run = answer_of(money_of(a.system, a.paid, a.time, a.prices));
  }
  return out;
}

}  // namespace fabricost::plan
