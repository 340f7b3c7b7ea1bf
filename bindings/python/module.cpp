/// \file module.cpp
/// Table of contents of the Python module; fabricost/__init__.py gives its names to users.

#include "bindings.hpp"

#include "catalogue/shipped_specs.hpp"
#include "io/spec_catalogue.hpp"

#include <fabricost/version.hpp>

PYBIND11_MODULE(_core, module) {
  fabricost::io::use_catalogue(fabricost::io::shipped_specs);
  // Docstrings start with the signature as a person would write it, which is also what inspect.signature reads.
  pybind11::options options;
  options.disable_function_signatures();
  module.doc() = "Compiled part of fabricost.";
  module.attr("__version__") = FABRICOST_VERSION;
  using namespace fabricost::python;
  add_errors(module);
  add_hardware(module);
  add_operations(module);
  add_prediction(module);
  add_predictions(module);
  add_predict(module);
  add_samples(module);
  add_validation(module);
  add_workload_validation(module);
  add_fitting(module);
  add_this_machine(module);
  add_diagnosis(module);
  add_tuning(module);
  add_topology(module);
  add_models(module);
  add_plan(module);
  add_serving(module);
  add_moe(module);
  add_inference(module);
  add_pipeline(module);
  add_cost(module);
  add_goodput(module);
  add_stragglers(module);
  add_sharing(module);
  add_transfer(module);
  add_compare(module);
}
