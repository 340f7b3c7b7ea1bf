#pragma once
/// \file arguments.hpp
/// What a caller may write for an argument, and the one exception that names the argument when it is something else:
///
///   text      str (an enum whose members are str, such as fc.Algorithm, is that too); nothing else
///   number    int, float, NumPy's scalars, whatever has __float__ or __index__; never bool, str, complex, None, NaN; what carries units
///             is converted to those the argument's name ends with, or refused (fabricost/_given.py)
///   count     the same, whole, from 0 to 2^31 - 1
///
/// TypeError for a wrong type, RequestError (a ValueError) for a wrong value: "ranks: -1 is negative; ...".

#include "text.hpp"

#include <cli/names.hpp>
#include <fabricost/error.hpp>

#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace fabricost::python {

/// The enum value of a name. \throws RequestError naming those near it; `what` with its article
template <class Parse, class Names>
[[nodiscard]] auto named(std::string_view text, std::string_view what, Parse parse, const Names& names) {
  const auto found = parse(text);
  if (!found) cli::throw_unknown(text, what, cli::listed(names));
  return *found;
}

/// TypeError: "ranks: a whole number is wanted, not str".
[[noreturn]] void throw_type(std::string_view argument, std::string_view wanted, pybind11::handle given);

/// The text of a str, which it lives as long as. \throws TypeError
[[nodiscard]] std::string_view text_of(pybind11::handle given, std::string_view argument);

/// A real number, NaN refused. \throws TypeError, RequestError
[[nodiscard]] double number_of(pybind11::handle given, std::string_view argument);
/// The same with bounds, both allowed. \throws TypeError, RequestError
[[nodiscard]] double number_of(pybind11::handle given, std::string_view argument, double least, double most);

/// A whole number from `least` to 2^31 - 1. \throws TypeError, RequestError
[[nodiscard]] int count_of(pybind11::handle given, std::string_view argument, int least = 0);

/// An enum given by name (or by an fc enum, which is a str): exact names first, then every spelling `parse` knows.
/// \param what with its article, as in "an algorithm" \throws TypeError, RequestError
template <class Parse, class Names>
[[nodiscard]] auto enum_of(pybind11::handle given, std::string_view argument, std::string_view what, Parse parse, const Names& names) {
  using Enum = std::remove_cvref_t<decltype(*parse(std::string_view{}))>;
  const std::string_view text = text_of(given, argument);
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (std::string_view{names[i]} == text) return static_cast<Enum>(i);
  return static_cast<Enum>(named(text, what, parse, names));
}

}  // namespace fabricost::python
