/// Sizes as text, read and printed independently of the locale. A number without a unit is bytes; an
/// ambiguous unit (64k, 64KB, 8Gb) is refused with both spellings to choose from.

#include <fabricost/error.hpp>
#include <fabricost/text/print.hpp>
#include <fabricost/text/quantity.hpp>
#include <fabricost/text/ranges.hpp>
#include <fabricost/units.hpp>

#include "text/ascii.hpp"
#include "text/parse_quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace fabricost::core {
namespace {

constexpr double size_limit = 1e18;
constexpr std::size_t max_sizes = 100'000;

constexpr std::string_view blanks = " \t\r\n";

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw RequestError(fmt::format("\"{}\" {}", printable(text), why));
}

/// A number at the start of `text` and what follows it; nothing if there is none.
struct Leading {
  double number;
  std::string_view digits, rest;
};
[[nodiscard]] std::optional<Leading> leading_value(std::string_view text) {
  double number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault == std::errc::invalid_argument) return std::nullopt;
  const auto length = static_cast<std::size_t>(end - text.data());
  if (fault == std::errc::result_out_of_range) number = text.substr(0, length).find('-') == std::string_view::npos ? HUGE_VAL : 1e-300;
  return Leading{number, text.substr(0, length), trimmed(text.substr(length), blanks)};
}

/// The probable meaning of an unknown unit.
[[nodiscard]] std::string remedy(const Leading& value) {
  std::string letters;
  for (const char c : value.rest) letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  constexpr std::string_view prefixes = "kmgtp";
  constexpr std::array<std::string_view, 5> binary{"KiB", "MiB", "GiB", "TiB", "PiB"}, decimal{"kB", "MB", "GB", "TB", "PB"};
  const std::size_t at = letters.empty() ? std::string_view::npos : prefixes.find(letters.front());
  if (at != std::string_view::npos) {
    const std::string_view tail = std::string_view{letters}.substr(1);
    if (tail.empty() || tail == "b" || tail == "byte" || tail == "bytes")
      return fmt::format("{0}{1} or {0}{2}", value.digits, binary[at], decimal[at]);
    if (tail == "i" || tail == "ib") return fmt::format("{}{}", value.digits, binary[at]);
    if (tail == "bit" || tail == "bits") return fmt::format("{:.12g}{} (8 bits are a byte)", value.number / 8, decimal[at]);
  }
  if (letters == "byte" || letters == "bytes") return fmt::format("{}B", value.digits);
  if (!letters.empty() && letters.front() == ',') return "the decimal point as a point, as in 1.5GB";
  return "a number and B, kB, MB, GB, KiB, MiB or GiB, as in 256MiB";
}

[[nodiscard]] double size_of(std::string_view whole) {
  const std::string_view text = trimmed(whole, blanks);
  if (text.empty()) throw RequestError("a size is missing; write a number and its unit, as in 256MiB");
  if (text.front() == '-') refuse(text, "is no size: it is negative");
  const std::optional<Leading> value = leading_value(text);
  if (!value) refuse(text, "is not a size; write a number and B, kB, MB, GB, KiB, MiB or GiB, as in 256MiB");
  if (value->rest.find(':') != std::string_view::npos)
    refuse(text, "is a range of sizes, and one size is asked for; sweep takes a range, as its sizes");
  if (const std::size_t comma = value->rest.find(','); comma != std::string_view::npos && comma > 0)
    refuse(text, "is a list of sizes, and one size is asked for; sweep takes a list, as its sizes");
  if (std::isnan(value->number)) refuse(text, "is not a size; write a number and its unit, as in 256MiB");
  const std::optional<double> unit = value->rest.empty() ? 1.0 : size_unit(value->rest);
  if (!unit) refuse(text, fmt::format("is not a size; write {}", remedy(*value)));
  const double bytes = value->number * *unit;
  if (!(bytes < size_limit)) refuse(text, "is too large: a size must be below 10^18 bytes");
  const double nearest = std::round(bytes);
  constexpr double computed = 1e6;  // from here on a fraction of a byte comes from arithmetic, as of 1.1 times a memory
  if (*unit == 1 && nearest != bytes && bytes < computed) refuse(text, fmt::format("is not a whole number of bytes; write a larger unit, as in {}MiB", value->digits));
  if (nearest == 0 && bytes > 0) refuse(text, "is less than a byte");
  return nearest;
}

void append_checked(std::vector<Bytes>& sizes, double bytes, std::string_view text) {
  if (sizes.size() == max_sizes) refuse(text, "asks for more than 100,000 sizes; take larger steps");
  sizes.push_back(Bytes::from_value(bytes));
}

