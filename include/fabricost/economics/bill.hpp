#pragma once
/// \file bill.hpp
/// The input of a cost question, and its bill: one hour, a share of the time, a million tokens, a run.
///
///   share of the time   p x the cost of an hour: the rent, or owning where no rent is known
///   payback             price of an upgrade / cost of the share per second

#include <fabricost/economics/cost.hpp>
#include <fabricost/economics/paid.hpp>
#include <fabricost/economics/reliability.hpp>

#include <optional>
#include <string>

namespace fabricost {

/// GPUs of a system and their use, to be priced.
struct Bill {
  System system;
  double gpus = 0;
  double paid_gpus = 0;  ///< with those that come with them (paid.hpp)
  Prices prices;
  double seconds = 0;  ///< of the run; 0: no run
  double tokens = 0;
  double tokens_per_second = 0;  ///< of all GPUs; 0: unknown
  std::string rate_source;
  double goodput = 1;
  double share = 0.01;
  double upgrade = 0;  ///< USD
};

/// A user's own prices, which take precedence over those of a file.
struct OwnPrices {
  std::optional<double> gpu_hour{};     ///< USD per GPU-hour
  std::optional<double> server{};       ///< USD for a server, or for a rack where the machine is one
  std::optional<double> electricity{};  ///< USD per kWh
  std::optional<double> pue{};          ///< PUE: power of the site over that of racks and switches
  std::optional<double> years{};        ///< depreciation time of servers
  std::optional<double> interest{};     ///< a year
  std::optional<double> storage{};      ///< price of the storage over that of the servers
};
inline void override_prices(Prices& prices, const OwnPrices& own, const System& system) {
  const Provenance given{"as given", Confidence::assumed};
  if (own.gpu_hour) prices.gpu_hour = {units::USD_per_h(*own.gpu_hour), given};
  if (own.server) {
    GpuPrice listed{.gpu = system.gpu.name};
    if (const GpuPrice* there = prices.of(system.gpu.name); there != nullptr) listed = *there;
    listed.server = {units::USD(*own.server / machine_gpus(system)), given};
    prices.gpus.assign(1, listed);
    prices.own = true;
  }
  if (own.pue) prices.power.pue = {*own.pue, given};
  if (own.electricity) prices.electricity = {units::USD(*own.electricity) / units::kWh(1), given};
  if (own.interest) prices.interest = {*own.interest, given};
  if (own.storage) prices.storage = {*own.storage, given};
  if (own.years) prices.lifetime = {units::h(hours_of_a_year * *own.years), given};
}

struct BillFigures {
  Power power;
  Money hourly;
  Dollars server, network;  ///< purchase price for all GPUs
  NetworkSize net;
};
/// \throws RequestError for fewer than 1 GPU
[[nodiscard]] inline BillFigures figures_of(const Bill& a) {
  const bool known = rated_power_per_gpu(a.system, a.prices.power).value > Watts{};
  return {known ? power_of(a.system, a.paid_gpus, a.prices.power) : Power{}, money_of(a.system, a.paid_gpus, units::h(1), a.prices),
          server_price_of(a.system, a.prices).value * a.paid_gpus, network_price_of(a.system, a.paid_gpus, a.prices),
          network_of(a.system, a.paid_gpus, a.prices.power)};
}

/// Cost of `share` of the GPUs per second: the rent, or owning them; 0 where neither is known.
[[nodiscard]] inline DollarRate share_rate(const Bill& a, const BillFigures& f) {
  return f.hourly.paid_known() ? a.share * f.hourly.paid() / units::h(1) : DollarRate{};
}

/// Buying against renting the same: the purchase with all its interest, and the other costs of owning.
struct BreakEven {
  Dollars capital{};              ///< servers, network and storage
  std::optional<Time> owned_for;  ///< of busy time from which owning is cheaper; none: never, or not known
  std::optional<double> use;      ///< share of the lifetime that it must be busy; none: likewise
};
/// Electricity is for busy time; the site and depreciation are for all time.
[[nodiscard]] inline BreakEven break_even_of(const Money& hour, const Prices& prices) {
  const double hours = static_cast<double>(prices.lifetime.value / units::h(1));
  BreakEven out{.capital = (hour.servers + hour.network + hour.storage) * hours, .owned_for = {}, .use = {}};
  if (!hour.rent_known || !hour.owned_known()) return out;
  const Dollars bought = (hour.servers + hour.network + hour.storage + hour.interest) * hours;
  if (const Dollars saved = hour.rented - hour.electricity - hour.site; saved > Dollars{})
    out.owned_for = units::h(static_cast<double>(bought / saved));
  if (const Dollars busy = hour.rented - hour.electricity; busy > Dollars{})
    out.use = static_cast<double>((hour.owned() - hour.electricity) / busy);
  return out;
}

}  // namespace fabricost
