#pragma once
/// \file machine.hpp
/// fc.System: a machine and its origin, so that it can be saved and loaded again. Functions that only price
/// with it take `const System&`.

#include "fields.hpp"

#include <fabricost/hardware/system.hpp>
#include <fabricost/specs/saved_system.hpp>

#include <pybind11/pybind11.h>

#include <string>

namespace fabricost::python {

struct Machine : System {
  SavedSystem origin;
};
inline void write_fields(FieldWriter& out, const Machine& machine) {
  out(static_cast<const System&>(machine));
  out(machine.origin);
}
inline void read_fields(FieldReader& in, Machine& machine) {
  in(static_cast<System&>(machine));
  in(machine.origin);
}

/// Loads the machine of `origin`. \throws as load_system
[[nodiscard]] Machine loaded(SavedSystem origin);

/// The origin of a System, or of a name or path. \throws TypeError naming the argument
[[nodiscard]] SavedSystem origin_of(pybind11::handle system, std::string_view argument = "system");

/// The path of a str or os.PathLike. \throws TypeError naming the argument
[[nodiscard]] std::string path_of(pybind11::handle path, std::string_view argument);

}  // namespace fabricost::python
