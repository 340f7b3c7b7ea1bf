/// fc.read_trace: the collectives of a job from its traces, with predictions.

#include "bindings.hpp"
#include "question.hpp"

#include <fabricost/observe/answers/trace.hpp>
#include <fabricost/explain/assumptions.hpp>

#include <pybind11/numpy.h>

#include <limits>

namespace py = pybind11;

namespace fabricost::observe {

/// A path, or several.
static void from_object(py::handle given, std::string_view name, const Range&, std::vector<TraceFile>& out) {
  const auto add = [&](py::handle one) { out.push_back({python::file_of(one, name)}); };
  if (python::is_path(given)) return add(given);
  if (!py::isinstance<py::iterable>(given)) python::throw_type(name, "a path or a list of paths", given);
  for (const py::handle one : given) add(one);
}

}  // namespace fabricost::observe

namespace fabricost::python {

namespace {

/// The rows of a report by column, for tables: texts with the words that they count, an interval as two columns, NaN where there is none.
[[nodiscard]] py::dict table_of(std::span<const Field> fields, const Rows& rows) {
  py::dict out;
  for (const Field& field : fields) {
    const ValueType& type = *field.type;
    const char* const name = field.name.data();
    const auto known = [&](auto of) {
      py::array_t<double> column(static_cast<py::ssize_t>(rows.count));
      for (std::size_t i = 0; i < rows.count; ++i) {
        const auto value = field.value(rows[i]);
        column.mutable_data()[i] = type.count(value.get()) == 0 ? std::numeric_limits<double>::quiet_NaN() : of(type.at(value.get(), 0));
      }
      return column;
    };
    const ValueType* const inner = type.kind == ValueKind::optional ? type.inner : nullptr;
    if (is_type<std::string>(type) && field.is_member()) {
      std::vector<std::string_view> texts;
      for (std::size_t i = 0; i < rows.count; ++i) texts.push_back(type.text(field.in(rows[i])));
      const CodedTexts all = coded(texts);
      out[name] = py::make_tuple(all.codes, all.texts);
    } else if (inner != nullptr && inner->kind == ValueKind::pair) {
      out["low_seconds"] = known([&](const void* interval) { return inner->inner->number(inner->at(interval, 0)); });
      out["high_seconds"] = known([&](const void* interval) { return inner->second->number(inner->at(interval, 1)); });
    } else if (inner != nullptr && (inner->kind == ValueKind::number || inner->kind == ValueKind::whole)) {
      out[name] = known([&](const void* value) { return inner->number(value); });
    } else if (type.kind <= ValueKind::number) {
      out[name] = column_of(field, rows);
    }
  }
  return out;
}
template <HasFields Row>
[[nodiscard]] py::dict table_of(const std::vector<Row>& rows) {
  return table_of(fields_of<Row>(), rows_of(rows));
}

/// A method that gives the columns of `what` as a table of fabricost/_tables.py.
[[nodiscard]] auto table_by(const char* function) {
  return
      [function](const py::object& self, const std::string& what) { return by_python("_tables", function, self.attr("_columns")(what)); };
}

/// \throws RequestError for another word
[[nodiscard]] py::dict columns_named(const TraceAnswer& a, const std::string& what) {
  if (what == "collectives") return table_of(a.collectives);
  if (what == "waits") return table_of(a.waits);
  if (what == "ranks") return table_of(a.ranks);
  if (what == "groups") return table_of(a.groups);
  throw RequestError(fmt::format("what: {}; take collectives, waits, ranks or groups", what));
}

}  // namespace

void add_trace(py::module_& module) {
  add_argument_type<std::vector<TraceFile>>("_Path | Iterable[_Path]", false, &no_items);
  add_answer<TracedCollective>(module, "TracedCollective", "Calls of one operation, group and size in a job's traces, or one call.")
      .def("__repr__", [](const TracedCollective& c) {
        return fmt::format("{} x {} in group {}: {:.4g} s of wire, {}", c.count, c.operation, c.group, c.wire.value(), c.verdict);
      });
  add_answer<TracedProcessGroup>(module, "TracedProcessGroup", "A process group of a traced job.")
      .def("__repr__", [](const TracedProcessGroup& g) { return fmt::format("group {}: {}, {} ranks", g.name, g.kind, g.size); });
  add_answer<TracedWait>(module, "TracedWait", "What one rank waited for another.").def("__repr__", [](const TracedWait& w) {
    return fmt::format("rank {} waits {:.4g} s for rank {}", w.rank, w.time.value(), w.for_rank);
  });
  add_answer<TracedRank>(module, "TracedRank", "A rank's trace.").def("__repr__", [](const TracedRank& r) {
    return fmt::format("rank {}: last to {} calls", r.rank, r.calls_last);
  });
  add_answer<TracedChange>(module, "TracedChange", "What one change gives a replayed job.").def("__repr__", [](const TracedChange& c) {
    return fmt::format("{}: {:.4g} s, {:+.2f} %", c.change, c.step.value(), 100 * c.gain);
  });
  add_answer<TraceReplay>(module, "TraceReplay", "A traced job on another machine, or without what held it up.")
      .def("__repr__", [](const TraceReplay& r) {
        return fmt::format("<TraceReplay on {}: {:.4g} s, {:.3g} times the traced step>", r.system, r.step.value(), r.ratio);
      });
  add_answer<TracedAgainst>(module, "TracedAgainst", "A term of a traced step beside that of a plan.")
      .def("__repr__", [](const TracedAgainst& t) {
        return fmt::format("{}: {:.4g} s, planned {:.4g} s", t.name, t.run.value(), t.plan.value());
      });
  add_answer<TraceSkipped>(module, "TraceSkipped", "Events of traces that were left out.").def("__repr__", [](const TraceSkipped& s) {
    return fmt::format("{} x {}", s.events, s.reason);
  });
  add_answer_of_rows(module, "TraceReport", "What a job's traces say: a sequence of its collectives, with all else. Made by read_trace.",
                     &TraceAnswer::collectives)
      .def("_columns", &columns_named, py::arg("what"), "Columns of a table: arrays, of texts with the words that they count.")
      .def("to_pandas", table_by("to_pandas"), py::prepend(), py::arg("what") = "collectives",
           "to_pandas(self, what='collectives')\n--\n\nA pandas.DataFrame of the collectives, the waits, the ranks or the groups, made "
           "by column: texts are\ncategories, an interval is low_seconds and high_seconds. ImportError without pandas.")
      .def("to_polars", table_by("to_polars"), py::arg("what") = "collectives",
           "to_polars(self, what='collectives')\n--\n\nThe same as a polars.DataFrame. ImportError without polars.")
      .def("to_arrow", table_by("to_arrow"), py::arg("what") = "collectives",
           "to_arrow(self, what='collectives')\n--\n\nThe same as a pyarrow.Table. ImportError without pyarrow.")
      .saves("save_html", &page_of,
             "save_html(self, path)\n--\n\nWrites one HTML page: tables, who waits for whom, a timeline; nothing is loaded from elsewhere.")
      .saves(
          "save_perfetto", &perfetto_of,
          "save_perfetto(self, path)\n--\n\nWrites a file for ui.perfetto.dev: for each group a track of what was measured and one of what "
          "was predicted.")
      .def("__repr__", [](const TraceAnswer& a) {
        return fmt::format("<TraceReport: {}, a step of {:.4g} s, {}>", counted(static_cast<double>(a.ranks.size()), "rank"),
                           a.step.value(), counted(static_cast<double>(a.findings.size()), "finding"));
      });
  add_question<TraceRequest>(module, "read_trace", 1,
                         R"(Reads the traces of a job (PyTorch's profiler, one file a rank, packed or not, or a folder of them): which
groups there are, what moved in them, who waited for whom, and what the machine should take for it. A TraceReport.

The same call is matched across ranks, and the ranks' clocks are aligned by the ends of collectives. wire_seconds is
last start to last end; of a call that not all ranks of its group show, it is an upper bound, with their waiting.

Raises SpecError with file, line and remedy for a file that is no trace, RequestError for an unknown system.)",
                         "");
}

}  // namespace fabricost::python
