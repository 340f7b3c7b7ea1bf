/// Reads and prints amounts.

#include "text/amounts.hpp"

#include "text/parse_quantity.hpp"

#include <fabricost/error.hpp>
#include <fabricost/text/quantity.hpp>
#include <fabricost/units.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <system_error>
#include <utility>
#include <variant>

namespace fabricost::core {
namespace {

template <std::size_t N>
[[nodiscard]] double scaled(const std::string& text, const std::array<std::pair<std::string_view, double>, N>& units) {
  std::string_view rest;
  const double number = leading_number(text, rest);
  for (const auto& [unit, worth] : units)
    if (rest == unit) return number * worth;
  return std::nan("");
}

[[noreturn]] void refuse(std::string_view option, const std::string& text, std::string_view what) {
  throw RequestError(fmt::format("{}: \"{}\" is not {}", option, text.substr(0, 60), what));
}

[[nodiscard]] double quantity_of(const std::string& text, std::string_view option, QuantityKind kind) {
  const ParsedQuantity parsed = parse_quantity(text, kind);
  if (const double* value = std::get_if<double>(&parsed)) return *value;
  const QuantityFault& refusal = std::get<QuantityFault>(parsed);
  throw RequestError(fmt::format("{}: {}; {}", option, refusal.message, refusal.remedy));
}

/// Calls `read` and prefixes its error message with the option's name.
template <class Read>
[[nodiscard]] auto naming(std::string_view option, Read&& read) {
  try {
    return read();
  } catch (const RequestError& error) {
    throw RequestError(fmt::format("{}: {}", option, error.what()));
  }
}

}  // namespace

double duration_of(const std::string& text, std::string_view option) {
  constexpr std::array<std::pair<std::string_view, double>, 8> known{{{"s", units::s(1).value()},
                                                                      {"ms", units::ms(1).value()},
                                                                      {"us", units::us(1).value()},
                                                                      {"ns", units::ns(1).value()},
                                                                      {"min", units::s(60).value()},
                                                                      {"h", units::h(1).value()},
                                                                      {"d", units::h(24).value()},
                                                                      {"days", units::h(24).value()}}};
  const double seconds = scaled(text, known);
  std::string_view unit;
  const double bare = leading_number(text, unit);
  if (bare == 0 && unit.empty()) return 0;
  if (bare > 0 && unit.empty())
    throw RequestError(fmt::format("{0}: a time needs its unit; write {1}ms, {1}s, {1}min, {1}h or {1}d, not \"{2}\"", option, bare, text));
  if (!(seconds >= 0 && seconds <= 1e12)) refuse(option, text, "a time; write a number of 0 or more and s, ms, us, min, h or d, as in 30s");
  return seconds;
}

Bytes size_of(const std::string& text, std::string_view option) {
  return naming(option, [&] { return parse_size(text); });
}

std::vector<Bytes> sizes_of(const std::string& text, std::string_view option) {
  return naming(option, [&] { return parse_sizes(text); });
}

int count_of(const std::string& text, std::string_view option, int min, int max) {
  if (text.empty()) return 0;
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, fault] = std::from_chars(text.data(), end, value);
  const bool whole = stopped == end && text.front() != '-';
  if (whole && (fault == std::errc::result_out_of_range || value > max))
    throw RequestError(fmt::format("{}: {} is too many; write at most {}", option, text, max));
  if (!whole || fault != std::errc{} || value < min)
    throw RequestError(fmt::format("{}: \"{}\" is not a whole number of at least {}{}", option, text, min,
                                   option.ends_with("batch") && value > 0 ? "; a batch is in sequences, not tokens"
                                   : value > 0 && std::string_view(stopped, static_cast<std::size_t>(end - stopped)) == "k" ? fmt::format("; write {}000 or {}", value, 1024LL * value)
                                                                                      : std::string{}));
  return value;
}

double length_unit(std::string_view suffix) {
  constexpr double k = 1024;
  return suffix == "k" || suffix == "K" ? k : suffix == "M" ? k * k : 0;
}

