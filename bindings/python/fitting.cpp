/// \file fitting.cpp
/// fc.calibrate: measurements of a machine in, the machine with its own constants out, with how well each is known.

#include "asked.hpp"
#include "bindings.hpp"
#include "machine.hpp"
#include "samples.hpp"
#include "validation.hpp"

#include <cli/write_file.hpp>
#include <fabricost/calibrate/calibrate.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <set>
#include <tuple>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

/// A constant with what it is of; the name of the set is that of the calibration file.
struct NamedConstant {
  std::string set, name, unit;
  double value = 0, before = 0, relative_error = 0;
  bool determined = false;
  std::string partner;
  double correlation = 0;
};

struct FittedMachine {
  Calibration calibration;
  Machine system;
  Validation validation;
  std::string files;  ///< what the samples were, for the file's source
};

[[nodiscard]] std::vector<NamedConstant> constants_of(const Calibration& fit) {
  std::vector<NamedConstant> out;
  for (const CalibratedSet& set : fit.sets)
    for (const FittedConstant& c : set.fitted) {
      const double scale = c.measure == Measure::share ? set.bandwidth : 1;
      constexpr std::array<const char*, 4> units{"seconds", "bytes_per_second", "bytes", ""};
      out.push_back({set.name, std::string{c.key}, units[static_cast<std::size_t>(c.measure)], c.value * scale, c.prior * scale,
                     c.deviation, c.determined, std::string{c.partner}, c.correlation});
    }
  return out;
}

[[nodiscard]] std::string yaml_of(const FittedMachine& fit, const std::string& name) {
  const auto date = py::module_::import("datetime").attr("date").attr("today")().attr("isoformat")().cast<std::string>();
  return calibration_yaml(fit.calibration, name, date,
                          fmt::format("fabricost calibrate, least squares on log(predicted/measured) of {} merged points of {}",
                                      fit.calibration.points, fit.files));
}

/// Points nobody should fit are no measure of the fit.
[[nodiscard]] Points without_set_aside(const Points& points, const Calibration& fit) {
  using Key = std::tuple<Collective, DataType, double, double, int, int>;
  const auto key = [](const Point& p) { return Key{p.collective, p.dtype, p.bytes, p.seconds, p.nodes, p.ranks()}; };
  std::set<Key> left_out;
  for (const SetAside& s : fit.set_aside) left_out.insert(key(s.point));
  Points out;
  for (const Point& p : merge_repeats(points.points))
    if (left_out.count(key(p)) == 0) out.points.push_back(p);
  return out;
}

[[nodiscard]] FittedMachine fit_samples(const py::object& system, const py::object& samples, const py::object& nodes,
                                        const py::object& ranks, const py::object& only, const py::object& leave_out) {
  const SavedSystem origin = origin_of(system);
  const PointSource otherwise{.system = origin.extends, .nodes = count_of(nodes, "nodes"), .ranks = count_of(ranks, "ranks")};
  CalibrateOptions how{.system = origin.extends, .calibration = origin.calibration, .overrides = origin.set};
  if (!only.is_none())
    how.only = enum_of(
        only, "only", "a set of constants",
        [](std::string_view text) { return fabricost::detail::parse_enum<ConstantSet>(text, constant_set_names); }, constant_set_names);
  if (PyUnicode_Check(leave_out.ptr()) || !py::isinstance<py::iterable>(leave_out)) throw_type("leave_out", "a list of texts", leave_out);
  for (const py::handle one : leave_out) how.leave_out.emplace_back(text_of(one, "leave_out"));
  const Points points = read_samples(samples, otherwise, how.leave_out.empty());
  FittedMachine out;
  {
    const py::gil_scoped_release released;
    out.calibration = calibrate(points, how);
  }
  out.files = PyUnicode_Check(samples.ptr()) || py::hasattr(samples, "__fspath__")
                  ? std::filesystem::path{path_of(samples, "samples")}.filename().string()
                  : "samples given in Python";
  SavedSystem fitted = origin;
  fitted.calibration = yaml_of(out, "fitted");
  out.system = loaded(fitted);
  Points kept = without_set_aside(points, out.calibration);
  for (Point& p : kept.points) p.system = origin.extends;
  out.validation = compare(kept, fitted, Choice::Rule::nccl, false);
  return out;
}

[[nodiscard]] py::object constants_frame(const FittedMachine& fit) {
  py::list rows;
  for (const NamedConstant& c : constants_of(fit.calibration))
    rows.append(py::dict("set"_a = c.set, "name"_a = c.name, "unit"_a = c.unit, "value"_a = c.value, "before"_a = c.before,
                         "relative_error"_a = c.relative_error, "determined"_a = c.determined, "partner"_a = c.partner,
                         "correlation"_a = c.correlation));
  return pandas().attr("DataFrame")(rows);
}

