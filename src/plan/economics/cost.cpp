#include <fabricost/plan/economics/cost.hpp>

namespace fabricost::plan {

const GpuPrice* Prices::of(const std::string& gpu) const {
  for (const GpuPrice& p : gpus)
    if (p.gpu == gpu) return &p;
  return nullptr;
}

Rent rent_of(const System& system, const Prices& prices) {
  if (prices.gpu_hour.value > DollarRate{}) return {prices.gpu_hour, PriceKind::stated};
  const GpuPrice* listed = prices.of(system.gpu.name);
  if (listed != nullptr && listed->rent.value > DollarRate{}) return {listed->rent, PriceKind::stated};
  if (system.gpu.price.value > DollarRate{}) return {system.gpu.price, PriceKind::stated};
  if (listed == nullptr) return {};
  if (prices.kind != PriceKind::reserved)
    for (const auto& [seller, rent] : listed->sellers)
      if (seller == system.seller) return {rent, PriceKind::on_demand};
  if (prices.kind != PriceKind::reserved && listed->on_demand.value > DollarRate{}) {
    Rent middle{listed->on_demand, PriceKind::on_demand};
    if (!system.seller.empty()) middle.provenance.source += "; of " + system.seller + " itself no price is known";
    return middle;
  }
  if (prices.kind != PriceKind::on_demand && listed->reserved.value > DollarRate{}) return {listed->reserved, PriceKind::reserved};
  return {};
}

/// The entry of its GPU, where that goes before the machine's own price; null: it does not.
const GpuPrice* listed_server(const System& system, const Prices& prices) {
  const GpuPrice* listed = prices.of(system.gpu.name);
  return listed != nullptr && listed->server.value > Dollars{} && (prices.own || !(system.price.value > Dollars{})) ? listed : nullptr;
}

Sourced<Dollars> server_price_of(const System& system, const Prices& prices) {
  if (const GpuPrice* listed = listed_server(system, prices)) return listed->server;
  return {system.price.value / static_cast<double>(machine_gpus(system)), system.price.provenance};
}

std::string server_price_kind_of(const System& system, const Prices& prices) {
  const GpuPrice* listed = listed_server(system, prices);
  if (listed == nullptr) return system.price_is;
  return prices.own && listed->server_is.empty() ? std::string{name(PriceKind::stated)} : listed->server_is;
}

bool price_known(const System& system, const Prices& prices) {
  if (prices.kind != PriceKind::owned) return rent_of(system, prices).value > DollarRate{};
  return server_price_of(system, prices).value > Dollars{} && rated_power_per_gpu(system, prices.power).value > Watts{};
}

bool is_owned(const System& system, const Prices& prices) {
  return prices.kind == PriceKind::owned ||
         (!(rent_of(system, prices).value > DollarRate{}) && server_price_of(system, prices).value > Dollars{});
}

std::optional<Sourced<Day>> delivery_of(const System& system, const Prices& prices) {
  const GpuPrice* listed = prices.of(system.gpu.name);
  if (listed != nullptr && listed->delivery) return listed->delivery;
  const bool sold = rent_of(system, prices).value > DollarRate{} || server_price_of(system, prices).value > Dollars{} ||
                    (listed != nullptr && (listed->on_demand.value > DollarRate{} || listed->reserved.value > DollarRate{}));
  const std::optional<Day> day = parse_day(prices.date);
  if (!sold || !day) return std::nullopt;
  return Sourced<Day>{*day, {"sold on the day of the prices", Confidence::press}};
}

Dollars network_price_of(const System& system, double gpus, const Prices& prices) {
  const NetworkSize net = network_of(system, gpus, prices.power);
  const Tier* nic = system.tier(TierRole::nic);
  const bool infiniband = nic == nullptr || nic->transport.infiniband_ports;
  const Dollars port = prices.switch_port.value * (infiniband ? 1.0 : prices.ethernet_port.value);
  return (port * (net.switches * prices.power.switch_radix) + prices.cable.value * net.optical + prices.copper_cable.value * net.copper()) *
         net.rate;
}

double paid_over_price(double interest, double years) {
  const double rate = interest * years;
  return rate > 0 ? rate / -std::expm1(-years * std::log1p(interest)) : 1;
}

Money money_of(const System& system, const PaidGpus& gpus, Time time, const Prices& prices) {
  if (!(time >= Time{})) throw RequestError("a time is not negative");
  if (!(gpus.rented >= 1 && gpus.bought >= 1)) throw RequestError("money is that of at least 1 GPU");
  check_size(system, gpus.rented);
  check_size(system, gpus.bought);
  const Sourced<DollarRate> rent = rent_of(system, prices);
  const Sourced<Dollars> server = server_price_of(system, prices);
  const double written_off = prices.lifetime.value > Time{} ? static_cast<double>(time / prices.lifetime.value) : 0;
  Money out;
  out.owns = prices.kind == PriceKind::owned;
  out.rent_known = rent.value > DollarRate{};
  out.servers_known = server.value > Dollars{};
  out.rented = rent.value * time * gpus.rented;
  out.servers = server.value * (gpus.bought * written_off);
  out.network = network_price_of(system, gpus.bought, prices) * written_off;
  out.storage = out.servers * prices.storage.value;
  const double years = prices.lifetime.value.value() / (3600 * hours_of_a_year);
  out.interest = (out.servers + out.network + out.storage) * (paid_over_price(prices.interest.value, years) - 1);
  out.power_known = rated_power_per_gpu(system, prices.power).value > Watts{};
  if (!out.power_known) return out;
  const Power bought = power_of(system, gpus.bought, prices.power);
  out.energy = power_of(system, gpus.of(is_owned(system, prices)), prices.power).site * time;
  out.electricity = prices.electricity.value * (bought.site * time);
  out.site = prices.site.value * ((bought.rated + bought.switches) * time);
  return out;
}

Money money_of(const System& system, double gpus, Time time, const Prices& prices) {
  return money_of(system, PaidGpus{gpus, gpus}, time, prices);
}

Money money_per_million_tokens(const System& system, const PaidGpus& gpus, double tokens_per_second, const Prices& prices) {
  if (!(tokens_per_second > 0)) throw RequestError("tokens per second are above 0");
  return money_of(system, gpus, units::s(1e6 / tokens_per_second), prices);
}

double run_seconds(double tokens, double tokens_per_second, double goodput) {
  if (!(tokens > 0 && tokens_per_second > 0 && goodput > 0 && goodput <= 1))
    throw RequestError("a run has tokens and tokens per second above 0, and a goodput above 0 and at most 1");
  return tokens / (tokens_per_second * goodput);
}

bool rents_part(const System& system, double gpus, const Prices& prices) {
  return is_rack(system, prices.power) && takes_part_of_domain(system, gpus) && !is_owned(system, prices);
}

double paid_gpus(const System& system, double gpus, const Prices& prices, double idle, double standing_by) {
  const auto whole = [](double many, double unit) { return std::ceil(many / unit) * unit; };
  double out = 0;
  if (const System own = slice_for(system, static_cast<long long>(std::ceil(gpus))); own.slice) {
    const bool racks = system.pod > 0 && is_rack(system, prices.power);
    out = whole(gpus, own.domain) + whole(standing_by, racks ? system.domain : system.gpus_per_node);
  } else if (rents_part(system, gpus + standing_by, prices)) {
    out = with_rented_together(system, gpus + standing_by);
  } else if (is_rack(system, prices.power)) {
    out = whole(gpus + std::max(idle, standing_by), system.domain);
  } else {
    out = whole(gpus + (takes_part_of_domain(system, gpus) ? 0 : idle), system.gpus_per_node) + standing_by;
  }
  const auto stated = stated_gpus(system);
  return stated && static_cast<double>(*stated) >= gpus ? std::min(out, static_cast<double>(*stated)) : out;
}

std::string_view paid_in(const System& system, double gpus, const Prices& prices) {
  if (slice_for(system, static_cast<long long>(std::ceil(gpus))).slice) return "slices";
  if (rents_part(system, gpus, prices)) return "nodes";
  return is_rack(system, prices.power) ? "racks" : "servers";
}

PaidGpus both_paid_gpus(const System& system, double gpus, const Prices& prices, double idle, double standing_by) {
  Prices owned = prices, rented = prices;
  owned.kind = PriceKind::owned;
  if (prices.kind == PriceKind::owned) rented.kind.reset();
  return {paid_gpus(system, gpus, rented, idle, standing_by), paid_gpus(system, gpus, owned, idle, standing_by)};
}

}  // namespace fabricost::plan
