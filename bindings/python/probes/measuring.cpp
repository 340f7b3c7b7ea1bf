/// fc.measure and fc.measure_plan: measuring this machine.

#include "bindings.hpp"
#include "question.hpp"

#include "text/write_file.hpp"

#include <fabricost/probes/answers/this_machine.hpp>
#include <fabricost/probes/machine/this_machine.hpp>

#include <fmt/format.h>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::probes {

static void from_object(py::handle given, std::string_view name, const Range& range, TimeToSpend& out) {
  python::read_object(value_type<double>, given, name, Amount::number, range, &out.seconds);
}
static void from_object(py::handle given, std::string_view name, const Range& range, GpuNumbers& out) {
  for (const double gpu : python::reals(given, name, range.min, range.max)) out.list.push_back(static_cast<int>(gpu));
}
static void from_object(py::handle given, std::string_view name, const Range&, WholeSizes& out) {
  for (const double size : python::reals(given, name, 1, 1e18)) out.bytes.push_back(static_cast<std::uint64_t>(size));
}

}  // namespace fabricost::probes

namespace fabricost::python {
namespace {

/// Ctrl-C ends the run, not the program: points measured so far stay.
[[nodiscard]] bool interrupt_asked() {
  const py::gil_scoped_acquire held;
  if (PyErr_CheckSignals() == 0) return false;
  if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) == 0) throw py::error_already_set();
  PyErr_Clear();
  return true;
}

}  // namespace

/// Beside the type itself, where add_question finds it.
struct MeasureCall : MeasureRequest {};
[[nodiscard]] static MeasureAnswer answer(const MeasureCall& call) {
  MeasureWatch watch;
  watch.interrupted = &interrupt_asked;
  return probes::answer(static_cast<const MeasureRequest&>(call), watch);
}

void add_measuring(py::module_& module) {
  add_argument_type<TimeToSpend>("float");
  add_argument_type<GpuNumbers>("Iterable[int]");
  add_argument_type<WholeSizes>("Iterable[int]");
  add_report<MeasuredPoint>(module, "MeasuredPoint", "One measured point: a row of the file of points.")
      .def("__repr__", [](const MeasuredPoint& p) {
        return fmt::format("<MeasuredPoint {}, {} bytes: {:.4g} us>", p.operation, p.bytes, 1e6 * p.seconds);
      });
  add_report<NotMeasuredAnswer>(module, "NotMeasured", "What was not measured, and why.");
  add_report<PlannedStep>(module, "PlannedStep", "One case over sizes.");
  add_report<MeasurePlanAnswer>(module, "MeasurePlan", "What would be measured of this machine.")
      .def("__repr__", [](const MeasurePlanAnswer& a) { return fmt::format("<MeasurePlan of {}: {} steps>", a.title, a.steps.size()); });
  add_report<MeasureAnswer>(module, "Measurement", "What was measured of this machine.")
      .def(
          "save",
          [](const MeasureAnswer& a, const py::object& path) {
            const std::string file = path_of(path, "path");
            write_file(machine_file_of(file).string(), a.yaml(std::filesystem::path(file).filename().string()), "path");
            write_file(file, a.csv(), "path");
          },
          "path"_a,
          "save(self, path)\n--\n\nWrites the points as that CSV and the machine beside it (docs/reference/measured-files.md): for "
          "validate, calibrate and\ncalibrate_machine.")
      .def("__repr__", [](const MeasureAnswer& a) {
        return fmt::format("<Measurement of {}: {} points in {:.0f} s{}>", a.title, a.rows.size(), a.time.value(),
                           a.complete ? "" : ", " + a.ended);
      });
  add_question<MeasureCall>(
      module, "measure", 0,
      "Measures this machine as `fabricost measure` does, a Measurement. Ctrl-C ends it early and keeps what was measured.",
      R"(Raises RequestError where there is nothing to measure with, saying what is missing.

>>> import fabricost as fc
>>> found = fc.measure(quick=True)                          # doctest: +SKIP
>>> found.save("measured.csv")                              # doctest: +SKIP
>>> mine = fc.calibrate_machine("measured.csv").system      # doctest: +SKIP
)");
  add_question<MeasurePlanRequest>(module, "measure_plan", 0, "What measure would do, without doing it, a MeasurePlan.",
                               "Raises RequestError as measure.");
}

}  // namespace fabricost::python