int length_of(const std::string& text, std::string_view option, int min, int max) {
  std::string_view suffix;
  const double number = leading_number(text, suffix);
  if (suffix.empty()) return count_of(text, option, min, max);
  const double tokens = number * length_unit(suffix);
  if (tokens > max) throw RequestError(fmt::format("{}: {} is too many; write at most {}", option, text.substr(0, 60), max));
  if (!(tokens >= min) || tokens != std::floor(tokens))
    refuse(option, text, "a number of tokens; write it whole, or with k (1024) or M (1024 k), as in 128k or 1M");
  return static_cast<int>(tokens);
}

namespace {

/// Options whose numbers are of a unit, and how people write it; the first spelling is that of messages.
struct UnitOfOption {
  std::string_view option, units;
};
constexpr UnitOfOption units_of_options[] = {{"--megawatts", "MW"},
                                             {"--hours", "hours hour h"},
                                             {"--years", "years year"},
                                             {"--price-kwh", "USD/kWh $/kWh USD $"},
                                             {"--price-site", "USD/kW/month $/kW/month USD $"},
                                             {"--price-gpu-hour", "USD/h USD/hour USD/GPU-hour $/h USD $"},
                                             {"--price", "USD/h USD/hour USD/GPU-hour $/h USD $"},
                                             {"--price-server", "USD $"},
                                             {"--budget", "USD $"},
                                             {"--capital", "USD $"},
                                             {"--upgrade", "USD $"}};

[[nodiscard]] std::string_view units_of(std::string_view option) {
  const auto* const found =
      std::find_if(std::begin(units_of_options), std::end(units_of_options), [&](const UnitOfOption& one) { return one.option == option; });
  return found == std::end(units_of_options) ? std::string_view{} : found->units;
}

/// The text without the unit that the option's numbers have anyway.
[[nodiscard]] std::string without_own_unit(const std::string& text, std::string_view option) {
  for (std::string_view left = units_of(option); !left.empty();) {
    const std::string_view unit = left.substr(0, left.find(' '));
    left.remove_prefix(std::min(left.size(), unit.size() + 1));
    if (text.size() <= unit.size() || !text.ends_with(unit)) continue;
    const std::string number = text.substr(0, text.size() - unit.size());
    return number.substr(0, number.find_last_not_of(' ') + 1);
  }
  return text;
}

/// " of MW"; empty: numbers of the option have no unit.
[[nodiscard]] std::string of_unit(std::string_view option) {
  const std::string_view units = units_of(option);
  return units.empty() ? "" : fmt::format(" of {}", units.substr(0, units.find(' ')));
}

}  // namespace

double large_count_of(const std::string& text, std::string_view option) {
  constexpr std::array<std::pair<std::string_view, double>, 6> units{
      {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"B", 1e9}, {"G", 1e9}, {"T", 1e12}}};
  const double count = scaled(without_own_unit(text, option), units);
  if (!(count > 0 && count <= 1e18))
    refuse(option, text, "a count" + of_unit(option) + "; write a number above 0, with k, M, B or T after it if you like, as in 15T");
  return count;
}

double share_of(const std::string& text, std::string_view option) {
  constexpr std::array<std::pair<std::string_view, double>, 2> units{{{"", 1}, {"%", 0.01}}};
  const double share = scaled(text, units);
  if (!(share >= 0 && share <= 1)) refuse(option, text, "a share; write a number from 0 to 1, or percent, as in 1%");
  return share;
}

double number_from(const std::string& text, std::string_view option, double min, double max) {
  std::string_view rest;
  const std::string plain = without_own_unit(text, option);
  double number = leading_number(plain, rest);
  const bool is_share = min >= 0 && max <= 1;
  if (is_share && rest == "%") {
    number /= 100;
    rest = {};
  }
  if (!rest.empty() || !(number >= min && number <= max))
    refuse(option, text,
           is_share                                   ? fmt::format("a share from {} to {}, or that in percent", min, max)
           : option.ends_with("hours") && rest == "d" ? fmt::format("a number of hours; write {:g}", 24 * number)
                                                      : fmt::format("a number{} from {} to {}", of_unit(option), min, max));
  return number;
}

int whole_number_from(const std::string& text, std::string_view option, int min, int max) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, fault] = std::from_chars(text.data(), end, number);
  if (stopped != end || fault != std::errc{} || number < min || number > max)
    refuse(option, text, fmt::format("a whole number from {} to {}", min, max));
  return number;
}

