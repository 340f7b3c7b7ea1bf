/// \file validation.cpp
/// fc.validate: measured beside predicted, and how far apart they are. Errors are shares: |predicted / measured - 1|.

#include "validation.hpp"

#include "bindings.hpp"
#include "choices.hpp"
#include "machine.hpp"
#include "samples.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <cmath>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

[[nodiscard]] Validation validate_samples(const py::object& samples, const py::object& system, const py::object& nodes,
                                          const py::object& ranks, const py::object& rule, const py::object& raw) {
  if (!PyBool_Check(raw.ptr())) throw_type("raw", "True or False", raw);
  SavedSystem origin;
  if (!system.is_none()) origin = origin_of(system);
  const PointSource otherwise{.system = origin.extends, .nodes = count_of(nodes, "nodes"), .ranks = count_of(ranks, "ranks")};
  const bool keep = raw.cast<bool>();
  Points points = read_samples(samples, otherwise, !keep);
  if (py::isinstance<Machine>(system))
    for (Point& p : points.points) p.system = origin.extends;
  return compare(points, origin, rule_of(rule), keep);
}

void add_errors_class(py::module_& module) {
  py::class_<ErrorSummary> type(module, "Errors", "How far predictions of some points are from measurements; shares, 0.05 for 5 %.");
  type.def_readonly("points", &ErrorSummary::points, "How many points.")
      .def_property_readonly(
          "median_error", [](const ErrorSummary& e) { return e.median_ape / 100; }, "Median of |predicted / measured - 1|.")
      .def_property_readonly(
          "mean_error", [](const ErrorSummary& e) { return e.mape / 100; }, "Mean of the same.")
      .def_readonly("p90_abs_log2", &ErrorSummary::p90_abs_log2, "Nine in ten are within this many factors of two.")
      .def_readonly("within_10_percent", &ErrorSummary::within_10pct, "Share of points at most 10 % off.")
      .def_readonly("within_25_percent", &ErrorSummary::within_25pct, "Share of points at most 25 % off.")
      .def_readonly("interval_coverage", &ErrorSummary::interval_coverage, "Share of points inside the predicted interval of nine in ten.")
      .def("__repr__", [](const ErrorSummary& e) {
        return fmt::format("{} points: median error {:.2f} %, mean {:.2f} %, {:.0f} % within 10 %, {:.0f} % inside the interval", e.points,
                           e.median_ape, e.mape, 100 * e.within_10pct, 100 * e.interval_coverage);
      });
  add_value_semantics(type);
}

}  // namespace

py::dict errors_by_name(const std::vector<ErrorGroup>& groups) {
  py::dict out;
  for (const ErrorGroup& group : groups) out[text_object(group.name)] = group.errors;
  return out;
}
py::dict rows_by_reason(const std::vector<Skipped>& skipped) {
  py::dict out;
  for (const Skipped& one : skipped) out[text_object(one.reason)] = one.rows;
  return out;
}

Validation compare(const Points& points, const SavedSystem& origin, Choice::Rule rule, bool raw) {
  const py::gil_scoped_release released;
  return {validate(points, {.rule = rule, .calibration = origin.calibration, .overrides = origin.set, .raw = raw})};
}

py::array Validation::samples() const {
  std::vector<double> bytes, measured, predicted, low, high, error;
  std::vector<std::int32_t> ranks, nodes;
  std::vector<std::string_view> operation, dtype, algorithm, protocol, system, library, source;
  for (const ComparedPoint& p : report.points) {
    bytes.push_back(p.point.bytes);
    ranks.push_back(p.point.ranks());
    nodes.push_back(p.point.nodes);
    measured.push_back(p.point.seconds);
    predicted.push_back(p.prediction.seconds);
    low.push_back(p.prediction.low);
    high.push_back(p.prediction.high);
    error.push_back(p.error());
    operation.push_back(name(p.point.collective));
    dtype.push_back(name(p.point.dtype));
    algorithm.push_back(p.prediction.algorithm.view());
    protocol.push_back(p.prediction.protocol.view());
    system.push_back(p.point.system.str());
    library.push_back(p.point.library.str());
    source.push_back(p.point.source.str());
  }
  return structured({{"operation", text_column(operation)},
                     {"dtype", text_column(dtype)},
                     {"bytes", number_column(bytes)},
                     {"ranks", number_column(ranks)},
                     {"nodes", number_column(nodes)},
                     {"measured_seconds", number_column(measured)},
                     {"predicted_seconds", number_column(predicted)},
                     {"low_seconds", number_column(low)},
                     {"high_seconds", number_column(high)},
                     {"error", number_column(error)},
                     {"algorithm", text_column(algorithm)},
                     {"protocol", text_column(protocol)},
                     {"system", text_column(system)},
                     {"library", text_column(library)},
                     {"source", text_column(source)}});
}

