/// \file short_text.cpp
/// Short times and sizes as text.

#include "text/short_text.hpp"

#include "text/parse_quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace fabricost::core {

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

}  // namespace fabricost::core

namespace fabricost::core {

std::string rough_size(double bytes) {
  static constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1023.5 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, bytes < 9.95 && bytes != std::floor(bytes) ? 1 : 0, units[unit]);
}

}  // namespace fabricost::core
