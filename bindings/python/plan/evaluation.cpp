/// \file evaluation.cpp
/// Of fabricost/evaluation: published steps as jobs of a fit, which is done here, and the machines that publications name.

#include "bindings.hpp"
#include "question.hpp"

#include <evaluation/published_machine.hpp>
#include <fabricost/hardware/parameters.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/evaluation/calibrate.hpp>
#include <fabricost/plan/memory/memory.hpp>
#include <fabricost/plan/specs/serving.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include <pybind11/stl.h>

#include <map>
#include <string>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

using Steps = std::vector<TrainingRow>;

/// The job of a named layout. Published runs keep their activations on the GPU. \param chunks of a stage where the row states them for a
/// schedule that has its own; 0: the layout's
[[nodiscard]] TrainingRow step_of(const PlanAnswer& plans, std::string group, std::string system, std::vector<std::string> overrides,
                                  double memory_rate, std::string stack, int chunks, double seconds) {
  const auto& found = found_of(plans);
  TrainingRow out;
  out.row.group = std::move(group);
  out.row.measured = seconds;
  out.row.fully_specified = true;
  out.model = found.question.model;
  out.layout = found.plan.layouts.front().layout;
  out.layout.offload_layers = 0;
  if (chunks > 0) out.layout.vp = chunks;
  out.system = std::move(system);
  out.overrides = std::move(overrides);
  out.memory_rate = memory_rate;
  out.stack = std::move(stack);
  out.gpus = found.question.gpus;
  return out;
}

/// Seconds of each step with their interval: with the shipped constants, or those of a fit.
[[nodiscard]] std::vector<std::tuple<double, double, double>> predicted_steps(Steps steps, const TrainingFitAnswer* fit) {
  const py::gil_scoped_release released;
  fit != nullptr ? predict_training_rows(steps, fit->made) : predict_training_rows(steps);
  std::vector<std::tuple<double, double, double>> out;
  for (const TrainingRow& step : steps) {
    if (!step.row.skipped.empty()) throw RequestError(step.row.skipped);
    out.emplace_back(step.row.predicted, step.row.low, step.row.high);
  }
  return out;
}

/// Bytes of each step's worst stage, as the framework's allocator counts them and in all, and of its GPU.
[[nodiscard]] std::vector<std::tuple<double, double, double>> memory_of(const Steps& steps) {
  TrainingMachines machines;
  std::map<std::string, MemoryStack> stacks;
  std::vector<std::tuple<double, double, double>> out;
  for (const TrainingRow& step : steps) {
    const auto [stack, fresh] = stacks.try_emplace(step.stack);
    if (fresh) stack->second = load_stack(step.stack).memory;
    const TrainingMachine& machine = machines.on(step.system, step.overrides, step.gpus);
    const MemoryStack whole = memory_on(stack->second, machine.system.gpu.generation);
    MemoryStack allocator = whole;
    allocator.context = allocator.communicator = allocator.fragmentation = 0;
    out.emplace_back(worst_stage(step.model, step.layout, allocator).total(), worst_stage(step.model, step.layout, whole).total(), machine.gpu.memory);
  }
  return out;
}

[[nodiscard]] std::vector<OpsRow> kernels_of(const std::vector<std::string>& files) {
  std::vector<OpsRow> out;
  for (const std::string& file : files)
    for (OpsRow& row : read_ops_rows(file)) out.push_back(std::move(row));
  return out;
}

[[nodiscard]] TrainingFitAnswer fitted_steps(const Steps& steps, const std::vector<std::string>& tables, const std::vector<std::string>& kernels,
                                             const std::vector<std::string>& served, std::vector<std::string> leave_out,
                                             std::map<std::string, double> hold, bool factors) {
  const py::gil_scoped_release released;
  TrainingFitOptions options{.leave_out = std::move(leave_out), .hold = std::move(hold), .factors = factors};
  const ServingTable table = load_serving_table();
  for (const std::string& file : served)
    for (InferenceRow& row : read_inference_rows(file, table)) options.served.push_back(std::move(row));
  TrainingFitAnswer out{calibrate_training(steps, kernels_of(kernels), options), {}};
  std::vector<Sample> samples;
  for (const auto* files : {&tables, &kernels, &served})
    for (const std::string& file : *files) samples.push_back({file, {}});
  out.origin = fit_origin(out.made.rows, "rows", samples);
  return out;
}

