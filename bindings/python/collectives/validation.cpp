/// \file validation.cpp
/// fc.validate: the errors of predictions against measurements, as fractions |predicted / measured - 1|.

#include "bindings.hpp"
#include "face.hpp"
#include "collectives/samples.hpp"

#include <fabricost/evaluation/validate.hpp>

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace fabricost::python {

[[nodiscard]] static py::array compared_of(const ValidationAnswer& answer) {
  std::vector<double> bytes, measured, predicted, low, high, error;
  std::vector<std::int32_t> ranks, nodes;
  std::vector<std::string_view> operation, dtype, algorithm, protocol, system, library, source;
  for (const ComparedPoint& p : answer.report.points) {
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

[[nodiscard]] static std::string errors_text(const Errors& e) {
  return fmt::format("median error {:.2f} %, mean {:.2f} %", e.median_ape, e.mape);
}

[[nodiscard]] static py::array rows_of(const WorkloadsAnswer& answer) {
  std::vector<std::string_view> id, group, model, metric, skipped;
  std::vector<double> measured, predicted, low, high, error;
  for (const WorkloadRow& row : answer.report.rows) {
    const bool priced = row.skipped.empty();
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    id.push_back(row.id);
    group.push_back(row.group);
    model.push_back(row.model);
    metric.push_back(row.metric);
    skipped.push_back(row.skipped);
    measured.push_back(row.measured);
    predicted.push_back(priced ? row.predicted : none);
    low.push_back(priced && row.high > 0 ? row.low : none);
    high.push_back(priced && row.high > 0 ? row.high : none);
    error.push_back(priced ? row.error() : none);
  }
  return structured({{"id", text_column(id)},
                     {"group", text_column(group)},
                     {"model", text_column(model)},
                     {"metric", text_column(metric)},
                     {"measured", number_column(measured)},
                     {"predicted", number_column(predicted)},
                     {"low", number_column(low)},
                     {"high", number_column(high)},
                     {"error", number_column(error)},
                     {"skipped", text_column(skipped)}});
}

void add_validation(py::module_& module) {
  add_answer<Errors>(module, "Errors", "How far predictions of some points are from measurements; shares, 0.05 for 5 %.")
      .def("__repr__", [](const Errors& e) {
        return fmt::format("{} points: {}, {:.0f} % within 10 %, {:.0f} % inside the interval", e.points, errors_text(e),
                           100 * e.within_10pct, 100 * e.interval_coverage);
      });
  add_report<ValidationAnswer>(module, "Validation", "Measured beside predicted. Errors are shares: |predicted / measured - 1|.")
      .def_property_readonly(
          "samples", &compared_of,
          "A structured array with a row for each merged point: bytes, measured_seconds, predicted_seconds, low_seconds,\n"
          "high_seconds, error (predicted / measured - 1), what ran, and who measured it.")
      .def(
          "to_pandas", [](const ValidationAnswer& v) { return data_frame(compared_of(v)); },
          "to_pandas(self)\n--\n\nsamples as a pandas.DataFrame.")
      .def(
          "__len__", [](const ValidationAnswer& v) { return v.report.points.size(); }, "Number of merged points.")
      .def("__repr__", [](const ValidationAnswer& v) {
        int rows = 0;
        for (const Skipped& s : v.report.skipped) rows += s.rows;
        return fmt::format("<Validation of {} points: {}, {} skipped>", v.points, errors_text(v), rows);
      });
  add_report<WorkloadsAnswer>(module, "WorkloadValidation",
                              "Published results beside predictions. Errors are shares: |predicted / measured - 1|.")
      .def_property_readonly(
          "rows", &rows_of,
          "A structured array with a row for each figure: id, group, model, metric, measured and predicted (in the same\n"
          "unit), low, high, error (predicted / measured - 1), skipped (why there is none, or nothing).")
      .def(
          "to_pandas", [](const WorkloadsAnswer& w) { return data_frame(rows_of(w)); },
          "to_pandas(self)\n--\n\nrows as a pandas.DataFrame.")
      .def(
          "__len__", [](const WorkloadsAnswer& w) { return w.report.rows.size(); }, "Number of rows.")
      .def("__repr__",
           [](const WorkloadsAnswer& w) { return fmt::format("<WorkloadValidation of {} figures: {}>", w.points, errors_text(w)); });
  add_report<ExchangesAnswer>(module, "ExchangeValidation",
                              "Measured dispatch and combine beside predictions. Errors are shares: |predicted / measured - 1|.")
      .def(
          "__len__", [](const ExchangesAnswer& e) { return e.report.rows.size(); }, "Number of merged rows.")
      .def("__repr__",
           [](const ExchangesAnswer& e) { return fmt::format("<ExchangeValidation of {} times: {}>", e.points, errors_text(e)); });
  add_face<ValidateFilesRequest>(
      module, "validate", 2,
      R"(Predicts every measured point and says how far off: |predicted / measured - 1|, median, mean and by group; a Validation. Of
tables of published workloads a WorkloadValidation, of tables of expert exchange an ExchangeValidation.

samples: what read_log returns, any structured array, mapping or DataFrame with columns bytes and seconds (and operation, ranks, nodes,
dtype, algorithm, ...), the path of a log or point CSV, or a list of those. Repeats are merged by their median unless raw.
system: a System prices all of them, whatever machine they name; a name is taken where the samples name none.)",
      "Raises RequestError and SpecError as load_system and read_log.");
  module.def(
      "validate_workloads",
      [](const py::args& tables) {
        std::vector<std::filesystem::path> files;
        for (const py::handle& table : tables) files.emplace_back(path_of(table, "tables"));
        if (files.empty()) throw RequestError("tables: give the path of at least one table");
        const py::gil_scoped_release released;
        return validated(files);
      },
      R"(validate_workloads(*tables)
--

Predicts every row of tables of published results and says how far off: |predicted / measured - 1|, a WorkloadValidation.

tables: paths of CSV files with the columns of training, pipeline, ops, inference, moe, reliability tables or of point files of expert
    kernels, known by their columns (docs/reading-logs.md).

Raises RequestError for a file that is none, SpecError with line and column for a cell that is wrong.
)");
}

}  // namespace fabricost::python
