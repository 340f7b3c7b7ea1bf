/// \file cost.cpp
/// What GPUs, tokens and training runs cost in dollars and joules: fc.cost.

#include "asked.hpp"
#include "bindings.hpp"
#include "plan.hpp"

#include <fabricost/economics/bill.hpp>
#include <fabricost/kernels/compute.hpp>
#include <fabricost/model/flops.hpp>
#include <fabricost/specs/prices.hpp>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

constexpr double hour = 3600, day = 24 * hour, year = hours_of_a_year * hour;
using Known = std::optional<double>;

[[nodiscard]] double usd(Dollars d) { return in(d, units::USD).value(); }

/// Money as Python sees it: None for what is not known.
struct Paid {
  Known dollars{}, rented_dollars{}, owned_dollars{}, servers_dollars{}, electricity_dollars{}, site_dollars{}, joules{};
  double network_dollars = 0;
  bool operator==(const Paid&) const = default;
};
[[nodiscard]] Paid paid(const Money& m) {
  const auto when = [](bool known, double value) { return known ? Known{value} : std::nullopt; };
  return {.dollars = when(m.paid_known(), usd(m.paid())),
          .rented_dollars = when(m.rent_known, usd(m.rented)),
          .owned_dollars = when(m.owned_known(), usd(m.owned())),
          .servers_dollars = when(m.servers_known, usd(m.servers)),
          .electricity_dollars = when(m.power_known, usd(m.electricity)),
          .site_dollars = when(m.power_known, usd(m.site)),
          .joules = when(m.power_known, m.energy.value()),
          .network_dollars = usd(m.network)};
}

struct Costed {
  std::string system{}, prices{}, prices_date{}, gpu_hour_source{}, gpu_hour_confidence{}, server_source{}, power_source{},
      power_confidence{}, rate_source{};
  double gpus = 0;
  std::optional<std::string> gpu_hour_kind{};
  Known dollars_per_gpu_hour{}, server_dollars_per_gpu{};
  double dollars_per_kwh = 0, pue = 0, load = 0, lifetime_years = 0;
  Known rated_watts{}, racks_watts{}, switches_watts{}, site_watts{}, servers_dollars{}, network_share{};
  double network_dollars = 0;
  int network_tiers = 0;
  Paid hour{};
  double share = 0;
  Known share_dollars_per_day{}, share_dollars_per_30_days{}, share_dollars_per_year{}, payback_days{}, tokens_per_second{};
  std::optional<Paid> million_tokens{};
  double goodput = 1;
  Known run_seconds{}, run_tokens{}, run_gpu_hours{};
  std::optional<Paid> run{};
};

[[nodiscard]] Costed costed(const Bill& a) {
  const BillFigures f = figures_of(a);
  const Rent rent = rent_of(a.system, a.prices);
  const Money& h = f.hourly;
  const auto watts = [&](Watts w) { return h.power_known ? Known{w.value()} : std::nullopt; };
  Costed out{.system = a.system.name,
             .prices = a.prices.name,
             .prices_date = a.prices.date,
             .gpu_hour_source = rent.provenance.source,
             .gpu_hour_confidence = std::string{name(rent.provenance.confidence)},
             .server_source = server_price_of(a.system, a.prices).provenance.source,
             .power_source = f.power.basis.source,
             .power_confidence = std::string{name(f.power.basis.confidence)},
             .rate_source = a.rate_source,
             .gpus = a.gpus};
  if (h.rent_known) out.dollars_per_gpu_hour = in(rent.value, units::USD_per_h).value();
  if (h.rent_known) out.gpu_hour_kind = std::string{name(rent.kind)};
  if (h.servers_known) {
    out.server_dollars_per_gpu = usd(f.server) / a.gpus;
    out.servers_dollars = usd(f.server);
    out.network_share = usd(f.network) / usd(f.network + f.server);
  }
  out.dollars_per_kwh = a.prices.electricity.value.value() * 3.6e6;
  out.pue = a.prices.power.pue.value;
  out.load = a.prices.power.load.value;
  out.lifetime_years = a.prices.lifetime.value.value() / year;
  out.rated_watts = watts(f.power.rated), out.racks_watts = watts(f.power.racks);
  out.switches_watts = watts(f.power.switches), out.site_watts = watts(f.power.site);
  out.network_dollars = usd(f.network);
  out.network_tiers = f.net.tiers;
  out.hour = paid(h);
  out.share = a.share;
  if (const double rate = share_rate(a, f).value(); rate > 0) {
    out.share_dollars_per_day = rate * day;
    out.share_dollars_per_30_days = rate * 30 * day;
    out.share_dollars_per_year = rate * year;
    if (a.upgrade > 0) out.payback_days = a.upgrade / rate / day;
  }
  out.goodput = a.goodput;
  if (a.tokens_per_second > 0) {
    out.tokens_per_second = a.tokens_per_second;
    out.million_tokens = paid(money_per_million_tokens(a.system, a.gpus, a.tokens_per_second * a.goodput, a.prices));
  }
  if (a.seconds > 0) {
    out.run_seconds = a.seconds;
    out.run_tokens = a.tokens;
    out.run_gpu_hours = a.gpus * a.seconds / hour;
    out.run = paid(money_of(a.system, a.gpus, units::s(a.seconds), a.prices));
  }
  return out;
}

