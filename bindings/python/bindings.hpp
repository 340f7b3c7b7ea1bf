#pragma once
/// \file bindings.hpp
/// What each file of the Python module adds to it. Classes come before the functions that take them.

#include <cli/names.hpp>

#include <pybind11/pybind11.h>

#include <string_view>

namespace fabricost::python {

/// Error, RequestError, SpecError and Issue; every fabricost exception becomes one of them.
void add_errors(pybind11::module_& module);
/// System, Tiers, Tier, load_system, system_names.
void add_hardware(pybind11::module_& module);
/// Operation and AllReduce ... SendRecv.
void add_operations(pybind11::module_& module);
/// Prediction, Term, predict, sweep, explain.
void add_predict(pybind11::module_& module);

/// The enum value of a name. \throws RequestError naming those near it; `what` with its article
template <class Parse, class Names>
[[nodiscard]] auto named(std::string_view text, std::string_view what, Parse parse, const Names& names) {
  const auto found = parse(text);
  if (!found) cli::throw_unknown(text, what, cli::listed(names));
  return *found;
}

}  // namespace fabricost::python
