/// \file face.cpp
/// Reading numbers as options have them, and placing keys in JSON.

#include "face.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <system_error>

namespace fabricost::cli {

std::string_view long_name(std::string_view option) { return option.substr(0, option.find(',')); }

int whole_of(const std::string& text, std::string_view option, const Range& range) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, fault] = std::from_chars(text.data(), end, value);
  const bool whole = stopped == end && !text.empty() && text.front() != '-';
  if (whole && (fault == std::errc::result_out_of_range || value > range.most))
    throw RequestError(fmt::format("{}: {} is too many; write at most {:.0f}", option, text, range.most));
  if (!whole || fault != std::errc{} || value < range.least)
    throw RequestError(fmt::format("{}: \"{}\" is not a whole number of at least {:.0f}", option, text, range.least));
  return value;
}

namespace {
[[nodiscard]] std::string_view what(Amount amount) {
  return amount == Amount::share ? "a share" : amount == Amount::seconds ? "a time" : "a number";
}
}  // namespace

double amount_of(const std::string& text, std::string_view option, Amount amount, const Range& range) {
  const double value = [&] {
    switch (amount) {
      case Amount::number: return number_from(text, option, range.least, range.most);
      case Amount::count: return static_cast<double>(whole_of(text, option, range));
      case Amount::large_count: return large_count_of(text, option);
      case Amount::seconds: return duration_of(text, option);
      case Amount::share: return share_of(text, option);
      case Amount::bytes_per_second: return storage_rate_of(text, option);
    }
    return std::nan("");
  }();
  if (range.above && value == range.least) throw RequestError(fmt::format("{}: give {} above {:g}", option, what(amount), range.least));
  if (!range.holds(value)) throw RequestError(fmt::format("{}: {} is not from {:g} to {:g}", option, text, range.least, range.most));
  return value;
}

void detail::put(Json& into, std::string_view path, Json value) {
  const std::size_t dot = path.find('.');
  Json& at = into[std::string{path.substr(0, dot)}];
  if (dot != std::string_view::npos)
    put(at, path.substr(dot + 1), std::move(value));
  else if (at.is_object() && value.is_object())
    at.update(value);
  else
    at = std::move(value);
}

}  // namespace fabricost::cli
