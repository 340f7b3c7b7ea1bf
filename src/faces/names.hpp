#pragma once
/// \file names.hpp
/// Messages about unknown names, with similar known ones.

#include <fabricost/fields/fields.hpp>
#include <fabricost/collective.hpp>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::faces {

/// "a, b, c"
[[nodiscard]] std::string joined(std::span<const std::string> names, std::string_view between = ", ");

using fabricost::unknown_text;

/// \param option that the name was given for; empty: a positional argument \throws RequestError with
/// unknown_text
[[noreturn]] void throw_unknown(std::string_view given, std::string_view what, std::span<const std::string> names,
                                std::string_view option = {});

/// A fixed table of names as strings.
template <class Names>
[[nodiscard]] std::vector<std::string> listed(const Names& names) {
  return {names.begin(), names.end()};
}

/// The value that `text` names; empty for an empty text. \param what \param option as in throw_unknown
/// \throws RequestError for unknown names
template <class Enum, std::size_t N>
[[nodiscard]] std::optional<Enum> one_of(const std::string& text, const std::array<std::string_view, N>& names, std::string_view what,
                                         std::string_view option = {}) {
  if (text.empty()) return std::nullopt;
  const auto found = detail::parse_enum<Enum>(text, names);
  if (!found) throw_unknown(text, what, listed(names), option);
  return found;
}

}  // namespace fabricost::faces
