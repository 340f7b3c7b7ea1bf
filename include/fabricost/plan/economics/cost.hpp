#pragma once
/// Costs of GPUs by time, by token and by training run: rented by the GPU-hour, or owned.
///
///   rented  = GPUs x time x price of a GPU-hour
///   owned   = (servers + network + storage) x time / lifetime + interest  +  energy x price of electricity
///             + (rated power + that of switches) x time x price of the site
///   network = (switches x their ports x switch port + optical cables x cable + copper ones x copper cable) x NIC rate / 400 Gbit/s
///             (network.hpp); Ethernet ports cost less
///   storage = a share of the servers' price, where one is given
///   interest: equal payments over the lifetime of n years at the rate i a year, in all i n / (1 - (1 + i)^-n) of the price
///
/// A rent includes everything, so the two are alternatives and not added. A share p of the time costs the
/// fraction p: 1 % of 16,384 GPUs at 3 USD per hour is 163.84 x 3 x 24 = 11,796 USD per day. Prices have a
/// source and date (data/prices); the user's own take precedence.

#include <fabricost/hardware/slice.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/plan/economics/days.hpp>
#include <fabricost/plan/economics/power.hpp>
#include <fabricost/plan/economics/reliability.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::plan {

/// Dollars per energy, USD/J: electricity by the kWh, or a site by rated power and time.
using EnergyPrice = decltype(Dollars{} / Joules{});

/// The kind of a GPU-hour's price. Prices of different kinds are never compared.
enum class PriceKind : unsigned char {
  on_demand,  ///< list prices without a commitment
  reserved,   ///< committed for a year or so
  owned,      ///< bought: depreciation, electricity and site
  stated      ///< the user's own, of whatever kind
};
inline constexpr std::array<std::string_view, 4> price_kind_names{"on_demand", "reserved", "owned", "stated"};
[[nodiscard]] constexpr std::string_view name(PriceKind k) { return price_kind_names[static_cast<std::size_t>(k)]; }
/// The kinds that can be requested.
inline constexpr std::array<std::string_view, 3> requested_price_kinds{"on_demand", "reserved", "owned"};

/// Prices of one GPU; zero: unknown.
struct GpuPrice {
  std::string gpu;             ///< name in data/gpus
  Sourced<DollarRate> rent{};  ///< of one GPU, whatever the kind: given by the user
  Sourced<Dollars> server{};   ///< a GPU's share of its server with NICs
  std::string server_is{};     ///< what kind of figure that is, as System::price_is
  Sourced<DollarRate> on_demand{}, reserved{};
  std::vector<std::pair<std::string, Sourced<DollarRate>>> sellers{};  ///< on demand, by who rents out
  std::optional<Sourced<Day>> delivery{};  ///< when it can be had at the earliest; none: now, where any price is known
};

/// Prices used in cost estimates.
struct Prices {
  std::string name;
  std::string date;                 ///< of the file
  Sourced<DollarRate> gpu_hour;     ///< for any GPU; zero: see `gpus`
  std::optional<PriceKind> kind{};  ///< of all rents that are not stated; empty: on demand if known, else reserved
  std::vector<GpuPrice> gpus;
  bool own = false;  ///< the user's: its servers go before the price that a machine's file says
  Sourced<EnergyPrice> electricity;
  Sourced<EnergyPrice> site;           ///< building and staff, by rated power
  Sourced<Time> lifetime;              ///< depreciation time of servers and network
  Sourced<Dollars> switch_port;        ///< InfiniBand, 400 Gbit/s
  Sourced<Dollars> cable;              ///< with both transceivers, 400 Gbit/s
  Sourced<Dollars> copper_cable;       ///< 400 Gbit/s, within a rack
  Sourced<double> interest;            ///< a year, on what is bought
  Sourced<double> storage;             ///< price of the storage over that of the servers
  Sourced<double> ethernet_port{1.0};  ///< price of an Ethernet port over InfiniBand's
  PowerUse power;

  [[nodiscard]] const GpuPrice* of(const std::string& gpu) const;
};

/// A rent and its kind.
struct Rent : Sourced<DollarRate> {
  PriceKind kind = PriceKind::stated;
};
/// Rent of one GPU: the stated one (`gpu_hour` of the prices, else `rent` of this GPU, else `price` of the
/// GPU's description), else that of the requested kind, on demand the machine's own seller's first; where owning is asked for, the rent
/// that would be paid otherwise. Zero if none is known.
[[nodiscard]] Rent rent_of(const System& system, const Prices& prices);
/// A GPU's share of its server: the user's own entry of this GPU in the prices, else the system's own price, else the shipped entry; zero
/// if none is known.
[[nodiscard]] Sourced<Dollars> server_price_of(const System& system, const Prices& prices);

