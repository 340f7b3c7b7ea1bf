#pragma once
/// \file bindings.hpp
/// What each file of the Python module adds to it. Classes come before the functions that take them.
/// arguments.hpp reads what callers write, plain.hpp gives classes of values ==, hash(), pickling and copies.

#include "arguments.hpp"

#include <pybind11/pybind11.h>

namespace fabricost::python {

/// Error, RequestError, SpecError and Issue; every fabricost exception becomes one of them.
void add_errors(pybind11::module_& module);
/// System, Tiers, Tier, load_system, system_names, read_topology.
void add_hardware(pybind11::module_& module);
/// Operation and AllReduce ... SendRecv.
void add_operations(pybind11::module_& module);
/// Prediction, Term, explain.
void add_prediction(pybind11::module_& module);
/// Predictions: arrays of them.
void add_predictions(pybind11::module_& module);
/// predict.
void add_predict(pybind11::module_& module);

}  // namespace fabricost::python
