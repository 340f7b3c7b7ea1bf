/// Parses text into a number in coherent units. A link rate without its direction, ambiguous bits or bytes, a
/// fraction above 1 and values beyond any hardware are refused with the correct spelling.

#include "text/parse_quantity.hpp"

#include "text/ascii.hpp"

#include <fabricost/units.hpp>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace fabricost::core {

namespace {

struct UnitName {
  std::string_view name;
  double factor;  ///< coherent units in one of this unit

  template <class... Powers>
  constexpr UnitName(std::string_view text, Quantity<Powers...> one) : name{text}, factor{one.value()} {}
};

constexpr double smallest_fraction = 1e-6;  // below that, times would no longer be finite numbers
constexpr std::array<UnitName, 11> sizes{{{"B", units::B(1)},
                                          {"kB", units::kB(1)},
                                          {"MB", units::MB(1)},
                                          {"GB", units::GB(1)},
                                          {"TB", units::TB(1)},
                                          {"KiB", units::KiB(1)},
                                          {"MiB", units::MiB(1)},
                                          {"GiB", units::GiB(1)},
                                          {"TiB", units::TiB(1)},
                                          {"PB", units::PB(1)},
                                          {"PiB", units::TiB(1024)}}};
constexpr std::array<UnitName, 6> times{
    {{"s", units::s(1)}, {"ms", units::ms(1)}, {"us", units::us(1)}, {"ns", units::ns(1)}, {"min", units::s(60)}, {"h", units::h(1)}}};
constexpr std::array<UnitName, 6> byte_rates{{{"B/s", units::B_per_s(1)},
                                              {"MB/s", units::MB_per_s(1)},
                                              {"GB/s", units::GB_per_s(1)},
                                              {"TB/s", units::TB_per_s(1)},
                                              {"GiB/s", units::GiB_per_s(1)},
                                              {"MiB/s", units::MiB(1) / units::s(1)}}};
constexpr std::array<UnitName, 6> bit_rates{{{"Mbit/s", units::Mbit_per_s(1)},
                                             {"Gbit/s", units::Gbit_per_s(1)},
                                             {"Tbit/s", units::Tbit_per_s(1)},
                                             {"Mbps", units::Mbit_per_s(1)},
                                             {"Gbps", units::Gbit_per_s(1)},
                                             {"Tbps", units::Tbit_per_s(1)}}};
constexpr std::array<UnitName, 4> flop_rates{{{"GFLOP/s", units::Gflop_per_s(1)},
                                              {"TFLOP/s", units::Tflop_per_s(1)},
                                              {"PFLOP/s", units::Pflop_per_s(1)},
                                              {"EFLOP/s", units::Pflop_per_s(1000)}}};
constexpr std::array<UnitName, 3> clocks{{{"Hz", 1 / units::s(1)}, {"MHz", 1e6 / units::s(1)}, {"GHz", 1e9 / units::s(1)}}};
constexpr std::array<UnitName, 3> powers{{{"W", units::W(1)}, {"kW", units::kW(1)}, {"MW", units::MW(1)}}};
constexpr std::array<UnitName, 1> monies{{{"USD", units::USD(1)}}};
constexpr std::array<UnitName, 1> rents{{{"USD/h", units::USD_per_h(1)}}};

std::optional<double> factor_of(std::string_view unit, std::span<const UnitName> units) {
  for (const UnitName& u : units)
    if (u.name == unit) return u.factor;
  return std::nullopt;
}

std::string units_listed(std::span<const UnitName> units) {
  std::string out;
  for (const UnitName& u : units) out += (out.empty() ? "" : ", ") + std::string{u.name};
  return out;
}

/// Splits "GB/s per direction" into its unit and what follows.
std::pair<std::string_view, std::string_view> unit_and_rest(std::string_view text) {
  const auto space = text.find(' ');
  if (space == std::string_view::npos) return {text, {}};
  return {text.substr(0, space), trimmed(text.substr(space))};
}

QuantityFault bad_unit(std::string_view text, std::string_view unit, std::span<const UnitName> units, std::string_view what) {
  const std::string given = unit.empty() ? "has no unit" : fmt::format("has the unit \"{}\", which is none of {}", unit, what);
  return {fmt::format("\"{}\" {}", text, given), fmt::format("write a number and one of {}", units_listed(units))};
}

ParsedQuantity plain(std::string_view text, double number, std::string_view rest, std::span<const UnitName> units, std::string_view what) {
  const auto [unit, after] = unit_and_rest(rest);
  const auto factor = factor_of(unit, units);
  if (!factor) return bad_unit(text, unit, units, what);
  if (!after.empty()) return QuantityFault{fmt::format("\"{}\": \"{}\" does not belong here", text, after), "leave it out"};
  return number * *factor;
}

ParsedQuantity link_rate(std::string_view text, double number, std::string_view rest, bool line) {
  const auto [unit, after] = unit_and_rest(rest);
  const auto bytes = factor_of(unit, byte_rates);
  const auto bits = factor_of(unit, bit_rates);
  if (unit.empty() || unit == "per" || unit == "both")
    return QuantityFault{fmt::format("\"{}\" has no unit", text),
                   fmt::format("write for example \"{} {} per direction\"", number, line ? "Gbit/s" : "GB/s")};
  if (unit == "Gb/s" || unit == "GT/s" || unit == "Tb/s" || unit == "Mb/s")  // one letter from bytes: the spelling must be explicit
    return QuantityFault{fmt::format("\"{}\" has the unit \"{}\", which is easily misread", text, unit), "write Gbit/s for bits, GB/s for bytes"};
  if (!bytes && !bits)
    return QuantityFault{fmt::format("\"{}\" has the unit \"{}\", which is no rate", text, unit),
                   "write GB/s, TB/s, Gbit/s or Gbps (or MB/s, GiB/s, Mbit/s, Tbit/s)"};
  if (line && bytes)
    return QuantityFault{fmt::format("\"{}\" counts bytes; a lane's line rate counts bits", text),
                   fmt::format("write \"{} Gbit/s {}\"", number * *bytes * 8e-9, after.empty() ? "per direction" : after)};
  double ways = 0;
  if (after == "per direction") ways = 1;
  if (after == "both directions") ways = 2;
  if (ways == 0) {
    if (after.empty())
      return QuantityFault{fmt::format("\"{}\" does not say which direction", text),
                     fmt::format("write \"{0} {1} per direction\" (one way) or \"{0} {1} both directions\" (their sum)", number, unit)};
    return QuantityFault{fmt::format("\"{}\": \"{}\" is no direction", text, after), "write \"per direction\" for one way, or \"both directions\" for the sum of both"};
  }
  const double one_way = number / ways;
  if (line) return one_way * *bits;
  return bytes ? one_way * *bytes : one_way * *bits / 8;
}

ParsedQuantity fraction(std::string_view text, double number, std::string_view rest) {
  double value = number;
  if (rest == "%") {
    value = number / 100;
  } else if (!rest.empty() && rest.front() == '/') {
    std::string_view after;
    const double below = leading_number(rest.substr(1), after);
    if (!after.empty() || !(below > 0)) return QuantityFault{fmt::format("\"{}\" is no fraction", text), "write 128/130, 0.97 or 97 %"};
    value = number / below;
  } else if (!rest.empty()) {
    return QuantityFault{fmt::format("\"{}\" is no fraction", text), "write 128/130, 0.97 or 97 %"};
  }
  if (value > 1 && value <= 100 && rest.empty())
    return QuantityFault{fmt::format("\"{}\" is outside (0, 1]", text), fmt::format("write {} or \"{} %\"", value / 100, value)};
  if (!(value >= smallest_fraction && value <= 1))
    return QuantityFault{fmt::format("\"{}\" is outside (0, 1]", text), "an efficiency is above 0 and at most 1"};
  return value;
}

/// A ratio of at least 1: "2:1", "7:2" or 2.
ParsedQuantity ratio(std::string_view text, double number, std::string_view rest) {
  double value = number;
  if (!rest.empty()) {
    std::string_view after;
    const double below = rest.front() == ':' ? leading_number(rest.substr(1), after) : 0;
    if (!after.empty() || !(below > 0)) return QuantityFault{fmt::format("\"{}\" is no ratio", text), "write 2:1 or 2"};
    value = number / below;
  }
  if (!(value >= 1 && value <= 1000))
    return QuantityFault{fmt::format("\"{}\" is outside 1 to 1000", text),
                   "downlinks over uplinks: write 2:1 or 2, 1 where nothing is held back"};
  return value;
}

ParsedQuantity checked(std::string_view text, ParsedQuantity value, double min, double max, std::string_view why) {
  if (const double* number = std::get_if<double>(&value); number != nullptr && !(*number >= min && *number <= max))
    return QuantityFault{fmt::format("\"{}\" is impossible here", text), std::string{why}};
  return value;
}

}  // namespace