/// As they were written; None where nothing was.
struct AskedCost {
  const py::object &system, &gpus, &hours, &tokens, &step_seconds, &global_batch, &sequence, &rate, &model, &mfu, &plan, &goodput, &share,
      &upgrade, &gpu_hour, &server, &kwh, &pue, &years, &prices, &price_kind;
};

/// Tokens a second of all GPUs, from whichever speed was given.
void find_rate(Bill& out, const AskedCost& a, const PlannedTraining* plan) {
  const double sequence = whole_or_none(a.sequence, "sequence").value_or(4096);
  if (!a.step_seconds.is_none()) {
    const double step = real(a.step_seconds, "step_seconds", 0, 1e9);
    if (!(step > 0)) throw RequestError("step_seconds: a step takes longer than 0");
    out.tokens_per_second = whole(a.global_batch, "global_batch") * sequence / step;
    out.rate_source = fmt::format("{} sequences of {:.0f} tokens in {:.4g} s", whole(a.global_batch, "global_batch"), sequence, step);
  } else if (!a.rate.is_none()) {
    out.tokens_per_second = out.gpus * real(a.rate, "tokens_per_second_per_gpu", 1e-9, 1e12);
    out.rate_source = "as given";
  } else if (!a.mfu.is_none()) {
    const Model model = model_from(a.model);
    const double mfu = real(a.mfu, "mfu", 0, 1), peak = Processor::of(out.system).peak(Precision::bf16);
    if (!(peak > 0)) throw RequestError(fmt::format("{} has no 16-bit rate in its description", out.system.gpu.name));
    if (!(mfu > 0)) throw RequestError("mfu: a share above 0");
    out.tokens_per_second = out.gpus * mfu * peak / training_flops_per_token(model, sequence, FlopConvention::matmul, Scores::full);
    out.rate_source = fmt::format("{:.3g} % of {:.4g} TFLOP/s on {}", 100 * mfu, peak / 1e12, model.name);
  } else if (plan != nullptr) {
    out.tokens_per_second = out.gpus * plan->tokens_per_second_per_gpu;
    out.rate_source = "the plan";
  }
}

void refuse_mixtures(const AskedCost& a) {
  const auto given = [](const py::object& value) { return !value.is_none(); };
  if (given(a.step_seconds) + given(a.rate) + given(a.mfu) + given(a.plan) > 1)
    throw RequestError("one speed is enough: step_seconds, tokens_per_second_per_gpu, mfu or plan");
  if (given(a.step_seconds) && (!given(a.global_batch) || !given(a.sequence)))
    throw RequestError("step_seconds is for a step of known tokens: add global_batch and sequence");
  if (given(a.global_batch) && !given(a.step_seconds)) throw RequestError("global_batch is that of a step: add step_seconds");
  if (given(a.sequence) && !given(a.step_seconds) && !given(a.mfu))
    throw RequestError("sequence is for a speed by step_seconds or mfu: add one of them");
  if (given(a.mfu) && !given(a.model)) throw RequestError("mfu is of a model's FLOPs: add model");
  if (given(a.hours) && given(a.tokens)) throw RequestError("hours or tokens: the other one follows");
}

