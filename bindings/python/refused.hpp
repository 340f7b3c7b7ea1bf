#pragma once
/// \file refused.hpp
/// Calls that pybind11 refuses before any code of ours runs.

#include <pybind11/pybind11.h>

namespace fabricost::python {

/// Words their errors as those of all other calls, and those of classes that nobody makes by hand. Once all of the module is defined.
void reword_refused_calls(pybind11::module_& module);

}  // namespace fabricost::python
