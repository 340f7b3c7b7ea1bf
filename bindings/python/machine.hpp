#pragma once
/// fc.System: a machine and its origin, so that it can be saved and loaded again. Functions that only price
/// with it take `const System&`.

#include "fields.hpp"

#include <fabricost/hardware/system.hpp>
#include <fabricost/specs/load.hpp>

#include <pybind11/pybind11.h>

#include <string>

namespace fabricost::python {

struct Machine : System {
  SavedSystem origin;
};
/// Found by fields.hpp.
inline void pass_fields(FieldStream& stream, Machine& machine) {
  pass(stream, static_cast<System&>(machine), machine.origin);
}

/// Loads the machine of `origin`. \throws as load_system
[[nodiscard]] Machine loaded(SavedSystem origin);

/// The origin of a System, or of a name or path. \throws TypeError naming the argument
[[nodiscard]] SavedSystem origin_of(pybind11::handle system, std::string_view argument = "system");

}  // namespace fabricost::python