[[nodiscard]] Costed cost(const AskedCost& a) {
  refuse_mixtures(a);
  const PlannedTraining* plan = nullptr;
  if (!a.plan.is_none()) {
    if (!py::isinstance<PlannedTraining>(a.plan)) throw_type("plan", "a TrainingPlan", a.plan);
    plan = &a.plan.cast<const PlannedTraining&>();
  }
  Bill out;
  out.system = system_from(a.system);
  if (a.gpus.is_none() && plan == nullptr) needed(a.gpus, "gpus", "gpus=16384");
  out.gpus = a.gpus.is_none() ? plan->gpus : whole(a.gpus, "gpus");
  if (plan != nullptr && std::abs(out.gpus - plan->gpus) > 0.5)
    throw RequestError(fmt::format("gpus: {:.0f}, but the plan is for {}; leave it out", out.gpus, plan->gpus));
  if (plan != nullptr && plan->system != out.system.name)
    throw RequestError(fmt::format("plan: of {}, but the system is {}; give the same to both", plan->system, out.system.name));
  out.prices = load_prices(text(a.prices, "prices"));
  out.prices.kind = word_or_none<PriceKind>(a.price_kind, "price_kind", "a kind of price", asked_price_kinds);
  override_prices(out.prices,
                  {.gpu_hour = real_or_none(a.gpu_hour, "dollars_per_gpu_hour", 1e-6, 1e6),
                   .server = real_or_none(a.server, "dollars_per_server", 1, 1e12),
                   .electricity = real_or_none(a.kwh, "dollars_per_kwh", 0, 10),
                   .pue = real_or_none(a.pue, "pue", 1, 5),
                   .years = real_or_none(a.years, "lifetime_years", 0.1, 50)},
                  out.system);
  find_rate(out, a, plan);
  out.goodput = real(a.goodput, "goodput", 0, 1);
  if (!(out.goodput > 0)) throw RequestError("goodput: a share above 0");
  out.share = real(a.share, "share", 0, 1);
  out.upgrade = real_or_none(a.upgrade, "upgrade_dollars", 0, 1e18).value_or(0);
  if (const auto hours = real_or_none(a.hours, "hours", 1e-9, 1e9)) {
    out.seconds = hour * *hours;
    out.tokens = out.tokens_per_second * out.goodput * out.seconds;
  } else if (const auto tokens = real_or_none(a.tokens, "tokens", 1e-9, 1e18)) {
    if (out.tokens_per_second <= 0)
      throw RequestError(
          "tokens: how fast? Add step_seconds with global_batch and sequence, tokens_per_second_per_gpu, model with mfu, or plan");
    out.tokens = *tokens;
    out.seconds = run_seconds(out.tokens, out.tokens_per_second, out.goodput);
  }
  return costed(out);
}

void add_money(py::module_& module) {
  using P = Paid;
  add_record<P>(module, "Money", "What something costs, both ways of paying; None for what is not known.",
                field("dollars", &P::dollars, "The rent where it is known, else what owning costs, USD."),
                field("rented_dollars", &P::rented_dollars, "GPUs x time x price of a GPU-hour, USD."),
                field("owned_dollars", &P::owned_dollars, "servers + network + electricity + site, USD."),
                field("servers_dollars", &P::servers_dollars, "Servers x time / lifetime, USD."),
                field("electricity_dollars", &P::electricity_dollars, "Energy x its price, USD."),
                field("site_dollars", &P::site_dollars, "Rated power x time x price of building and staff, USD."),
                field("joules", &P::joules, "Energy of the site with cooling, J."),
                field("network_dollars", &P::network_dollars, "Switches and cables x time / lifetime, USD."))
      .def("__repr__", [](const P& p) {
        const auto shown = [](const Known& value, const char* unit) {
          return value ? fmt::format("{:.6g}{}", *value, unit) : std::string{"unknown"};
        };
        return fmt::format("rented {}, owned {}, {}", shown(p.rented_dollars, " USD"), shown(p.owned_dollars, " USD"),
                           shown(p.joules, " J"));
      });
}

void add_costed(py::module_& module) {
  using C = Costed;
  add_record<C>(module, "Cost",
                "What GPUs cost by the hour, by the token and by the run, and what a share of the time is worth. Made by cost.",
                field("system", &C::system, "Name of the machine."), field("gpus", &C::gpus, "How many GPUs."),
                field("prices", &C::prices, "Name of the prices."), field("prices_date", &C::prices_date, "Their date."),
                field("dollars_per_gpu_hour", &C::dollars_per_gpu_hour, "Rent of a GPU, USD/h; None: not known."),
                field("gpu_hour_kind", &C::gpu_hour_kind, "on_demand, reserved or stated (your own); None: not known."),
                field("gpu_hour_source", &C::gpu_hour_source, "Where that comes from."),
                field("gpu_hour_confidence", &C::gpu_hour_confidence, "How far to trust it."),
                field("server_dollars_per_gpu", &C::server_dollars_per_gpu, "A GPU's share of its server, USD; None: not known."),
                field("server_source", &C::server_source, "Where that comes from."),
                field("dollars_per_kwh", &C::dollars_per_kwh, "Electricity, USD/kWh."),
                field("pue", &C::pue, "Power of the site over that of racks and switches."),
                field("load", &C::load, "What a busy node draws of its rating."),
                field("lifetime_years", &C::lifetime_years, "Over which servers are written off."),
                field("rated_watts", &C::rated_watts, "Of the racks, W; None: not known."),
                field("racks_watts", &C::racks_watts, "Drawn: rated x load, W."),
                field("switches_watts", &C::switches_watts, "NICs x (2 tiers - 1) ports x power of a port, W."),
                field("site_watts", &C::site_watts, "(racks + switches) x PUE, W."),
                field("power_source", &C::power_source, "Where the rating comes from."),
                field("power_confidence", &C::power_confidence, "How far to trust it."),
                field("servers_dollars", &C::servers_dollars, "To buy all servers, USD; None: not known."),
                field("network_dollars", &C::network_dollars, "To buy all switches and cables, USD."),
                field("network_share", &C::network_share, "Of both, the network's; None: not known."),
                field("network_tiers", &C::network_tiers, "Tiers of switches; 0: one domain."),
                field("hour", &C::hour, "One hour, a Money."), field("share", &C::share, "The share of the time asked about."),
                field("share_dollars_per_day", &C::share_dollars_per_day, "What that share costs a day, USD."),
                field("share_dollars_per_30_days", &C::share_dollars_per_30_days, "The same in 30 days, USD."),
                field("share_dollars_per_year", &C::share_dollars_per_year, "The same in 8,766 hours, USD."),
                field("payback_days", &C::payback_days, "Days until an upgrade that saves the share is paid; None: none was given."),
                field("tokens_per_second", &C::tokens_per_second, "Of all GPUs; None: no speed was given."),
                field("rate_source", &C::rate_source, "Where that comes from."),
                field("million_tokens", &C::million_tokens, "One million tokens that count, a Money; None: no speed was given."),
                field("goodput", &C::goodput, "Share of the time that counts."),
                field("run_seconds", &C::run_seconds, "How long the run takes, s; None: none was asked for."),
                field("run_tokens", &C::run_tokens, "Its tokens."), field("run_gpu_hours", &C::run_gpu_hours, "gpus x run_seconds / 3600."),
                field("run", &C::run, "The run, a Money; None: none was asked for."))
      .def("__repr__", [](const C& c) {
        return fmt::format("{:.0f} GPUs of {}: an hour {}", c.gpus, c.system, py::cast<std::string>(py::repr(py::cast(c.hour))));
      });
}

}  // namespace

