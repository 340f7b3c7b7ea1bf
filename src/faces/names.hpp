#pragma once
/// \file names.hpp
/// Messages about unknown names, with similar known ones.

#include <fabricost/collective.hpp>
#include <fabricost/fields/fields.hpp>

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

}  // namespace fabricost::faces
