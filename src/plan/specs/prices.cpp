/// Reads data/prices: amounts with units that hardware specs do not have (USD/kWh, USD/kW/month, years).

#include <fabricost/plan/economics/reliability.hpp>
#include <fabricost/plan/specs/prices.hpp>
#include "specs/near_or_all.hpp"
#include "specs/read_once.hpp"
#include "specs/reader.hpp"
#include "specs/store.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

namespace fabricost::plan {
namespace {

constexpr double year = hours_of_a_year * 3600.0, month = year / 12, kilowatt_hour = 3.6e6;

/// A number from `min` to `max` with exactly this unit, stored as a multiple of `worth`.
template <class Quantity>
void amount(MapReader& in, std::string_view key, std::string_view unit, double worth, double min, double max, Sourced<Quantity>& into) {
  const SpecNode* value = in.take(key);
  if (value == nullptr) return;
  const SpecNode* scalar = value->kind == SpecNode::Kind::map ? value->find("value") : value;
  if (scalar == nullptr || scalar->kind != SpecNode::Kind::scalar) {
    in.fault(*value, key, "is not a value", fmt::format("write a number and {}, or {{value: ..., source: ..., confidence: ...}}", unit));
    return;
  }
  std::string_view rest;
  const double number = leading_number(scalar->text, rest);
  if (std::isnan(number) || rest != unit)
    return in.fault(*scalar, key, fmt::format("\"{}\" is not a number of {}", clipped(scalar->text), unit),
                    fmt::format("write for example \"{} {}\"", min > 0 ? min : 1, unit));
  if (!(number >= min && number <= max))
    return in.fault(*scalar, key, fmt::format("\"{}\" is outside {} to {} {}", clipped(scalar->text), min, max, unit),
                    "write one in that range");
  into = {Quantity::from_value(number * worth), in.provenance(*value)};
}

/// A plain number in a range, with its origin.
void plain(MapReader& in, std::string_view key, double min, double max, Sourced<double>& into) {
  const auto value = in.quantity(key, QuantityKind::number);
  if (!value) return;
  if (!(value->number >= min && value->number <= max))
    return in.fault(*value->node, key, fmt::format("\"{}\" is outside {} to {}", value->node->text, min, max),
                    "write a number in that range");
  into = {value->number, value->provenance};
}

/// A day, with its origin: 2027-03-31, 2027-03, 2027-Q1.
[[nodiscard]] std::optional<Sourced<Day>> day(MapReader& in, std::string_view key) {
  const SpecNode* value = in.take(key);
  if (value == nullptr) return std::nullopt;
  const SpecNode* scalar = value->kind == SpecNode::Kind::map ? value->find("value") : value;
  const auto found = scalar != nullptr && scalar->kind == SpecNode::Kind::scalar ? parse_day(scalar->text) : std::nullopt;
  if (!found) {
    in.fault(scalar != nullptr ? *scalar : *value, key, "is no day", "write for example 2027-03-31, 2027-03 or 2027-Q1");
    return std::nullopt;
  }
  return Sourced<Day>{*found, in.provenance(*value)};
}

void read_network(MapReader& in, Prices& into) {
  into.power.switch_radix = in.count("radix", into.power.switch_radix, 2, 4096);
  (void)in.quantity("switch_port", QuantityKind::money, into.switch_port);
  (void)in.quantity("cable", QuantityKind::money, into.cable);
  (void)in.quantity("copper_cable", QuantityKind::money, into.copper_cable);
  plain(in, "ethernet_port", 0, 10, into.ethernet_port);
  (void)in.quantity("port_power", QuantityKind::power, into.power.switch_port);
}

void read_rack(MapReader& in, PowerUse& into) {
  (void)in.quantity("power", QuantityKind::power, into.rack);
  into.machines_of_a_rack = in.count("machines", static_cast<int>(into.machines_of_a_rack), 1, 1000);
  into.gpus_of_a_rack = in.count("gpus", static_cast<int>(into.gpus_of_a_rack), 1, 1'000'000);
}

void read_gpus(MapReader& list, Prices& into) {
  const std::vector<std::string> known = names_in("gpus");
  list.each_entry([&](const std::string& key, MapReader& one) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      return one.refuse(fmt::format("\"{}\" is no GPU of data/gpus", key), nearest_or(key, known, "write the name of a file there"));
    GpuPrice price{.gpu = key};
    (void)one.quantity("rent", QuantityKind::rent, price.rent);
    (void)one.quantity("on_demand", QuantityKind::rent, price.on_demand);
    (void)one.quantity("reserved", QuantityKind::rent, price.reserved);
    (void)one.quantity("server", QuantityKind::money, price.server);
    price.server_is = one.text("server_is");
    one.section("sellers", [&](MapReader& sellers) {
      for (const SpecNode::Entry& seller : sellers.node().entries) {
        Sourced<DollarRate> rent;
        if (sellers.quantity(seller.key, QuantityKind::rent, rent)) price.sellers.emplace_back(seller.key, rent);
      }
    });
    price.delivery = day(one, "delivery");
    into.gpus.push_back(std::move(price));
  });
}

[[nodiscard]] Prices read_prices(MapReader& in, std::string_view name_or_path) {
  in.take("extends");
  in.text("notes");
  Prices out;
  out.name = in.name("name", true);
  out.own = std::filesystem::path(name_or_path).has_extension();  // a file, not a name of data/prices
  out.date = in.text("date");
  (void)in.quantity("gpu_hour", QuantityKind::rent, out.gpu_hour);
  amount(in, "electricity", "USD/kWh", 1 / kilowatt_hour, 0, 10, out.electricity);
  amount(in, "site", "USD/kW/month", 1 / (1000 * month), 0, 10000, out.site);
  amount(in, "lifetime", "years", year, 0.1, 50, out.lifetime);
  plain(in, "interest", 0, 1, out.interest);
  plain(in, "storage", 0, 10, out.storage);
  plain(in, "load", 0.01, 1, out.power.load);
  plain(in, "pue", 1, 5, out.power.pue);
  plain(in, "node_over_gpus", 1, 10, out.power.node_over_gpus);
  in.section("network", [&](MapReader& network) { read_network(network, out); });
  in.section("rack", [&](MapReader& rack) { read_rack(rack, out.power); });
  in.section("gpus", [&](MapReader& gpus) { read_gpus(gpus, out); });
  return out;
}

[[nodiscard]] Prices read_prices(std::string_view name_or_path) {
  Prices out;
  read_document(SpecStore{}.resolve("prices", name_or_path), [&](MapReader& in) { out = read_prices(in, name_or_path); });
  return out;
}

}  // namespace

Prices load_prices(std::string_view name_or_path) {
  if (name_or_path == "default") return core::read_once([](const std::filesystem::path&) { return read_prices("default"); });
  return read_prices(name_or_path);
}

}  // namespace fabricost::plan