void add_cost(py::module_& module) {
  add_money(module);
  add_costed(module);
  const py::none none;
  module.def(
      "cost",
      [](const py::object& system, const py::object& gpus, const py::object& hours, const py::object& tokens,
         const py::object& step_seconds, const py::object& global_batch, const py::object& sequence, const py::object& rate,
         const py::object& model, const py::object& mfu, const py::object& plan, const py::object& goodput, const py::object& share,
         const py::object& upgrade, const py::object& gpu_hour, const py::object& server, const py::object& kwh, const py::object& pue,
         const py::object& years, const py::object& prices, const py::object& price_kind) {
        return cost({system,  gpus,  hours,   tokens,   step_seconds, global_batch, sequence, rate,  model,  mfu,       plan,
                     goodput, share, upgrade, gpu_hour, server,       kwh,          pue,      years, prices, price_kind});
      },
      "system"_a, py::kw_only(), "gpus"_a = none, "hours"_a = none, "tokens"_a = none, "step_seconds"_a = none, "global_batch"_a = none,
      "sequence"_a = none, "tokens_per_second_per_gpu"_a = none, "model"_a = none, "mfu"_a = none, "plan"_a = none, "goodput"_a = 1.0,
      "share"_a = 0.01, "upgrade_dollars"_a = none, "dollars_per_gpu_hour"_a = none, "dollars_per_server"_a = none,
      "dollars_per_kwh"_a = none, "pue"_a = none, "lifetime_years"_a = none, "prices"_a = "default", "price_kind"_a = none,
      R"(cost(system, *, gpus=None, hours=None, tokens=None, step_seconds=None, global_batch=None, sequence=None,
    tokens_per_second_per_gpu=None, model=None, mfu=None, plan=None, goodput=1.0, share=0.01, upgrade_dollars=None,
    dollars_per_gpu_hour=None, dollars_per_server=None, dollars_per_kwh=None, pue=None, lifetime_years=None, prices='default',
    price_kind=None)
--

What GPUs, tokens and training runs cost in dollars and joules, a Cost.

rented = GPUs x time x price of a GPU-hour
owned = (servers + network) x time / lifetime + energy x electricity + rated power x time x site

gpus: how many; may be left out beside a plan. hours or tokens: a run of so much.
A speed, one of: step_seconds with global_batch and sequence; tokens_per_second_per_gpu; model with mfu (of the 16-bit peak);
plan, a TrainingPlan.
goodput: share of the time that counts. share: what this share of the time costs; upgrade_dollars: what would save it.
dollars_per_gpu_hour, dollars_per_server, dollars_per_kwh, pue, lifetime_years: your own prices come before those of `prices`,
a name of data/prices or a YAML file; each has source and date there. price_kind: on_demand, reserved or owned; default on_demand where a
price is known, else reserved.

>>> import fabricost as fc
>>> c = fc.cost("dgx-h100", gpus=16384, dollars_per_gpu_hour=3)
>>> round(c.share_dollars_per_day)  # 1 % of 16,384 GPUs at 3 USD an hour
11796
)");
}

}  // namespace fabricost::python
