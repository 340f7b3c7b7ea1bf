#pragma once
/// \file print.hpp
/// Predictions and quantities in streams, fmt::format and, where the standard library has it, std::format.

#include <fabricost/predict/prediction.hpp>
#include <fabricost/text/print.hpp>

#include <concepts>
#include <ostream>
#include <string>
#include <string_view>

namespace fabricost::core {

/// "1.84 ms (nine in ten: 1.21 ms to 2.80 ms), busbw 282.6 GB/s, nvls_tree simple, mostly nic"; explain() gives all of it.
[[nodiscard]] inline std::string text_of(const Prediction& p) {
  const std::string low = time_text(Time::from_value(p.low)), high = time_text(Time::from_value(p.high));
  std::string out = time_text(p.time()) + " (nine in ten: " + low + " to " + high + "), busbw " + rate_text(p.bus_bandwidth()) + ", ";
  out += std::string{p.algorithm.view()} + " " + std::string{p.protocol.view()};
  if (p.moves() && p.by_price) out += " (the cheapest by price: no tuner rule for this library)";
  if (!p.bottleneck().tier.empty()) out += ", mostly " + std::string{p.bottleneck().tier.view()};
  return out;
}

inline std::ostream& operator<<(std::ostream& out, const Prediction& prediction) { return out << text_of(prediction); }

}  // namespace fabricost::core

namespace fabricost {
using core::text_of;
}  // namespace fabricost

#if __has_include(<fmt/format.h>)
template <>
struct fmt::formatter<fabricost::core::Prediction>
    : fabricost::core::FormatAs<fmt::formatter<std::string_view>, fabricost::core::AsText> {};
#endif
#ifdef __cpp_lib_format
template <>
struct std::formatter<fabricost::core::Prediction>
    : fabricost::core::FormatAs<std::formatter<std::string_view>, fabricost::core::AsText> {};
#endif
