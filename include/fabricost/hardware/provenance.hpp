#pragma once
/// \file provenance.hpp
/// Where a number comes from and how far to trust it. Every figure of a spec carries one of these.

#include <array>
#include <string>
#include <string_view>

namespace fabricost {

/// What a number rests on, from firm to soft (docs/spec-format.md has the rule for each):
/// a document of the part's vendor; a measurement of this part; the vendor's code; arithmetic on other numbers, as firm as they
/// are; a table that others keep of vendors' figures; a measurement or document of a related part; news, blogs, sellers; a vendor's
/// word before the part exists; nothing but a guess or a rule.
enum class Confidence : unsigned char { datasheet, measured, vendor_code, derived, secondary, relative, press, announced, assumed };
inline constexpr std::array<std::string_view, 9> confidence_names{"datasheet", "measured", "vendor-code", "derived", "secondary",
                                                                  "relative",  "press",    "announced",   "assumed"};
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
