#pragma once
/// Copies of objects that cannot be changed and are no records.

#include <pybind11/pybind11.h>

namespace fabricost::python {

/// Adds __copy__ and __deepcopy__, which give the object itself.
void add_copies(pybind11::object type);

}  // namespace fabricost::python