/// What the table of constants shows: (generation, name, of time, value in SI units, deviation, determined, shared) of each, and
/// (name, factor, rows, scale, deviation, spread, generations) of each stack.
[[nodiscard]] py::tuple constants_of(const TrainingFitAnswer& fit) {
  py::list constants, stacks;
  for (const CalibratedSet& set : fit.made.generations)
    for (const FittedConstant& c : set.fitted)
      constants.append(py::make_tuple(name(set.generation), c.key, c.measure == Measure::time, c.value, c.deviation, c.determined, c.shared));
  for (const FittedStack& s : fit.made.stacks) {
    std::vector<std::string> on;
    for (const StepsSeen::On& there : s.seen.on) on.emplace_back(name(there.generation));
    stacks.append(py::make_tuple(s.name, s.factor, s.rows, s.scale, s.deviation, s.spread, on));
  }
  return py::make_tuple(constants, stacks);
}

/// Kernels with the shipped constants: (group, kind, fully specified, measured, predicted, low, high, skipped).
[[nodiscard]] py::list priced_kernels(const std::vector<std::string>& files) {
  std::vector<OpsRow> rows = kernels_of(files);
  predict_ops_rows(rows);
  py::list out;
  for (const OpsRow& op : rows) {
    const std::string_view kind = op.kind == OpKind::product  ? "products"
                                  : op.kind == OpKind::stream ? "element-wise"
                                                              : name(op.collective);
    const WorkloadRow& r = op.row;
    out.append(py::make_tuple(r.group, kind, r.fully_specified, r.measured, r.predicted, r.low, r.high, r.skipped));
  }
  return out;
}

/// What a fit finds: (name, the value at which its effect is gone, of time). A share of a peak has none at 1, any other at its least.
[[nodiscard]] py::list free_constants() {
  py::list out;
  for (const Parameter& p : compute_parameters) {
    const bool share = p.kind == ConstantKind::share || p.kind == ConstantKind::link_share;
    if (!p.held()) out.append(py::make_tuple(p.key, share ? 1 : p.min, p.measure() == Measure::time));
  }
  return out;
}

}  // namespace

void add_evaluation(py::module_& module) {
  py::class_<TrainingRow>(module, "_Step", "A published step as a job of a fit.");
  module.def("_step", &step_of, "plans"_a, "group"_a, "system"_a, "overrides"_a, "memory_rate"_a, "stack"_a, "chunks"_a, "seconds"_a);
  module.def("_predict_steps", &predicted_steps, "steps"_a, "fit"_a = nullptr);
  module.def("_memory_of_steps", &memory_of, "steps"_a);
  module.def("_fit_steps", &fitted_steps, "steps"_a, "tables"_a, "kernels"_a, "served"_a, "leave_out"_a, "hold"_a, "factors"_a);
  module.def("_fitted_constants", &constants_of, "fit"_a);
  module.def("_free_constants", &free_constants);
  module.def("_priced_kernels", &priced_kernels, "files"_a);
  module.def(
      "_published_machine",
      [](const std::string& gpu, const std::string& wires, int gpus_per_node) {
        const PublishedMachine m = published_machine(gpu, wires, gpus_per_node);
        return std::tuple{m.system, m.overrides, m.memory_rate};
      },
      "gpu"_a, "wires"_a, "gpus_per_node"_a);
  module.def("_published_peak", &published_peak, "system"_a, "bits"_a);
}

}  // namespace fabricost::python
