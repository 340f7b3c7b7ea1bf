/// \file diagnosis.cpp
/// fc.diagnose: is this run what its machine should give, and if not, why?

#include "bindings.hpp"
#include "machine.hpp"
#include "plain.hpp"
#include "samples.hpp"

#include <cli/write_file.hpp>
#include <fabricost/diagnose/diagnose.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

[[nodiscard]] Diagnosis diagnosed(const std::string& log, const DiagnosisRequest& request) {
  const py::gil_scoped_release released;
  return diagnose(log, request);
}

[[nodiscard]] Diagnosis diagnose_log(const py::object& log, const py::object& system, const py::object& nodes, const py::object& ranks,
                                     const py::object& expected) {
  DiagnosisRequest request{
      .nodes = count_of(nodes, "nodes"), .ranks = count_of(ranks, "ranks"), .expected = std::string{text_of(expected, "expected")}};
  const std::string file = path_of(log, "log");
  if (system.is_none()) return diagnosed(file, request);
  const SavedSystem origin = origin_of(system);
  request.system = origin.extends;
  if (origin.set.empty() && origin.calibration.empty()) return diagnosed(file, request);
  // an altered machine is named by the file it would be saved as
  const py::object folder = py::module_::import("tempfile").attr("TemporaryDirectory")();
  request.system = folder.attr("name").cast<std::string>() + "/system.yaml";
  cli::write_file(request.system, saved_system_yaml(origin, origin.extends), "system");
  Diagnosis out = diagnosed(file, request);
  folder.attr("cleanup")();
  if (out.system == request.system) out.system = origin.extends;
  return out;
}

/// One row a size.
[[nodiscard]] py::array sizes_of(const Diagnosis& d) {
  std::vector<std::string_view> operation;
  std::vector<double> bytes, measured, predicted, low, high, bus;
  std::vector<std::int32_t> ranks, nodes;
  for (const ComparedSize& s : d.sizes) {
    operation.push_back(name(s.operation.collective));
    bytes.push_back(s.operation.bytes.value());
    ranks.push_back(s.ranks);
    nodes.push_back(s.operation.nodes);
    measured.push_back(s.measured);
    predicted.push_back(s.predicted);
    low.push_back(s.low);
    high.push_back(s.high);
    bus.push_back(s.bus);
  }
  return structured({{"operation", text_column(operation)},
                     {"bytes", number_column(bytes)},
                     {"ranks", number_column(ranks)},
                     {"nodes", number_column(nodes)},
                     {"measured_seconds", number_column(measured)},
                     {"predicted_seconds", number_column(predicted)},
                     {"low_seconds", number_column(low)},
                     {"high_seconds", number_column(high)},
                     {"bus_bytes_per_second", number_column(bus)}});
}

void add_finding(py::module_& module) {
  py::class_<Finding> type(module, "Finding", "One likely cause of a slow run.");
  type.def_property_readonly(
          "cause", [](const Finding& f) { return name(f.cause); }, "Its name, as in `gdr_off`; those of `fabricost diagnose --json`.")
      .def_readonly("confidence", &Finding::confidence, "0 a guess, 1 the log says so itself.")
      .def_readonly("evidence", &Finding::evidence, "Lines of the log with their numbers, or the arithmetic.")
      .def_readonly("remedy", &Finding::remedy, "What to try.")
      .def("__repr__", [](const Finding& f) { return fmt::format("{} ({:.0f} %): {}", name(f.cause), 100 * f.confidence, f.evidence); });
  add_value_semantics(type);
}

}  // namespace

void add_diagnosis(py::module_& module) {
  add_finding(module);
  py::class_<Diagnosis>(module, "Diagnosis", "Whether a run is what its machine should give, and the likely causes where it is not.")
      .def_readonly("healthy", &Diagnosis::healthy, "True: nothing speaks against the run.")
      .def_readonly("verdict", &Diagnosis::verdict, "One sentence.")
      .def_readonly("causes", &Diagnosis::causes, "List of Finding, likeliest first.")
      .def_property_readonly("sizes", &sizes_of,
                             "A structured array with a row for each size of the log: operation, bytes, ranks, nodes, measured_seconds,\n"
                             "predicted_seconds, low_seconds, high_seconds, bus_bytes_per_second (measured).")
      .def_readonly("system", &Diagnosis::system, "Name of the machine it was compared with; empty: with none.")
      .def_readonly("system_guessed", &Diagnosis::system_guessed, "True: told from the log, not by the caller.")
      .def_property_readonly(
          "basis", [](const Diagnosis& d) { return name(d.basis); }, "What the prediction rests on: calibrated, sibling or datasheet.")
      .def_readonly("notes", &Diagnosis::notes, "What the log did not say, what was set aside.")
      .def(
          "to_pandas", [](const Diagnosis& d) { return data_frame(sizes_of(d)); }, "to_pandas(self)\n--\n\nsizes as a pandas.DataFrame.")
      .def("__str__",
           [](const Diagnosis& d) {
             std::string out = d.verdict;
             for (const Finding& f : d.causes)
               out += fmt::format("\n{} ({:.0f} %)\n  seen: {}\n  try:  {}", name(f.cause), 100 * f.confidence, f.evidence, f.remedy);
             return out;
           })
      .def("__repr__", [](const Diagnosis& d) {
        return fmt::format("<Diagnosis: {}, {} cause{}>", d.healthy ? "healthy" : "not healthy", d.causes.size(),
                           d.causes.size() == 1 ? "" : "s");
      });
  module.def("diagnose", &diagnose_log, "log"_a, "system"_a = py::none(), py::kw_only(), "nodes"_a = 0, "ranks"_a = 0, "expected"_a = "",
             R"(diagnose(log, system=None, *, nodes=0, ranks=0, expected='')
--

Reads a log (nccl-tests tables, NCCL's messages under NCCL_DEBUG=INFO, or both) and says whether the run is what its machine should
give: a size counts as slow when its time is above the predicted interval of nine in ten measurements. A Diagnosis.

system: the machine; None for what the log tells. nodes, ranks: where the log does not say. expected: the bandwidth that was expected,
with its unit, as in '900 GB/s', which is taken apart.

Raises SpecError with file, line and remedy for a file that is no log, RequestError for an unknown system or an expectation that is no rate.
)");
}

}  // namespace fabricost::python
