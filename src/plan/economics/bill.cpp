#include <fabricost/plan/economics/bill.hpp>

namespace fabricost::plan {

void override_prices(Prices& prices, const OwnPrices& own, const System& system) {
  const Provenance given{"as given", Confidence::assumed};
  if (own.gpu_hour) prices.gpu_hour = {units::USD_per_h(*own.gpu_hour), given};
  if (own.server) {
    GpuPrice listed{.gpu = system.gpu.name};
    if (const GpuPrice* there = prices.of(system.gpu.name); there != nullptr) listed = *there;
    listed.server_is.clear();
    listed.server = {units::USD(*own.server / machine_gpus(system)), given};
    prices.gpus.assign(1, listed);
    prices.own = true;
  }
  if (own.pue) prices.power.pue = {*own.pue, given};
  if (own.electricity) prices.electricity = {units::USD(*own.electricity) / units::kWh(1), given};
  if (own.site) prices.site = {units::USD(*own.site) / (units::kW(1) * units::h(hours_of_a_year / 12)), given};
  if (own.interest) prices.interest = {*own.interest, given};
  if (own.storage) prices.storage = {*own.storage, given};
  if (own.years) prices.lifetime = {units::h(hours_of_a_year * *own.years), given};
}

BillFigures figures_of(const Bill& a) {
  const bool known = rated_power_per_gpu(a.system, a.prices.power).value > Watts{};
  const double paid = a.paid.of(is_owned(a.system, a.prices));
  return {paid,
          known ? power_of(a.system, paid, a.prices.power) : Power{},
          money_of(a.system, a.paid, units::h(1), a.prices),
          server_price_of(a.system, a.prices).value * a.paid.bought,
          network_price_of(a.system, a.paid.bought, a.prices),
          network_of(a.system, paid, a.prices.power)};
}

DollarRate share_rate(const Bill& a, const BillFigures& f) {
  return f.hourly.paid_known() ? a.share * f.hourly.paid() / units::h(1) : DollarRate{};
}

BreakEven break_even_of(const Money& hour, const Prices& prices) {
  const double hours = static_cast<double>(prices.lifetime.value / units::h(1));
  BreakEven out{.capital = (hour.servers + hour.network + hour.storage) * hours, .owned_for = {}, .use = {}};
  if (!hour.rent_known || !hour.owned_known()) return out;
  const Dollars bought = (hour.servers + hour.network + hour.storage + hour.interest) * hours;
  if (const Dollars saved = hour.rented - hour.electricity - hour.site; saved > Dollars{} && bought <= saved * hours)
    out.owned_for = units::h(static_cast<double>(bought / saved));
  if (const Dollars busy = hour.rented - hour.electricity; busy > Dollars{})
    out.use = static_cast<double>((hour.owned() - hour.electricity) / busy);
  return out;
}

}  // namespace fabricost::plan
