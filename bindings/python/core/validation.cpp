/// fc.validate: the errors of predictions against measurements, as fractions |predicted / measured - 1|.

#include "bindings.hpp"
#include "copies.hpp"
#include "core/fitted_constants.hpp"
#include "core/operations.hpp"
#include "core/prediction_fields.hpp"
#include "core/samples.hpp"
#include "plain.hpp"
#include "question.hpp"

#include <fabricost/choice/nccl.hpp>
#include <fabricost/plan/evaluation/validate.hpp>

#include <fabricost/validation/set_aside.hpp>

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace fabricost::core {

// Found by fields.hpp.
static void pass_fields(python::FieldStream& stream, ValidationAnswer& answer) {
  python::pass(stream, static_cast<ErrorSummary&>(answer), answer.report);
}

}  // namespace fabricost::core

namespace fabricost::python {

/// The time that NCCL's tuner expects of its own choice; of what it has no table for, the bytes at its channels' rate.
[[nodiscard]] static double tuner_seconds(const ComparedPoint& p) {
  const Fabric& f = p.prediction.made_from.fabric;
  const TunerTable table = tuner_table(p.point.collective, f, is_byte_wide(p.point.dtype));
  const double bytes = p.point.bytes;
  if (table.rows.empty()) return 10e-6 + bytes * (f.ranks() - 1) / f.ranks() / f.planned_per_gpu;
  double min = std::numeric_limits<double>::infinity();
  for (const TunerRow& row : table.rows) min = std::min(min, table.believed(row, bytes));
  return min;
}

[[nodiscard]] static py::array compared_of(const ValidationAnswer& answer) {
  using P = ComparedPoint;
  const auto column = [&](auto get) { return column_of(answer.report.points, get); };
  std::vector<std::string> regimes;
  for (const P& p : answer.report.points) regimes.push_back(regime_of(p));
  return structured({{"operation", column([](const P& p) { return name(p.point.collective); })},
                     {"dtype", column([](const P& p) { return name(p.point.dtype); })},
                     {"bytes", column([](const P& p) { return p.point.bytes; })},
                     {"ranks", column([](const P& p) { return std::int32_t{p.point.ranks()}; })},
                     {"nodes", column([](const P& p) { return std::int32_t{p.point.nodes}; })},
                     {"measured_seconds", column([](const P& p) { return p.point.seconds; })},
                     {"predicted_seconds", column([](const P& p) { return p.prediction.seconds; })},
                     {"low_seconds", column([](const P& p) { return p.prediction.low; })},
                     {"high_seconds", column([](const P& p) { return p.prediction.high; })},
                     {"error", column([](const P& p) { return p.error(); })},
                     {"algorithm", column([](const P& p) { return p.prediction.algorithm.view(); })},
                     {"protocol", column([](const P& p) { return p.prediction.protocol.view(); })},
                     {"system", column([](const P& p) { return std::string_view{p.point.system.str()}; })},
                     {"library", column([](const P& p) { return std::string_view{p.point.library.str()}; })},
                     {"source", column([](const P& p) { return std::string_view{p.point.source.str()}; })},
                     {"regime", text_column({regimes.begin(), regimes.end()})},
                     {"own_kernel", column([](const P& p) { return p.prediction.ran.kernel != CollectiveKernel::library; })},
                     {"tuner_seconds", column(&tuner_seconds)},
                     {"link_bytes_per_second", column([](const P& p) { return p.prediction.made_from.fabric.inner_rate; })}});
}

[[nodiscard]] static std::string errors_text(const Errors& e) {
  return fmt::format("median error {:.2f} %, mean {:.2f} %", e.median_ape, e.mape);
}

[[nodiscard]] static py::array figures_of(const WorkloadsAnswer& answer) {
  using R = WorkloadRow;
  const auto column = [&](auto get) { return column_of(answer.report.rows, get); };
  const auto known = [&](auto get, bool interval = false) {  // NaN where the row has none
    return column(
        [=](const R& r) { return r.skipped.empty() && (!interval || r.high > 0) ? get(r) : std::numeric_limits<double>::quiet_NaN(); });
  };
  return structured({{"id", column(&R::id)},
                     {"group", column(&R::group)},
                     {"model", column(&R::model)},
                     {"metric", column(&R::metric)},
                     {"measured", column(&R::measured)},
                     {"predicted", known([](const R& r) { return r.predicted; })},
                     {"low", known([](const R& r) { return r.low; }, true)},
                     {"high", known([](const R& r) { return r.high; }, true)},
                     {"error", known([](const R& r) { return r.error(); })},
                     {"skipped", column(&R::skipped)}});
}

/// `validate` with constants that no file states.
struct ValidateCall : ValidateFilesRequest {
  FittedConstants constants;

