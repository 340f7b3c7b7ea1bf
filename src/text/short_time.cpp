/// \file short_time.cpp
/// Short times as text.

#include "text/short_time.hpp"

#include "text/units.hpp"

#include <fmt/format.h>

#include <cmath>

namespace fabricost::io {

std::optional<double> parse_duration(std::string_view text) {
  std::string_view unit;
  const double number = leading_number(text, unit);
  if (!(number >= 0) || !std::isfinite(number)) return std::nullopt;
  if (unit == "us") return number * 1e-6;
  if (unit == "ms") return number * 1e-3;
  if (unit == "s") return number;
  return std::nullopt;
}

std::string short_time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.4g} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.4g} ms", 1e3 * seconds) : fmt::format("{:.4g} us", 1e6 * seconds);
}

}  // namespace fabricost::io
