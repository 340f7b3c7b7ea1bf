#pragma once
/// \file provenance.hpp
/// Where a number comes from and how far to trust it. Every figure of a spec carries one of these.

#include <array>
#include <string>
#include <string_view>

namespace fabricost {

/// From firm to soft. `derived` is arithmetic on other numbers of the spec, as trustworthy as they are.
enum class Confidence : unsigned char { datasheet, measured, vendor_code, press, announced, assumed, derived };
inline constexpr std::array<std::string_view, 7> confidence_names{"datasheet", "measured", "vendor-code", "press",
                                                                  "announced", "assumed",  "derived"};
[[nodiscard]] constexpr std::string_view name(Confidence c) { return confidence_names[static_cast<std::size_t>(c)]; }

struct Provenance {
  std::string source;
  Confidence confidence = Confidence::assumed;
};

/// A quantity and where it comes from.
template <class Quantity>
struct Sourced {
  Quantity value{};
  Provenance provenance{};
};

}  // namespace fabricost
