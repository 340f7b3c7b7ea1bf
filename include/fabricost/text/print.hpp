#pragma once
/// Quantities and names in fmt::format and, where the standard library has it, std::format: `fmt::format("{:>10}", time)`,
/// `fmt::format("{}", p.basis)`. Streams need text/quantity.hpp alone.
/// The format is that of the text, so it takes width and alignment. To print in a unit of your choice, count it: `in(time, us).value()`.

#include <fabricost/label.hpp>
#include <fabricost/text/quantity.hpp>
#include <fabricost/units.hpp>

#include <string_view>
#include <version>

#if __has_include(<fmt/format.h>)
#include <fmt/format.h>
#endif
#ifdef __cpp_lib_format
#include <format>
#endif

namespace fabricost::core {

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
