#pragma once
/// \file routing.hpp
/// How tokens choose experts, as callers of Python say it: a name, or the tokens each expert was seen to receive.

#include "asked.hpp"

#include <fabricost/experts/routing.hpp>

#include <charconv>

namespace fabricost::python {

/// "balanced", "uniform", "zipf:1.2". \throws RequestError naming the argument
[[nodiscard]] inline Routing routing_named(const std::string& given, std::string_view argument, std::string_view what) {
  if (given == "uniform") return {.kind = RoutingKind::uniform};
  if (given == "balanced") return {.kind = RoutingKind::balanced};
  if (given.starts_with("zipf:")) {
    Routing out{.kind = RoutingKind::zipf};
    const char* const end = given.data() + given.size();
    const auto [stopped, fault] = std::from_chars(given.data() + 5, end, out.exponent);
    if (fault == std::errc{} && stopped == end && out.exponent >= 0 && out.exponent <= 10) return out;
    throw RequestError(fmt::format("{}: \"{}\" has no exponent from 0 to 10", argument, given));
  }
  const std::vector<std::string> known{"balanced", "uniform", "zipf:EXPONENT", "a list of tokens by expert"};
  throw RequestError(fmt::format("{}: {}", argument, cli::unknown_text(given, what, known)));
}

/// The same, or a list or an array of the tokens each expert received. \throws TypeError, RequestError naming the argument
[[nodiscard]] inline Routing routing_from(pybind11::handle given, std::string_view argument, std::string_view what) {
  if (PyUnicode_Check(given.ptr()) != 0) return routing_named(text(given, argument), argument, what);
  return {.kind = RoutingKind::histogram, .histogram = reals(given, argument, 0, 1e18)};
}

}  // namespace fabricost::python
