#pragma once
/// The source of a number and its reliability. Every figure of a spec has one.

#include <fabricost/namespaces.hpp>

#include <array>
#include <string>
#include <string_view>

namespace fabricost::core {

/// The origin of a number, from most to least reliable (docs/spec-format.md has the rule for each): a
/// document of the part's vendor; a measurement of this part; the vendor's code; arithmetic on other numbers,
/// as reliable as they are; a third-party table of vendors' figures; a measurement or document of a related
/// part; news, blogs, sellers; a vendor's announcement before the part exists; a guess or rule.
enum class Confidence : unsigned char { datasheet, measured, vendor_code, derived, secondary, relative, press, announced, assumed };
inline constexpr std::array<std::string_view, 9> confidence_names{"datasheet", "measured", "vendor-code", "derived", "secondary",
                                                                  "relative",  "press",    "announced",   "assumed"};
[[nodiscard]] constexpr std::string_view name(Confidence c) { return confidence_names[static_cast<std::size_t>(c)]; }

struct Provenance {
  std::string source;
  Confidence confidence = Confidence::assumed;
};

/// A quantity and its source.
template <class Quantity>
struct Sourced {
  Quantity value{};
  Provenance provenance{};
};

}  // namespace fabricost::core

namespace fabricost {
using core::Confidence;
using core::Provenance;
using core::Sourced;
}  // namespace fabricost
