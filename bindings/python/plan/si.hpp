#pragma once
/// Values of unknowns in SI units, as all numbers of Python are; an answer has them in the unit that the command prints.

#include <string>
#include <string_view>

namespace fabricost::python {

/// The SI unit of values in `unit`, as names of arguments have it. \param worth what one of the unit is in it; 1: they are counts, or in a
/// unit of their own
[[nodiscard]] inline std::string si_unit(std::string_view unit, double worth) {
  if (worth == 1 && unit != "s" && unit != "B" && unit != "B/s") return std::string{unit};
  const bool rate = unit.find("/s") != std::string_view::npos;
  const bool bytes = unit.ends_with('B');
  return rate ? "byte/s" : bytes ? "byte" : "s";
}

}  // namespace fabricost::python