double Validation::worst_error() const {
  double out = 0;
  for (const ComparedPoint& p : report.points) out = std::max(out, std::fabs(p.error()));
  return out;
}

void add_validation(py::module_& module) {
  add_errors_class(module);
  py::class_<Validation>(module, "Validation", "Measured beside predicted. Errors are shares: |predicted / measured - 1|.")
      .def_property_readonly(
          "total", [](const Validation& v) { return v.report.total; }, "Errors over all points.")
      .def_property_readonly(
          "median_error", [](const Validation& v) { return v.report.total.median_ape / 100; }, "Median over all points.")
      .def_property_readonly(
          "mean_error", [](const Validation& v) { return v.report.total.mape / 100; }, "Mean over all points.")
      .def_property_readonly("worst_error", &Validation::worst_error, "The largest.")
      .def_property_readonly(
          "by_operation", [](const Validation& v) { return errors_by_name(v.report.by_operation); }, "Errors of each operation, by name.")
      .def_property_readonly(
          "by_system", [](const Validation& v) { return errors_by_name(v.report.by_system); }, "Errors on each machine, by name.")
      .def_property_readonly(
          "by_size", [](const Validation& v) { return errors_by_name(v.report.by_size); },
          "Errors in ranges of sizes: <=64 KiB, <=1 MiB, <=32 MiB, above.")
      .def_property_readonly(
          "by_library", [](const Validation& v) { return errors_by_name(v.report.by_library); }, "Errors with each library.")
      .def_property_readonly(
          "skipped", [](const Validation& v) { return rows_by_reason(v.report.skipped); }, "Rows that could not be priced, by reason.")
      .def_property_readonly(
          "untrustworthy", [](const Validation& v) { return rows_by_reason(v.report.untrustworthy); },
          "Rows nobody should fit, by reason; they count in the errors.")
      .def_property_readonly(
          "samples", &Validation::samples,
          "A structured array with a row for each merged point: bytes, measured_seconds, predicted_seconds, low_seconds,\n"
          "high_seconds, error (predicted / measured - 1), what ran, and who measured it.")
      .def(
          "to_pandas", [](const Validation& v) { return data_frame(v.samples()); }, "to_pandas(self)\n--\n\nsamples as a pandas.DataFrame.")
      .def(
          "__len__", [](const Validation& v) { return v.report.points.size(); }, "Number of merged points.")
      .def("__repr__", [](const Validation& v) {
        const ErrorSummary& e = v.report.total;
        return fmt::format("<Validation of {} points: median error {:.2f} %, mean {:.2f} %, {} skipped>", e.points, e.median_ape, e.mape,
                           [&] {
                             int rows = 0;
                             for (const Skipped& s : v.report.skipped) rows += s.rows;
                             return rows;
                           }());
      });
  module.def("validate", &validate_samples, "samples"_a, "system"_a = py::none(), py::kw_only(), "nodes"_a = 0, "ranks"_a = 0,
             "choice"_a = "nccl", "raw"_a = false, R"(validate(samples, system=None, *, nodes=0, ranks=0, choice='nccl', raw=False)
--

Predicts every measured point and says how far off: |predicted / measured - 1|, median, mean and by group; a Validation.

samples: what read_log returns, any structured array, mapping or DataFrame with columns bytes and seconds (and operation, ranks, nodes,
    dtype, algorithm, ...), the path of a log or point CSV, or a list of those. Repeats are merged by their median unless raw.
system: a System prices all of them, whatever machine they name; a name is taken where the samples name none.

Raises RequestError and SpecError as load_system and read_log.
)");
}

}  // namespace fabricost::python