std::optional<double> size_unit(std::string_view name) { return factor_of(name, sizes); }

double leading_number(std::string_view text, std::string_view& rest) {
  text = trimmed(text);
  double value = 0;
  const char* first = text.data();
  const char* last = text.data() + text.size();
  if (!text.empty() && text.front() == '+') ++first;
  const auto [end, error] = std::from_chars(first, last, value);
  if (error != std::errc{} || !std::isfinite(value)) {
    rest = text;
    return std::numeric_limits<double>::quiet_NaN();
  }
  rest = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  return value;
}

ParsedQuantity parse_quantity(std::string_view text, QuantityKind kind) {
  std::string_view rest;
  const double number = leading_number(text, rest);
  if (std::isnan(number)) {
    const bool bare =
        kind == QuantityKind::count || kind == QuantityKind::number || kind == QuantityKind::fraction || kind == QuantityKind::ratio;
    return QuantityFault{fmt::format("\"{}\" is not a number{}", text, bare ? "" : " with a unit"), "numbers are written like 450, 0.82 or 1e9"};
  }
  switch (kind) {
    case QuantityKind::link_rate:
      return checked(text, link_rate(text, number, rest, false), 1, 1e15, "a rate is above zero and below 10^15 B/s");
    case QuantityKind::line_rate:
      return checked(text, link_rate(text, number, rest, true), 1, 1e15, "a line rate is above zero and below 10^15 bit/s");
    case QuantityKind::memory_rate: {
      const auto [unit, after] = unit_and_rest(rest);
      if (!after.empty())
        return QuantityFault{fmt::format("\"{}\": a memory has no direction, reads and writes share its rate", text),
                       fmt::format("write \"{} {}\"", number, unit)};
      return checked(text, plain(text, number, rest, byte_rates, "the rates of a memory"), 1, 1e18,
                     "a rate of a memory is above zero and below 10^18 B/s");
    }
    case QuantityKind::size: return checked(text, plain(text, number, rest, sizes, "the sizes"), 1, 1e18, "a size is at least one byte");
    case QuantityKind::time:
      return checked(text, plain(text, number, rest, times, "the times"), 0, 0.01, "a latency is between 0 and 10 ms");
    case QuantityKind::flop_rate:
      return checked(text, plain(text, number, rest, flop_rates, "the compute rates"), 1, 1e19,
                     "a compute rate is above zero and below 10 EFLOP/s");
    case QuantityKind::clock:
      return checked(text, plain(text, number, rest, clocks, "the clocks"), 1e6, 1e11, "a clock is between 1 MHz and 100 GHz");
    case QuantityKind::power: return checked(text, plain(text, number, rest, powers, "the powers"), 0.1, 1e10, "a power is above zero");
    case QuantityKind::money:
      return checked(text, plain(text, number, rest, monies, "the currencies (only USD)"), 0, 1e12, "a price is not negative");
    case QuantityKind::rent:
      return checked(text, plain(text, number, rest, rents, "the rents (only USD/h)"), 0, 1e6, "a price is not negative");
    case QuantityKind::fraction: return fraction(text, number, rest);
    case QuantityKind::ratio: return ratio(text, number, rest);
    case QuantityKind::count:
      if (!rest.empty() || number != std::floor(number))
        return QuantityFault{fmt::format("\"{}\" is not a whole number", text), rest.empty() ? "counts have no fraction" : "counts have no unit"};
      return checked(text, number, 0, 1e9, "a count is between 0 and 10^9");
    case QuantityKind::number:
      if (!rest.empty()) return QuantityFault{fmt::format("\"{}\" is not a plain number", text), "leave the unit out"};
      return number;
  }
  return QuantityFault{"unknown quantity", ""};
}

}  // namespace fabricost::core
