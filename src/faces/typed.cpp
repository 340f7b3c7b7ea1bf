/// \file typed.cpp
/// Numbers in the notation of their amount.

#include "faces/typed.hpp"

#include "text/csv.hpp"
#include "text/short_text.hpp"
#include "text/units.hpp"

#include <fabricost/answers/moe.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace fabricost::faces {

std::string as_typed(std::string_view value, Amount amount) {
  double number = 0;
  const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (fault != std::errc{} || end != value.data() + value.size()) return std::string{value};
  std::string out = amount == Amount::seconds ? number < 60 ? io::short_time_text(number) : duration_text(number)
                    : amount == Amount::size ? size_text(Bytes::from_value(number))
                    : amount == Amount::one_way_rate || amount == Amount::bytes_per_second
                        ? fmt::format("\"{}\"", rate_text(Bandwidth::from_value(number)))
                        : std::string{value};
  if (out.front() != '"') std::erase(out, ' ');
  return out;
}

int whole_of(const std::string& text, std::string_view option, const Range& range) {
  const int min = static_cast<int>(range.min), max = static_cast<int>(range.max);
  if (range.max < any_count.max) return whole_number_from(text, option, min, max);  // the message then names both bounds
  return count_of(text, option, min, max);
}

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Collective& out) {
  const auto found = worded<Collective>(text);
  if (const auto phase = worded<MoePhase>(text))
    throw RequestError(fmt::format("{} is answered by fabricost predict and fabricost explain alone",
                                   moe_operation_names[static_cast<std::size_t>(*phase)]));
  if (!found) throw_unknown(text, "an operation", operation_names(), option.starts_with("-") ? option : "");
  out = *found;
}

std::vector<std::string> operation_names() {
  std::vector<std::string> out = listed(collective_names);
  out.insert(out.end(), moe_operation_names.begin() + 1, moe_operation_names.end());  // prepare, the first, belongs to one kernel only
  return out;
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
  const auto number = io::parse_number(text);
  if (!number || !(*number >= min && *number <= max))
    throw RequestError(fmt::format("{} {}: write GiB of each GPU, from {:.0f} to {:.0f}", option, text.substr(0, 40), min, max));
  return *number * gibibyte;
}
}  // namespace

double amount_of(const std::string& text, std::string_view option, Amount amount, const Range& range) {
  const double value = [&] {
    switch (amount) {
      case Amount::number: return number_from(text, option, range.min, range.max);
      case Amount::count: return static_cast<double>(whole_of(text, option, range));
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
  return value;
}

}  // namespace fabricost::faces
