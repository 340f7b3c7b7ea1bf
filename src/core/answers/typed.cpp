/// Reads numbers in the notation of their amount, lists and ranges of counts, and how tokens choose experts; writes numbers back.

#include "answers/typed.hpp"

#include "fields/other_words.hpp"
#include "text/amounts.hpp"
#include "text/csv.hpp"
#include "text/parse_quantity.hpp"

#include <fabricost/error.hpp>
#include <fabricost/text/quantity.hpp>
#include <fabricost/text/ranges.hpp>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <system_error>

namespace fabricost::core {
namespace {

constexpr std::size_t max_counts = 10'000;

void append_part(std::vector<int>& out, std::string_view part, std::string_view option) {
  const auto fault = [&](std::string_view what) { throw RequestError(fmt::format("{}: \"{}\" {}", option, part, what)); };
  const auto whole = [&](std::string_view number) { return count_of(std::string{number}, option); };
  const std::optional<RangeText> range = range_text(part);
  if (!range || range->by == '?' || (range->by != 0 && range->step.empty()))
    fault("is not a range; write FIRST:LAST:xFACTOR or FIRST:LAST:+STEP, as in 1:2048:x2");
  if (range->by == 0) return out.push_back(whole(part));
  const int first = whole(range->first), last = whole(range->last), step = whole(range->step);
  if (last < first) fault("ends before it starts; write the smaller count first");
  if (range->times() && step < 2) fault("never gets to its end: its factor must be at least 2");
  for_each_in_range(first, last, range->times(), step, [&](double at) {
    if (out.size() == max_counts) fault("asks for more than 10,000 counts; take larger steps");
    out.push_back(static_cast<int>(at));
  });
}

}  // namespace

std::vector<int> counts_of(const std::string& text, std::string_view option) {
  std::vector<int> out;
  if (text.empty()) return out;
  for (const std::string_view one : listed(text)) {
    if (one.empty()) throw RequestError(fmt::format("{}: \"{}\" misses a number; write it as in 2,4,8", option, text));
    append_part(out, one, option);
  }
  return out;
}

namespace {

/// Reads the counts of a file.
std::vector<double> counts_in(const std::string& path) {
  LineReader reader(path);
  std::vector<double> out;
  std::string line;
  while (reader.next(line)) {
    if (line.starts_with('#')) continue;
    for (std::size_t at = line.find_first_not_of(" \t,;"); at != std::string::npos; at = line.find_first_not_of(" \t,;", at)) {
      const std::size_t end = std::min(line.find_first_of(" \t,;", at), line.size());
      const std::string cell = line.substr(at, end - at);
      const auto count = parse_number(cell);
      if (!count || *count < 0)
        throw SpecError({fault_in_line(reader.name(), reader.number(), static_cast<int>(at) + 1, line,
                                       fmt::format("\"{}\" is no count of tokens", cell.substr(0, 40)),
                                       "write how many tokens each expert received, zero or more")});
      out.push_back(*count);
      at = end;
    }
  }
  if (out.empty()) throw fault_of_file(reader.name(), "no counts", "write one number for each expert");
  return out;
}

}  // namespace

Routing routing_typed(const std::string& text, std::string_view option) {
  constexpr std::array<std::string_view, 4> names{"balanced", "uniform", "zipf:EXPONENT", "histogram:FILE"};
  constexpr std::string_view histogram = "histogram:";
  if (text.starts_with(histogram)) return {.kind = RoutingKind::histogram, .histogram = counts_in(text.substr(histogram.size()))};
  const auto found = routing_named(text, option);
  if (!found) throw RequestError(fmt::format("{}: {}", option, unknown_text(text, "a routing", names)));
  return *found;
}

int whole_of(const std::string& text, std::string_view option, const Range& range) {
  const int min = static_cast<int>(range.min), max = static_cast<int>(range.max);
  if (range.max < any_count.max) return whole_number_from(text, option, min, max);  // the message then names both bounds
  return count_of(text, option, min, max);
}

int whole_of(const std::string& text, std::string_view option, Amount amount, const Range& range) {
  if (amount != Amount::length) return whole_of(text, option, range);
  return length_of(text, option, static_cast<int>(range.min), static_cast<int>(range.max));
}

namespace {
[[nodiscard]] std::string_view what(Amount amount) {
  switch (amount) {
    case Amount::share: return "a share";
    case Amount::seconds: return "a time";
    case Amount::size:
    case Amount::size_or_unbounded: return "a size";
    default: return "a number";
  }
}
/// "500" of "500 km".
[[nodiscard]] std::string without_unit(const std::string& text, std::string_view unit) {
  if (!text.ends_with(unit)) return text;
  const std::string number = text.substr(0, text.size() - unit.size());
  return number.ends_with(' ') ? number.substr(0, number.size() - 1) : number;
}
[[nodiscard]] double gibibytes_of(const std::string& text, std::string_view option, const Range& range) {
  const double min = range.min / gibibyte, max = range.max / gibibyte;
  const auto number = parse_number(text);
  const bool with_unit = !number && !text.empty() && text.find_first_of("Bi") != std::string::npos;
  const double value = number ? *number * gibibyte : with_unit ? size_of(text, option).value() : std::nan("");
  if (!(value >= range.min && value <= range.max))
    throw RequestError(fmt::format("{} {}: write GiB of each GPU, from {:.0f} to {:.0f}", option, text.substr(0, 40), min, max));
  return value;
}
}  // namespace

double amount_of(const std::string& text, std::string_view option, Amount amount, const Range& range) {
  const double value = [&] {
    switch (amount) {
      case Amount::number: return number_from(text, option, range.min, range.max);
      case Amount::count:
      case Amount::length: return static_cast<double>(whole_of(text, option, amount, range));
      case Amount::large_count: return large_count_of(text, option);
      case Amount::seconds: return duration_of(text, option);
      case Amount::share: return share_of(text, option);
      case Amount::bytes_per_second: return storage_rate_of(text, option);
      case Amount::one_way_rate: return one_way_rate_of(text, option);
      case Amount::size: return size_of(text, option).value();
      case Amount::size_or_unbounded: return text == "unbounded" ? std::numeric_limits<double>::infinity() : size_of(text, option).value();
      case Amount::gibibytes: return gibibytes_of(text, option, range);
      case Amount::kilometres: return number_from(without_unit(text, "km"), option, range.min, range.max);
    }
    return std::nan("");
  }();
  if (range.above && value == range.min)
    throw RequestError(fmt::format("{}: give {} above {:g}{}", option, what(amount), range.min,
                                   amount == Amount::size_or_unbounded ? ", or unbounded" : ""));
  if (!range.holds(value)) throw RequestError(fmt::format("{}: {} is not from {:g} to {:g}", option, text, range.min, range.max));
  return value + 0.0;  // -0 is 0
}

namespace {
[[nodiscard]] bool answer_of(const std::string& text, std::string_view option) {
  constexpr std::array<std::string_view, 2> no_yes{"no", "yes"};
  if (text != no_yes[0] && text != no_yes[1]) throw RequestError(fmt::format("{}: {}", option, unknown_text(text, "an answer", no_yes)));
  return text == no_yes[1];
}
/// "64B:64KiB:x2"
void add_sizes(const ValueType& type, const std::string& text, std::string_view option, void* out) {
  for (const Bytes size : sizes_of(text, option)) type.inner->set_number(type.add(out), size.value());
}
}  // namespace

void parse_value(const ValueType& type, const std::string& text, std::string_view option, const Amount& amount, const Range& range,
                 void* out) {
  if (type.parse != nullptr) return type.parse(text, option, amount, range, out);
  switch (type.kind) {
    case ValueKind::flag: return type.set_number(out, answer_of(text, option) ? 1 : 0);
    case ValueKind::whole: return type.set_number(out, whole_of(text, option, amount, range));
    case ValueKind::number: return type.set_number(out, amount_of(text, option, amount, range));
    case ValueKind::text: return type.set_text(out, text);
    case ValueKind::word:
      if (type.set_word(out, text)) return;
      if (const std::string_view meant = value_meant(text, type.words); !meant.empty())
        throw RequestError(fmt::format("{}{}\"{}\" is {} here", option, option.empty() ? "" : ": ", text, meant));
      throw RequestError(fmt::format("{}{}{}", option, option.empty() ? "" : ": ", unknown_text(text, type.what, type.words)));
    case ValueKind::optional: return parse_value(*type.inner, text, option, amount, range, type.add(out));
    case ValueKind::list:
      if (type.inner->quantity) return add_sizes(type, text, option, out);
      return parse_value(*type.inner, text, option, amount, range, type.add(out));
    default: throw std::logic_error(fmt::format("{} has no notation", option));
  }
}

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Counts& out) {
  out.values = counts_of(text, option);
}
void from_text(const std::string& text, std::string_view, const Amount&, const Range&, Machine& out) { out.name = text; }
void from_text(const std::string& text, std::string_view, const Amount&, const Range&, Sample& out) { out.file = text; }
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Inference& out) {
  out = engine_named(text, option);
}
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Routing& out) {
  out = routing_typed(text, option);
}

std::string as_typed(std::string_view value, Amount amount) {
  double number = 0;
  const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (fault != std::errc{} || end != value.data() + value.size()) return std::string{value};
  std::string out = amount == Amount::seconds ? number < 60 ? short_time_text(number) : duration_text(number)
                    : amount == Amount::size ? size_text(Bytes::from_value(number))
                    : amount == Amount::one_way_rate || amount == Amount::bytes_per_second
                        ? fmt::format("\"{}\"", rate_text(Bandwidth::from_value(number)))
                        : std::string{value};
  if (out.front() != '"') std::erase(out, ' ');
  return out;
}

}  // namespace fabricost::core
