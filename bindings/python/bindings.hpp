#pragma once
/// \file bindings.hpp
/// What each file of the Python module adds to it. Classes come before the functions that take them.
/// arguments.hpp reads what callers write, plain.hpp gives classes of values ==, hash(), pickling and copies.

#include <fabricost/specs/stacks.hpp>
#include "arguments.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // everywhere, or what a list becomes would depend on which files are compiled together

namespace fabricost::python {

/// Error, RequestError, SpecError and Issue; every fabricost exception becomes one of them.
void add_errors(pybind11::module_& module);
/// System, Tiers, Tier, load_system, system_names.
void add_hardware(pybind11::module_& module);
/// Operation and AllReduce ... SendRecv.
void add_operations(pybind11::module_& module);
/// Prediction, Term.
void add_prediction(pybind11::module_& module);
/// Predictions: arrays of them.
void add_predictions(pybind11::module_& module);
/// predict, explain.
void add_predict(pybind11::module_& module);
/// read_log, read_nccl_log.
void add_samples(pybind11::module_& module);
/// Validation, Errors, validate.
void add_validation(pybind11::module_& module);
/// WorkloadValidation, validate_workloads.
void add_workload_validation(pybind11::module_& module);
/// Fit, Constant, calibrate.
void add_fitting(pybind11::module_& module);
/// ThisMachine, calibrate_machine.
void add_this_machine(pybind11::module_& module);
/// Diagnosis, Finding, diagnose.
void add_diagnosis(pybind11::module_& module);
/// Tuning, SlowRange, tune.
void add_tuning(pybind11::module_& module);
/// Topology, topo.
void add_topology(pybind11::module_& module);
/// Model, ParameterCount, Mixer, Stack, load_model, model_names, load_stack, stack_names.
void add_models(pybind11::module_& module);
/// StepTerm, TrainingPlan, Sensitivity, Plans, plan.
void add_plan(pybind11::module_& module);
/// ServePlan, ServePlans, plan_serve.
void add_serving(pybind11::module_& module);
/// MoeDispatch, MoeCombine, MoePrepare, MoePrediction, predict_moe.
void add_moe(pybind11::module_& module);
/// crossovers.
void add_crossovers(pybind11::module_& module);
/// predict_inference, fused_norm.
void add_inference(pybind11::module_& module);
/// PipelineRun, pipeline.
void add_pipeline(pybind11::module_& module);
/// Money, Cost, cost.
void add_cost(pybind11::module_& module);
/// Goodput, goodput; Stragglers, stragglers.
void add_goodput(pybind11::module_& module);
void add_stragglers(pybind11::module_& module);
/// Grouped, SharedCollective, SharedRun, share.
void add_sharing(pybind11::module_& module);
/// Storage into GPUs, loads and stores against RDMA, incast.
void add_transfer(pybind11::module_& module);
/// Compared, Comparison, compare.
void add_compare(pybind11::module_& module);

}  // namespace fabricost::python
