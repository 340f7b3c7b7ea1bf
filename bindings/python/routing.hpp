#pragma once
/// \file routing.hpp
/// The routing of tokens to experts as a Python argument: a name, or the measured tokens of each expert.

#include "arguments.hpp"

#include <fabricost/fields/named.hpp>

namespace fabricost::python {

/// "balanced", "uniform", "zipf:1.2", or a list or an array of the tokens each expert received. \throws TypeError, RequestError naming the
/// argument
[[nodiscard]] inline Routing routing_from(pybind11::handle given, std::string_view argument) {
  if (PyUnicode_Check(given.ptr()) == 0) return {.kind = RoutingKind::histogram, .histogram = reals(given, argument, 0, 1e18)};
  const std::string written = text(given, argument);
  if (const auto found = routing_named(written, argument)) return *found;
  const std::vector<std::string> known{"balanced", "uniform", "zipf:EXPONENT", "a list of tokens by expert"};
  throw RequestError(fmt::format("{}: {}", argument, unknown_text(written, "a routing", known)));
}

}  // namespace fabricost::python