  static RequestTable<ValidateCall> fields() {
    return {ValidateFilesRequest::fields(), asks(&ValidateCall::constants, "constants", "", "",
                                                 "What machines have instead of what is shipped: fits, their means, values")};
  }
};
[[nodiscard]] static auto answer(const ValidateCall& call) {
  ValidateFilesRequest request = call;
  request.adjust = call.constants.applied();
  return plan::answer(request);
}

void add_validation(py::module_& module) {
  add_answer<Errors>(module, "Errors", "How far predictions of some points are from measurements; shares, 0.05 for 5 %.")
      .def("__repr__", [](const Errors& e) {
        return fmt::format("{} points: {}, {:.0f} % within 10 %, {:.0f} % inside the interval", e.points, errors_text(e),
                           100 * e.within_10pct, 100 * e.interval_coverage);
      });
  auto type =
      add_report<ValidationAnswer>(module, "Validation", "Measured beside predicted. Errors are shares: |predicted / measured - 1|.");
  add_value_semantics(type);
  type.property("samples", &compared_of,
                "A structured array with a row for each merged point: bytes, measured_seconds, predicted_seconds, low_seconds,\n"
                "high_seconds, error (predicted / measured - 1), what ran, and who measured it.",
                records_array)
      .def(
          "to_pandas", [](const ValidationAnswer& v) { return frame_of(compared_of(v)); },
          "to_pandas(self)\n--\n\nsamples as a pandas.DataFrame.")
      .def(
          "__len__", [](const ValidationAnswer& v) { return v.report.points.size(); }, "Number of merged points.")
      .def("__repr__", [](const ValidationAnswer& v) {
        int rows = 0;
        for (const Skipped& s : v.report.skipped) rows += s.rows;
        return fmt::format("<Validation of {} points: {}, {} skipped>", v.points, errors_text(v), rows);
      });
  auto workloads = add_report<WorkloadsAnswer>(module, "WorkloadValidation",
                                               "Published results beside predictions. Errors are shares: |predicted / measured - 1|.");
  add_copies(workloads);
  workloads
      .property("rows", &figures_of,
                "A structured array with a row for each figure: id, group, model, metric, measured and predicted (in the same\n"
                "unit), low, high, error (predicted / measured - 1), skipped (why there is none, or nothing).",
                records_array)
      .def(
          "to_pandas", [](const WorkloadsAnswer& w) { return frame_of(figures_of(w)); },
          "to_pandas(self)\n--\n\nrows as a pandas.DataFrame.")
      .def(
          "__len__", [](const WorkloadsAnswer& w) { return w.report.rows.size(); }, "Number of rows.")
      .def("__repr__",
           [](const WorkloadsAnswer& w) { return fmt::format("<WorkloadValidation of {} figures: {}>", w.points, errors_text(w)); });
  add_argument_type<FittedConstants>("Sequence[Fit | FitMean | KernelFit | Mapping[str, float]]", false, &no_items);
  add_question<ValidateCall>(
      module, "validate", 1,
      R"(Predicts every measured point and says how far off: |predicted / measured - 1|, median, mean and by group; a Validation. Of
tables of kernels and of expert exchange a WorkloadValidation.

samples: what read_log returns, any structured array, mapping or DataFrame with columns bytes and seconds (and operation, ranks, nodes,
dtype, algorithm, ...), the path of a log or point CSV, or a list of those. Repeats are merged by their median unless raw.
system: a System prices all of them, whatever machine they name; a name is taken where the samples name none.
constants: what machines have instead of what is shipped, in this order: a Fit (its sets, of machines they are of), `mean` or
`mean_transport` of one, {"SET.NAME": value} in SI units; then KernelFits (of other generations as relatives).)",
      "Raises RequestError and SpecError as load_system and read_log; warns (FabricostWarning) of samples that a fit leaves out.",
      [](auto found) {
        if (const auto* const one = std::get_if<ValidationAnswer>(&found))
          for (const Skipped& doubted : one->report.untrustworthy)
            if (doubted.reason != name(Doubt::warm_up))
              warn(fmt::format("{} should not be fitted: {}", counted(doubted.rows, "sample"), doubted.reason));
        return found;
      });
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

Parameters
----------
*tables : path
    CSV files with the columns of tables of kernels (docs/reading-logs.md) or of expert exchange; fabricost.evaluation reads others.

Raises RequestError for a file that is none, SpecError with line and column for a cell that is wrong.
)");
}

}  // namespace fabricost::python
