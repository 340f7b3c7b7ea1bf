#pragma once
/// The cost of GPUs, tokens and training runs in dollars and joules, and the value of a share of the time.
///
///   rented   GPUs x time x price of a GPU-hour
///   owned    (servers + network) x time / lifetime + energy x electricity + rated power x time x site
///   share    p x the cost of an hour: the rent, or owning where no rent is known; payback = upgrade / that

#include <fabricost/fields/fields.hpp>
#include <fabricost/plan/economics/bill.hpp>
#include <fabricost/plan/economics/token_prices.hpp>
#include <fabricost/plan/fields/named_models.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::plan {

[[nodiscard]] constexpr auto words_of(ScaleOut) { return EnumWords{scale_out_names, "a kind of network"}; }
[[nodiscard]] constexpr auto words_of(PriceKind) { return EnumWords{requested_price_kinds, "a kind of price"}; }

/// The speed of an existing plan, and the system and model it was made for.
struct PlannedRate {
  std::string system, model;
  double gpus = 0, tokens_per_second_per_gpu = 0;
  std::string source;                   ///< in words
  double idle_gpus = 0;                 ///< that the layout leaves
  std::vector<TokenPrice> tokens{};     ///< of serving, by kind, without dollars
  std::pair<double, double> between{};  ///< ends of the rate
};
/// The fastest layout of a file that `fabricost plan --json` wrote. \throws RequestError naming the file for other content, and for one
/// with machines of two kinds
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, PlannedRate& out);
/// Why a plan with machines of two kinds is refused.
[[nodiscard]] std::string of_two_kinds(std::string_view plan, std::string_view reads);

/// What owning costs beside the servers themselves, as requests say it.
struct OwningRequest {
  std::optional<double> dollars_per_kwh, dollars_per_kw_month, pue, lifetime_years, interest, storage_share;
  std::optional<ScaleOut> network;

  static RequestTable<OwningRequest> fields();
};

struct CostRequest : OwningRequest {
  Machine system;  ///< the machine
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
  std::optional<double> dollars_per_server;
  std::string prices = "default";
  std::vector<std::string> overrides;
  double spare_gpus = 0;  ///< of the GPUs: they stand by (economics/network.hpp)
  PaidGpus paid{};        ///< known already; 0: they follow (economics/cost.hpp)

  static RequestTable<CostRequest> fields();
};

/// A cost when rented and when owned; unknown amounts are empty.
struct MoneyAnswer {
  std::optional<Dollars> price, rented, owned, servers, electricity, site;
  std::optional<Joules> energy;
  Dollars network{};
  std::optional<Dollars> storage, interest;
  bool operator==(const MoneyAnswer&) const = default;

  static AnswerTable<MoneyAnswer> fields();
};

struct CostAnswer {
  std::string system;
  double gpus = 0, paid_gpus = 0, bought_gpus = 0;
  bool part_of_rack = false;
  std::string paid_in;
  std::string prices, prices_date;
  std::optional<double> dollars_per_gpu_hour;
  std::optional<std::string> gpu_hour_kind;
  std::string gpu_hour_source, gpu_hour_confidence;
  std::optional<Dollars> server_per_gpu;
  std::string server_source, server_kind, electricity_source, site_source;
  double dollars_per_kwh = 0, dollars_per_kw_month = 0, pue = 0, load = 0, lifetime_years = 0;
  std::optional<Watts> rated_power, racks_power, switches_power, site_power;
  std::string power_source, power_confidence;
  std::optional<Dollars> servers_price, storage_price;
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
  std::optional<double> payback_days, tokens_per_second;
  std::string rate_source;
  std::optional<MoneyAnswer> million_tokens;
  std::vector<TokenPrice> token_prices;
  double goodput = 1;
  std::optional<Time> run_time;
  std::optional<double> run_tokens, run_goodput, run_gpu_hours;
  std::optional<MoneyAnswer> run;
  std::optional<Dollars> upgrade;

  static AnswerTable<CostAnswer> fields();
};
[[nodiscard]] bool operator==(const CostAnswer& a, const CostAnswer& b);

/// \throws Refusal for values that contradict each other; SpecError, RequestError as load_system, load_model, load_prices
[[nodiscard]] CostAnswer answer(const CostRequest& request);

}  // namespace fabricost::plan