/// What kind of figure that is: stated (the user's own), list, quotation, estimate, press; empty: not said.
[[nodiscard]] std::string server_price_kind_of(const System& system, const Prices& prices);
/// Whether a rent of the kind asked for is known, or what owning costs where that is asked for.
[[nodiscard]] bool price_known(const System& system, const Prices& prices);
/// Whether a machine is owned: as was asked, or because that is the only price known.
[[nodiscard]] bool is_owned(const System& system, const Prices& prices);
/// The earliest delivery of a machine: as its GPU's entry says; else the day of the prices, if one of them is known for it;
/// empty if it is not known.
[[nodiscard]] std::optional<Sourced<Day>> delivery_of(const System& system, const Prices& prices);

/// Switches and cables of the network that joins `gpus` GPUs; zero inside one domain.
[[nodiscard]] Dollars network_price_of(const System& system, double gpus, const Prices& prices);

/// A cost when rented and when owned.
struct Money {
  Dollars rented{};
  Dollars servers{}, network{}, electricity{}, site{};                  ///< owned: depreciation and use in that time
  Dollars storage{}, interest{};                                        ///< likewise
  Joules energy{};                                                      ///< of the site
  bool rent_known = false, servers_known = false, power_known = false;  ///< unknown parts count as 0
  bool owns = false;                                                    ///< owning was asked for

  /// All parts of owning are known.
  [[nodiscard]] bool owned_known() const { return servers_known && power_known; }

  [[nodiscard]] Dollars owned() const { return servers + network + storage + interest + electricity + site; }
  [[nodiscard]] bool rents() const { return rent_known && !owns; }
  [[nodiscard]] bool paid_known() const { return rents() || owned_known(); }
  /// The rent if known and owning was not asked for, else the cost of owning; meaningless unless paid_known().
  [[nodiscard]] Dollars paid() const { return rents() ? rented : owned(); }
  [[nodiscard]] Money operator*(double by) const {
    return {rented * by,   servers * by, network * by, electricity * by, site * by,  storage * by,
            interest * by, energy * by,  rent_known,   servers_known,    power_known, owns};
  }
};

/// Equal payments over `years` at the rate `interest` a year, over the price.
[[nodiscard]] double paid_over_price(double interest, double years);

/// The GPUs that a job pays for (paid_gpus below), where it rents and where it buys.
struct PaidGpus {
  double rented = 0, bought = 0;

  [[nodiscard]] double of(bool owned) const { return owned ? bought : rented; }
};

/// Cost of GPUs of a system for `time`. Owned GPUs cost the same busy or idle; the energy is that of
/// busy ones. Parts without a known power or price are marked as unknown in Money.
/// \throws RequestError for a negative time, fewer than 1 GPU or more than the machine has
[[nodiscard]] Money money_of(const System& system, const PaidGpus& gpus, Time time, const Prices& prices);
[[nodiscard]] Money money_of(const System& system, double gpus, Time time, const Prices& prices);

/// The same for one million tokens at `tokens_per_second` of all GPUs together. \throws RequestError for a rate of 0; as money_of
[[nodiscard]] Money money_per_million_tokens(const System& system, const PaidGpus& gpus, double tokens_per_second, const Prices& prices);

/// Seconds of a run of `tokens` at a rate of which the fraction `goodput` counts (reliability.hpp).
/// \throws RequestError unless all are above 0
[[nodiscard]] double run_seconds(double tokens, double tokens_per_second, double goodput = 1);

// The GPUs that a job pays for, wherever money, power or racks are counted: what is sold whole is paid for whole.
//
//   server          whole servers
//   rack            whole racks where it is bought, or where the job is no smaller; a smaller job rents nodes of it, or as many GPUs as
//                   the seller rents out together (System::rented_by)
//   slice           whole slices of a torus (hardware/slice.hpp); spares are more of the described tori, where these are racks
//   larger domain   whole nodes: it is several racks, which others may have
//
// GPUs that a layout leaves idle (training/idle_gpus.hpp) are paid with them. Spare nodes of a rack are of its idle ones first.

/// Whether a job rents a part of a rack: it is smaller, and nothing says that the rack is bought.
[[nodiscard]] bool rents_part(const System& system, double gpus, const Prices& prices);

/// GPUs that `gpus` pay for, themselves included. \param idle of the layout's domains \param standing_by in whole spare nodes
[[nodiscard]] double paid_gpus(const System& system, double gpus, const Prices& prices, double idle = 0, double standing_by = 0);
/// The same where they are rented and where they are bought, whatever the prices ask for.
[[nodiscard]] PaidGpus both_paid_gpus(const System& system, double gpus, const Prices& prices, double idle = 0, double standing_by = 0);
/// What is paid for whole: servers, racks, nodes or slices.
[[nodiscard]] std::string_view paid_in(const System& system, double gpus, const Prices& prices);

}  // namespace fabricost::plan
