/// \file workload_validation.cpp
/// fc.validate_workloads: published results of training, pipelines, kernels, experts, serving and failures beside their predictions.

#include "bindings.hpp"
#include "machine.hpp"
#include "samples.hpp"
#include "validation.hpp"

#include <fabricost/evaluation/workload.hpp>

#include <fmt/format.h>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

[[nodiscard]] py::array rows_of(const WorkloadReport& report) {
  std::vector<std::string_view> id, group, model, metric, skipped;
  std::vector<double> measured, predicted, low, high, error;
  for (const WorkloadRow& row : report.rows) {
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

[[nodiscard]] WorkloadReport validate_tables(const py::args& tables) {
  std::vector<std::filesystem::path> files;
  for (const py::handle& table : tables) files.emplace_back(path_of(table, "tables"));
  if (files.empty()) throw RequestError("tables: give the path of at least one table");
  const py::gil_scoped_release released;
  return validate_workloads(files);
}

}  // namespace

void add_workload_validation(py::module_& module) {
  using W = WorkloadReport;
  py::class_<W>(module, "WorkloadValidation", "Published results beside predictions. Errors are shares: |predicted / measured - 1|.")
      .def_property_readonly(
          "total", [](const W& w) { return w.total; }, "Errors over all rows that are fully specified and could be priced.")
      .def_property_readonly(
          "median_error", [](const W& w) { return w.total.median_ape / 100; }, "Median over them.")
      .def_property_readonly(
          "mean_error", [](const W& w) { return w.total.mape / 100; }, "Mean over them.")
      .def_property_readonly(
          "by_group", [](const W& w) { return errors_by_name(w.by_group); }, "Errors of each group of rows, by name.")
      .def_property_readonly(
          "memory_by_group", [](const W& w) { return errors_by_name(w.memory); }, "Errors of the peaks of memory that training rows state.")
      .def_readonly("layouts", &W::layouts, "Layouts that are stated with their recomputation: they ran, so they fit.")
      .def_readonly("unfit", &W::unfit, "The ids of those that are said not to fit.")
      .def_property_readonly(
          "skipped", [](const W& w) { return rows_by_reason(w.skipped); }, "Rows that could not be priced, by reason.")
      .def_property_readonly(
          "rows", &rows_of,
          "A structured array with a row for each figure: id, group, model, metric, measured and predicted (in the same\n"
          "unit), low, high, error (predicted / measured - 1), skipped (why there is none, or nothing).")
      .def(
          "to_pandas", [](const W& w) { return data_frame(rows_of(w)); }, "to_pandas(self)\n--\n\nrows as a pandas.DataFrame.")
      .def(
          "__len__", [](const W& w) { return w.rows.size(); }, "Number of rows.")
      .def("__repr__", [](const W& w) {
        return fmt::format("<WorkloadValidation of {} figures: median error {:.2f} %, mean {:.2f} %>", w.total.points, w.total.median_ape,
                           w.total.mape);
      });
  module.def("validate_workloads", &validate_tables, R"(validate_workloads(*tables)
--

Predicts every row of tables of published results and says how far off: |predicted / measured - 1|, a WorkloadValidation.

tables: paths of CSV files with the columns of training, pipeline, ops, inference, moe, reliability tables or of point files of expert
    kernels, known by their columns (docs/reading-logs.md).

Raises RequestError for a file that is none, SpecError with line and column for a cell that is wrong.
)");
}

}  // namespace fabricost::python