double storage_rate_of(const std::string& text, std::string_view option) { return quantity_of(text, option, QuantityKind::memory_rate); }

double stated_size_of(const std::string& text, std::string_view option) { return quantity_of(text, option, QuantityKind::size); }

double link_rate_of(const std::string& text, std::string_view option) { return quantity_of(text, option, QuantityKind::link_rate); }

double one_way_rate_of(const std::string& text, std::string_view option) {
  const bool directed = text.find("direction") != std::string::npos;
  return quantity_of(directed ? text : text + " per direction", option, QuantityKind::link_rate);
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds)) return "never";
  constexpr std::array<std::pair<double, std::string_view>, 6> units{
      {{86400 * 365.25, "years"}, {86400, "days"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}}};
  for (const auto& [worth, unit] : units)
    if (seconds >= worth * (worth < 86400 ? 1 : 2)) return fmt::format("{:.3g} {}", seconds / worth, unit);  // 1.5 days are printed as 36 h
  return fmt::format("{:.3g} us", seconds * 1e6);
}

std::string given_time_text(double seconds) {
  constexpr std::array<std::pair<double, std::string_view>, 6> units{
      {{86400, "days"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "us"}}};
  for (const auto& [worth, unit] : units)
    if (std::string number = fmt::format("{:.4g}", seconds / worth);
        seconds >= worth * (worth < 86400 ? 1 : 2) && std::fabs(std::stod(number) * worth / seconds - 1) < 1e-9)
      return fmt::format("{} {}", number, unit);
  return duration_text(seconds);
}

std::string dollars_text(double dollars) {
  if (std::fabs(dollars) >= 1e9) return fmt::format("{:.4g} B USD", dollars / 1e9);
  if (std::fabs(dollars) >= 1e6) return fmt::format("{:.4g} M USD", dollars / 1e6);
  if (std::fabs(dollars) < 1000) return fmt::format("{:.3g} USD", dollars);
  const auto whole = static_cast<long long>(std::llround(dollars));
  return fmt::format("{},{:03d} USD", whole / 1000, std::abs(whole % 1000));
}

std::string count_text(double n) {
  constexpr std::array<std::pair<double, std::string_view>, 4> units{{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [worth, unit] : units)
    if (n >= worth) return fmt::format("{:.4g} {}", n / worth, unit);
  return fmt::format("{:.4g}", n);
}

std::string large_text(double value, std::string_view unit) {
  constexpr std::array<std::pair<double, std::string_view>, 5> prefixes{{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}};
  for (const auto& [worth, prefix] : prefixes)
    if (std::fabs(value) >= worth) return fmt::format("{:.4g} {}{}", value / worth, prefix, unit);
  return fmt::format("{:.4g} {}", value, unit);
}

std::optional<double> parse_duration(std::string_view text) {
  std::string_view unit;
  const double number = leading_number(text, unit);
  if (!(number >= 0) || !std::isfinite(number)) return std::nullopt;
  if (unit == "us") return number * 1e-6;
  if (unit == "ms") return number * 1e-3;
  if (unit == "s") return number;
  return std::nullopt;
}

std::string figure(double value, int digits) {
  if (!(std::fabs(value) >= std::pow(10.0, digits)) || std::isinf(value)) return fmt::format("{:.{}g}", value, digits);
  const double scale = std::pow(10.0, std::floor(std::log10(std::fabs(value))) + 1 - digits);
  return fmt::format("{:.0f}", std::round(value / scale) * scale);
}

std::string short_time_text(double seconds) {
  if (seconds >= 1) return figure(seconds) + " s";
  return seconds >= 1e-3 ? fmt::format("{:.4g} ms", 1e3 * seconds) : fmt::format("{:.4g} us", 1e6 * seconds);
}

std::string rough_size(double bytes) {
  static constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1023.5 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, bytes < 9.95 && bytes != std::floor(bytes) ? 1 : 0, units[unit]);
}

std::string percent(double share, int decimals) { return fmt::format("{:.{}f} %", 100 * share, decimals); }

std::string min_text(double value) { return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value); }

std::string with_unit(double value, const std::string& unit) {
  return fmt::format("{}{}{}", min_text(value), unit.empty() ? "" : " ", unit);
}

}  // namespace fabricost::core