void add_constant(py::module_& module) {
  py::class_<NamedConstant> type(module, "Constant", "One constant as it was fitted.");
  type.def_readonly("set", &NamedConstant::set, "Whose it is, as in `scale-up-hopper`.")
      .def_readonly("name", &NamedConstant::name, "As in a calibration file, `simple.hop`.")
      .def_readonly("unit", &NamedConstant::unit, "seconds, bytes_per_second, bytes, or empty for a plain number.")
      .def_readonly("value", &NamedConstant::value, "Fitted, in that unit.")
      .def_readonly("before", &NamedConstant::before, "What was known before.")
      .def_readonly("relative_error", &NamedConstant::relative_error, "Standard error in log: 0.05 is 5 %.")
      .def_readonly("determined", &NamedConstant::determined, "False: the data left it where it was.")
      .def_readonly("partner", &NamedConstant::partner, "The constant it goes with most; may be empty.")
      .def_readonly("correlation", &NamedConstant::correlation, "How strongly, -1 to 1.")
      .def("__repr__", [](const NamedConstant& c) {
        return fmt::format("{} {}: {:.4g}{}{} +- {:.1f} %{}", c.set, c.name, c.value, c.unit.empty() ? "" : " ", c.unit,
                           100 * c.relative_error, c.determined ? "" : ", not determined");
      });
  add_value_semantics(type);
}

}  // namespace

void add_fitting(py::module_& module) {
  add_constant(module);
  py::class_<FittedMachine>(module, "Fit",
                            "Constants fitted to measurements of one machine. Errors are shares: |predicted / measured - 1|.")
      .def_readonly("system", &FittedMachine::system, "The machine with the fitted constants: for predict, or to save.")
      .def_property_readonly(
          "points", [](const FittedMachine& f) { return f.calibration.points; }, "Merged points that were fitted.")
      .def_property_readonly(
          "median_error", [](const FittedMachine& f) { return f.calibration.median_after / 100; },
          "Median over the fitted points, after the fit.")
      .def_property_readonly(
          "mean_error", [](const FittedMachine& f) { return f.calibration.mean_after / 100; }, "Mean, after the fit.")
      .def_property_readonly(
          "worst_error", [](const FittedMachine& f) { return f.validation.worst_error(); }, "Largest error of `validation`.")
      .def_property_readonly(
          "median_error_before", [](const FittedMachine& f) { return f.calibration.median_before / 100; },
          "Median with what was known before.")
      .def_property_readonly(
          "mean_error_before", [](const FittedMachine& f) { return f.calibration.mean_before / 100; }, "Mean with what was known before.")
      .def_readonly("validation", &FittedMachine::validation, "The samples (without those set aside) predicted with the fitted machine.")
      .def_property_readonly(
          "constants", [](const FittedMachine& f) { return constants_of(f.calibration); }, "List of Constant.")
      .def_property_readonly(
          "converged", [](const FittedMachine& f) { return f.calibration.converged; }, "False: it had not settled after its last step.")
      .def_property_readonly(
          "skipped",
          [](const FittedMachine& f) {
            py::dict out;
            for (const Skipped& one : f.calibration.skipped) out[text_object(one.reason)] = one.rows;
            return out;
          },
          "Rows that were not fitted, by reason.")
      .def_property_readonly(
          "set_aside",
          [](const FittedMachine& f) {
            py::list out;
            for (const SetAside& s : f.calibration.set_aside)
              out.append(fmt::format("{} {:.0f} B, {} ranks, {:.4g} us: {}", name(s.point.collective), s.point.bytes, s.point.ranks(),
                                     1e6 * s.point.seconds, s.reason));
            return out;
          },
          "Points nobody should fit, each as a sentence with its reason.")
      .def(
          "save",
          [](const FittedMachine& f, const py::object& path) {
            const std::string file = path_of(path, "path");
            cli::write_file(file, yaml_of(f, calibration_name(file)), "path");
          },
          "path"_a,
          "save(self, path)\n--\n\nWrites the constants as a calibration file, for load_system(calibration=...) and --calibration of the "
          "command.")
      .def(
          "to_yaml", [](const FittedMachine& f) { return yaml_of(f, "fitted"); }, "to_yaml(self)\n--\n\nThe text save() writes.")
      .def("to_pandas", &constants_frame, "to_pandas(self)\n--\n\nA pandas.DataFrame with a row for each constant.")
      .def("__repr__", [](const FittedMachine& f) {
        return fmt::format("<Fit of {}: {} points, median error {:.2f} -> {:.2f} %, {} of {} constants determined>", f.calibration.system,
                           f.calibration.points, f.calibration.median_before, f.calibration.median_after, f.calibration.determined,
                           f.calibration.constants);
      });
  module.def("calibrate", &fit_samples, "system"_a, "samples"_a, py::kw_only(), "nodes"_a = 0, "ranks"_a = 0, "only"_a = py::none(),
             "leave_out"_a = py::tuple(), R"(calibrate(system, samples, *, nodes=0, ranks=0, only=None, leave_out=())
--

Fits the constants a machine is priced with to measurements of it: least squares on log(predicted / measured) with a robust loss and
priors from machines like it, so that a few points are enough. A Fit; fit.system predicts with what was found.

samples: as in validate. only: 'scale_up', 'pcie' or 'transport' to fit these constants alone. leave_out: sources, or how their names
begin, not to be fitted; 'SOURCE:128KiB:1GiB' leaves out these sizes, * stands for any letters.

Raises RequestError when no point is left to fit, SpecError for faulty files.

>>> import fabricost as fc, numpy as np
>>> system = fc.load_system("dgx-h100")
>>> sizes = 2.0 ** np.arange(12, 31, 3)
>>> truth = fc.predict(system, fc.AllReduce(sizes)).seconds * 1.1   # a machine that is 10 % slower
>>> fit = fc.calibrate(system, {"bytes": sizes, "seconds": truth, "ranks": np.full(7, 8)})
>>> fit.points, bool(fit.median_error < fit.median_error_before)
(7, True)
)");
}

}  // namespace fabricost::python
