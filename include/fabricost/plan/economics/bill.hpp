#pragma once
/// The input of a cost question, and its bill: one hour, a share of the time, a million tokens, a run.
///
///   share of the time   p x the cost of an hour: the rent, or owning where no rent is known
///   payback             price of an upgrade / cost of the share per second

#include <fabricost/plan/economics/cost.hpp>
#include <fabricost/plan/economics/reliability.hpp>

#include <optional>
#include <string>

namespace fabricost::plan {

/// GPUs of a system and their use, to be priced.
struct Bill {
  System system;
  double gpus = 0;
  PaidGpus paid{};  ///< with those that come with them
  Prices prices;
  Time time{};  ///< of the run; 0: no run
  double tokens = 0;
  double tokens_per_second = 0;  ///< of all GPUs; 0: unknown
  std::string rate_source;
  double goodput = 1;
  double share = 0.01;
  Dollars upgrade{};
};

/// A user's own prices, which take precedence over those of a file.
struct OwnPrices {
  std::optional<double> gpu_hour{};     ///< USD per GPU-hour
  std::optional<double> server{};       ///< USD for a server, or for a rack where the machine is one
  std::optional<double> electricity{};  ///< USD per kWh
  std::optional<double> site{};         ///< USD a month for a kW of rated power
  std::optional<double> pue{};          ///< PUE: power of the site over that of racks and switches
  std::optional<double> years{};        ///< depreciation time of servers
  std::optional<double> interest{};     ///< a year
  std::optional<double> storage{};      ///< price of the storage over that of the servers
};
void override_prices(Prices& prices, const OwnPrices& own, const System& system);

struct BillFigures {
  double paid = 0;  ///< GPUs: those rented, or those bought where they are owned
  Power power;
  Money hourly;
  Dollars server, network;  ///< purchase price for all GPUs that are bought
  NetworkSize net;
};
/// \throws RequestError for fewer than 1 GPU
[[nodiscard]] BillFigures figures_of(const Bill& a);

/// Cost of `share` of the GPUs per second: the rent, or owning them; 0 where neither is known.
[[nodiscard]] DollarRate share_rate(const Bill& a, const BillFigures& f);

/// Buying against renting the same: the purchase with all its interest, and the other costs of owning.
struct BreakEven {
  Dollars capital{};              ///< servers, network and storage
  std::optional<Time> owned_for;  ///< of busy time from which owning is cheaper; none: never in its lifetime, or not known
  std::optional<double> use;      ///< share of the lifetime that it must be busy; none: likewise
};
/// Electricity is for busy time; the site and depreciation are for all time.
[[nodiscard]] BreakEven break_even_of(const Money& hour, const Prices& prices);

}  // namespace fabricost::plan
