#pragma once
/// \file print.hpp
/// Quantities and names in streams, fmt::format and, where the standard library has it, std::format: `out << memory`,
/// `fmt::format("{:>10}", time)`, `fmt::format("{}", p.basis)`.
/// The format is that of the text, so it takes width and alignment. To print in a unit of your choice, count it: `in(time, us).value()`.

#include <fabricost/label.hpp>
#include <fabricost/text/quantity.hpp>
#include <fabricost/units.hpp>

#include <concepts>
#include <ostream>
#include <string>
#include <string_view>
#include <version>

#if __has_include(<fmt/format.h>)
#include <fmt/format.h>
#endif
#ifdef __cpp_lib_format
#include <format>
#endif

namespace fabricost::core {

/// "256 MiB" and "12.3 us" as size_text and time_text write them; others with four digits and a decimal prefix: "400 Gbit/s",
/// "989.4 Tflop/s", "900 GB/s both directions", "2.95 USD/h".
[[nodiscard]] std::string text_of(Bytes size);
[[nodiscard]] std::string text_of(Time time);
[[nodiscard]] std::string text_of(Bandwidth rate);
[[nodiscard]] std::string text_of(DuplexBandwidth rate);
[[nodiscard]] std::string text_of(WireBits bits);
[[nodiscard]] std::string text_of(LineRate rate);
[[nodiscard]] std::string text_of(Flops work);
[[nodiscard]] std::string text_of(FlopRate rate);
[[nodiscard]] std::string text_of(Joules energy);
[[nodiscard]] std::string text_of(Watts power);
[[nodiscard]] std::string text_of(Dollars money);
[[nodiscard]] std::string text_of(DollarRate rent);

/// A quantity that text_of writes: sizes, times, rates, work, energy, power and money.
template <class Q>
concept Printed = requires(Q q) {
  q.value();
  { text_of(q) } -> std::same_as<std::string>;
};

template <Printed Q>
std::ostream& operator<<(std::ostream& out, const Q& quantity) {
  return out << text_of(quantity);
}

/// A formatter of texts, for values that Text makes texts of. \tparam Base fmt's or the standard library's of std::string_view
template <class Base, class Text>
struct FormatAs : Base {
  template <class Value, class Context>
  auto format(const Value& value, Context& context) const {
    return Base::format(Text{}(value), context);
  }
};
struct AsText {
  template <class Value>
  [[nodiscard]] std::string operator()(const Value& value) const {
    return text_of(value);
  }
};
struct AsName {
  template <class Value>
  [[nodiscard]] std::string_view operator()(const Value& value) const {
    return name_of(value);
  }
};
}  // namespace fabricost::core

#if __has_include(<fmt/format.h>)
template <fabricost::core::Printed Q>
struct fmt::formatter<Q> : fabricost::core::FormatAs<fmt::formatter<std::string_view>, fabricost::core::AsText> {};
template <fabricost::core::Named T>
struct fmt::formatter<T> : fabricost::core::FormatAs<fmt::formatter<std::string_view>, fabricost::core::AsName> {};
#endif
#ifdef __cpp_lib_format
template <fabricost::core::Printed Q>
struct std::formatter<Q> : fabricost::core::FormatAs<std::formatter<std::string_view>, fabricost::core::AsText> {};
template <fabricost::core::Named T>
struct std::formatter<T> : fabricost::core::FormatAs<std::formatter<std::string_view>, fabricost::core::AsName> {};
#endif
