/// \file this_machine.cpp
/// fc.calibrate_machine: this very machine from what `fabricost measure` wrote of it.

#include "asked.hpp"
#include "bindings.hpp"
#include "machine.hpp"

#include <cli/write_file.hpp>
#include <fabricost/machine/this_machine.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

[[nodiscard]] ThisMachine calibrated(const py::object& path, const py::object& system) {
  const std::string points = path_of(path, "path");
  const ThisMachineRequest request{.system = system.is_none() ? "" : std::string{text_of(system, "system")}};
  const py::gil_scoped_release released;
  return calibrate_machine(points, request);
}

[[nodiscard]] py::object some(double value) { return value > 0 ? py::object(py::float_(value)) : py::object(py::none()); }

/// Seconds and bytes per second, as everywhere in Python.
[[nodiscard]] py::list figures_of(const ThisMachine& machine) {
  py::list rows;
  for (const MeasuredFigure& f : machine.figures)
    rows.append(py::dict("tier"_a = f.tier, "what"_a = f.what, "unit"_a = f.latency ? "seconds" : "bytes_per_second",
                         "measured"_a = f.value, "datasheet"_a = some(f.datasheet), "stock"_a = some(f.stock), "points"_a = f.points,
                         "smallest"_a = f.smallest, "largest"_a = f.largest));
  return rows;
}

[[nodiscard]] py::list findings_of(const ThisMachine& machine) {
  py::list out;
  for (const MachineFinding& f : machine.findings)
    out.append(py::dict("cause"_a = f.cause, "confidence"_a = f.confidence, "evidence"_a = f.evidence, "remedy"_a = f.remedy));
  return out;
}

}  // namespace

void add_this_machine(py::module_& module) {
  py::class_<ThisMachine>(module, "ThisMachine", "A machine as it was measured, beside the stock system it is like.")
      .def_property_readonly(
          "system", [](const ThisMachine& m) { return loaded(m.system); }, "The machine with what was measured: for predict, or to save.")
      .def_readonly("stock", &ThisMachine::stock, "Name of the stock system it extends.")
      .def_readonly("title", &ThisMachine::title, "Host, GPUs and day of the measurement.")
      .def_property_readonly(
          "figures", &figures_of,
          "One dict for each rate and latency: tier, what, unit, measured, datasheet, stock (None: there is none), points, "
          "smallest and largest size in bytes.")
      .def_property_readonly("findings", &findings_of, "What sets it apart, likeliest first: dicts of cause, confidence, evidence, remedy.")
      .def_property_readonly(
          "facts",
          [](const ThisMachine& m) {
            py::dict out;
            for (const auto& [what, value] : m.facts) out[text_object(what)] = value;
            return out;
          },
          "What the driver says: PCIe links, clocks, ECC and the like.")
      .def_readonly("not_calibrated", &ThisMachine::not_calibrated, "What stays as the stock system has it, and why.")
      .def(
          "to_pandas", [](const ThisMachine& m) { return pandas().attr("DataFrame")(figures_of(m)); },
          "to_pandas(self)\n--\n\nA pandas.DataFrame with a row for each of `figures`.")
      .def("to_yaml", &this_machine_yaml, "to_yaml(self)\n--\n\nThe text save() writes.")
      .def(
          "save",
          [](const ThisMachine& m, const py::object& path) { cli::write_file(path_of(path, "path"), this_machine_yaml(m), "path"); },
          "path"_a, "save(self, path)\n--\n\nWrites a system file, for load_system and --system of the command.")
      .def("__repr__", [](const ThisMachine& m) {
        return fmt::format("<ThisMachine {}, beside {}: {} figures, {} finding{}>", m.title, m.stock, m.figures.size(), m.findings.size(),
                           m.findings.size() == 1 ? "" : "s");
      });
  module.def("calibrate_machine", &calibrated, "path"_a, py::kw_only(), "system"_a = py::none(), R"(calibrate_machine(path, *, system=None)
--

This very machine from what `fabricost measure` wrote: path names measured.csv, beside which measured.machine.yaml lies. A ThisMachine:
a stock system with the measured rates, latencies and collectives, and what sets the two apart.

system: the stock system, where the one the measurement names is not meant.

Raises SpecError with file, line, column and remedy for faulty files, RequestError when no stock system is known.
)");
}

}  // namespace fabricost::python