void append_part(std::vector<Bytes>& sizes, std::string_view part, std::string_view text) {
  const std::optional<RangeText> range = range_text(part);
  if (!range) refuse(part, "is not a range of sizes; write FIRST:LAST:xFACTOR or FIRST:LAST:+STEP, as in 1KiB:8GiB:x2");
  if (range->by == 0) return append_checked(sizes, size_of(part), text);
  const double first = size_of(range->first), last = size_of(range->last);
  if (last < first) refuse(part, "ends before it starts; write the smaller size first");
  double step = 0;
  if (range->by == '+') {
    step = size_of(range->step);
    if (!(step > 0)) refuse(part, "never ends: its step is zero");
    if ((last - first) / step >= static_cast<double>(max_sizes)) refuse(text, "asks for more than 100,000 sizes; take larger steps");
  } else {
    if (range->by == '?') refuse(part, "does not say how to step; end it with :x2 (each twice the one before) or :+1MiB");
    const std::optional<Leading> factor = leading_value(range->step);
    if (!factor || !factor->rest.empty() || !(factor->number > 1) || std::isinf(factor->number))
      refuse(part, "never gets to its end: its factor must be above 1, as in :x2");
    if (!(first > 0)) refuse(part, "never leaves zero: a range with a factor must start above zero");
    step = factor->number;
  }
  double before = -1;
  for_each_in_range(first, last, range->times(), step, [&](double exact) {
    const double whole = std::round(exact);
    if (whole != before) append_checked(sizes, whole, text);
    before = whole;
  });
}

/// Three digits, which matches the model's accuracy.
[[nodiscard]] std::string three_digits(double value) {
  return value < 9.995 ? fmt::format("{:.2f}", value) : value < 99.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

}  // namespace

Bytes parse_size(std::string_view text) { return Bytes::from_value(size_of(text)); }

std::vector<Bytes> parse_sizes(std::string_view text) {
  std::vector<Bytes> sizes;
  for (const std::string_view part : listed(text)) append_part(sizes, part, text);
  return sizes;
}

std::string size_text(Bytes bytes) {
  const double value = bytes.value();
  constexpr std::array<std::string_view, 6> binary{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double scaled = value;
  std::size_t unit = 0;
  while (unit + 1 < binary.size() && scaled >= 1024 && std::fmod(scaled, 1024) == 0) {
    scaled /= 1024;
    ++unit;
  }
  if (value < 1000 || (unit > 0 && scaled < 10240)) return fmt::format("{:.6g} {}", scaled, binary[unit]);
  constexpr std::array<std::string_view, 6> decimal{"B", "kB", "MB", "GB", "TB", "PB"};
  scaled = value;
  unit = 0;
  while (unit + 1 < decimal.size() && scaled >= 999.9995) {
    scaled /= 1000;
    ++unit;
  }
  return fmt::format("{:.6g} {}", scaled, decimal[unit]);
}

std::string time_text(Time time) {
  const double seconds = time.value();
  const double magnitude = std::fabs(seconds);
  const std::string_view sign = seconds < 0 ? "-" : "";
  if (magnitude < 999.5e-9 && magnitude > 0) return fmt::format("{}{} ns", sign, three_digits(magnitude * 1e9));
  if (magnitude < 999.5e-6) return fmt::format("{}{} us", sign, three_digits(magnitude * 1e6));
  if (magnitude < 999.5e-3) return fmt::format("{}{} ms", sign, three_digits(magnitude * 1e3));
  return fmt::format("{}{} s", sign, three_digits(magnitude));
}

std::string rate_text(Bandwidth bandwidth) {
  const double rate = bandwidth.value();
  if (rate >= 999.95e9) return fmt::format("{:.4g} TB/s", rate / 1e12);
  if (rate >= 0.99995e9 || rate == 0) return fmt::format("{:.4g} GB/s", rate / 1e9);
  if (rate >= 0.99995e6) return fmt::format("{:.4g} MB/s", rate / 1e6);
  return fmt::format("{:.4g} kB/s", rate / 1e3);
}

namespace {
/// Four digits, a decimal prefix and the unit.
[[nodiscard]] std::string prefixed(double value, std::string_view unit) {
  constexpr std::array<std::string_view, 7> prefixes{"", "k", "M", "G", "T", "P", "E"};
  std::size_t place = 0;
  while (place + 1 < prefixes.size() && std::fabs(value) >= 999.95) {
    value /= 1000;
    ++place;
  }
  return fmt::format("{:.4g} {}{}", value, prefixes[place], unit);
}
}  // namespace

std::string text_of(Bytes size) { return size_text(size); }
std::string text_of(Time time) { return time_text(time); }
std::string text_of(Bandwidth rate) { return rate_text(rate); }
std::string text_of(DuplexBandwidth rate) { return rate_text(Bandwidth::from_value(rate.value())) + " both directions"; }
std::string text_of(WireBits bits) { return prefixed(bits.value(), "bit"); }
std::string text_of(LineRate rate) { return prefixed(rate.value(), "bit/s"); }
std::string text_of(Flops work) { return prefixed(work.value(), "flop"); }
std::string text_of(FlopRate rate) { return prefixed(rate.value(), "flop/s"); }
std::string text_of(Joules energy) { return prefixed(energy.value(), "J"); }
std::string text_of(Watts power) { return prefixed(power.value(), "W"); }
std::string text_of(Dollars money) { return fmt::format("{:.2f} USD", money.value()); }
std::string text_of(DollarRate rent) { return fmt::format("{:.4g} USD/h", in(rent, units::USD_per_h).value()); }

}  // namespace fabricost::core
