/// \file from_text.cpp
/// Parses numbers in the notation of their amount.

#include "answers/typed/from_text.hpp"

#include "text/csv.hpp"
#include "text/parse_quantity.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace fabricost::core {

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
      if (!type.set_word(out, text))
        throw RequestError(fmt::format("{}{}{}", option, option.empty() ? "" : ": ", unknown_text(text, type.what, type.words)));
      return;
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

}  // namespace fabricost::core
