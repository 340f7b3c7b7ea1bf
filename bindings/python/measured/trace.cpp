/// \file trace.cpp
/// fc.read_trace: the collectives of a job from its traces, with predictions.

#include "bindings.hpp"
#include "face.hpp"

#include <fabricost/answers/trace.hpp>
#include <fabricost/explain/assumed.hpp>
#include <text/write_file.hpp>

#include <pybind11/numpy.h>

#include <limits>
#include <map>

namespace py = pybind11;

namespace fabricost {

[[nodiscard]] static std::string taken_text(const std::vector<TraceFile>& /*of*/) { return "_Path | Iterable[_Path]"; }
/// A path, or several. Found by ADL from face.hpp, like the one above.
static void from_object(py::handle given, std::string_view name, const Range&, std::vector<TraceFile>& out) {
  const auto add = [&](py::handle one) {
    out.push_back({python::path_of(one, name)});
    if (out.back().path.empty()) throw RequestError(fmt::format("{}: an empty path", name));
  };
  if (PyUnicode_Check(given.ptr()) != 0 || py::hasattr(given, "__fspath__")) return add(given);
  if (!py::isinstance<py::iterable>(given)) python::throw_type(name, "a path or a list of paths", given);
  for (const py::handle one : given) add(one);
}

namespace python {

namespace {

/// Numbers of rows as an array; absent ones are NaN.
template <class T, class Row, class Get>
[[nodiscard]] py::array_t<T> numbers_of(const std::vector<Row>& rows, const Get& get) {
  py::array_t<T> out(static_cast<py::ssize_t>(rows.size()));
  auto into = out.template mutable_unchecked<1>();
  for (std::size_t i = 0; i < rows.size(); ++i) into(static_cast<py::ssize_t>(i)) = static_cast<T>(get(rows[i]));
  return out;
}

/// Texts of rows as numbers, and the list of texts that they count.
template <class Row, class Get>
[[nodiscard]] py::tuple coded(const std::vector<Row>& rows, const Get& get) {
  std::map<std::string, int, std::less<>> codes;
  py::list words;
  const auto code = [&](const std::string& text) {
    const auto known = codes.find(text);
    if (known != codes.end()) return known->second;
    words.append(text);
    return codes.emplace(text, static_cast<int>(codes.size())).first->second;
  };
  py::array_t<std::int32_t> out = numbers_of<std::int32_t>(rows, [&](const Row& row) { return code(get(row)); });
  return py::make_tuple(out, words);
}

/// The rows of a report by column, for tables: an interval as two columns.
template <HasFields Row>
[[nodiscard]] py::dict table_of(const std::vector<Row>& rows) {
  py::dict out;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  for_each_field<Row>([&](const auto& field) {
    using T = typename std::remove_cvref_t<decltype(field)>::Value;
    const py::str name{field.name.data(), field.name.size()};
    const auto member = field.member;
    if constexpr (std::same_as<T, std::string>) {
      out[name] = coded(rows, [member](const Row& row) -> const std::string& { return row.*member; });
    } else if constexpr (std::same_as<T, std::optional<std::pair<double, double>>>) {
      out["low_seconds"] = numbers_of<double>(rows, [=](const Row& row) { return row.*member ? (row.*member)->first : none; });
      out["high_seconds"] = numbers_of<double>(rows, [=](const Row& row) { return row.*member ? (row.*member)->second : none; });
    } else if constexpr (std::same_as<T, std::optional<double>> || std::same_as<T, std::optional<int>>) {
      out[name] = numbers_of<double>(rows, [=](const Row& row) { return row.*member ? static_cast<double>(*(row.*member)) : none; });
    } else if constexpr (std::is_arithmetic_v<T>) {
      out[name] = numbers_of<T>(rows, [=](const Row& row) { return row.*member; });
    }
  });
  return out;
}

[[nodiscard]] py::object by_python(const char* function, const py::object& self, const std::string& what) {
  return py::module_::import("fabricost._tables").attr(function)(self.attr("_columns")(what));
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
  add_answer<TracedCollective>(module, "TracedCollective", "Calls of one operation, group and size in a job's traces, or one call.")
      .def("__repr__", [](const TracedCollective& c) {
        return fmt::format("{} x {} in group {}: {:.4g} s of wire, {}", c.count, c.operation, c.group, c.wire_seconds, c.verdict);
      });
  add_answer<TracedProcessGroup>(module, "TracedProcessGroup", "A process group of a traced job.")
      .def("__repr__", [](const TracedProcessGroup& g) { return fmt::format("group {}: {}, {} ranks", g.name, g.kind, g.size); });
  add_answer<TracedWait>(module, "TracedWait", "What one rank waited for another.").def("__repr__", [](const TracedWait& w) {
    return fmt::format("rank {} waits {:.4g} s for rank {}", w.rank, w.seconds, w.for_rank);
  });
  add_answer<TracedRank>(module, "TracedRank", "A rank's trace.").def("__repr__", [](const TracedRank& r) {
    return fmt::format("rank {}: last to {} calls", r.rank, r.calls_last);
  });
  add_answer<TracedChange>(module, "TracedChange", "What one change gives a replayed job.").def("__repr__", [](const TracedChange& c) {
    return fmt::format("{}: {:.4g} s, {:+.2f} %", c.change, c.step_seconds, 100 * c.gain);
  });
  add_answer<TraceReplay>(module, "TraceReplay", "A traced job on another machine, or without what held it up.")
      .def("__repr__", [](const TraceReplay& r) {
        return fmt::format("<TraceReplay on {}: {:.4g} s, {:.3g} times the traced step>", r.system, r.step_seconds, r.ratio);
      });
  add_answer<TracedAgainst>(module, "TracedAgainst", "A term of a traced step beside that of a plan.")
      .def("__repr__", [](const TracedAgainst& t) {
        return fmt::format("{}: {:.4g} s, planned {:.4g} s", t.name, t.run_seconds, t.plan_seconds);
      });
  add_answer<TraceSkipped>(module, "TraceSkipped", "Events of traces that were left out.").def("__repr__", [](const TraceSkipped& s) {
    return fmt::format("{} x {}", s.events, s.reason);
  });
  add_answer_of_rows(module, "TraceReport", "What a job's traces say: a sequence of its collectives, with all else. Made by read_trace.",
                     &TraceAnswer::collectives)
      .def("_columns", &columns_named, py::arg("what"), "Columns of a table: arrays, of texts with the words that they count.")
      .def(
          "to_pandas", [](const py::object& self, const std::string& what) { return by_python("to_pandas", self, what); },
          py::prepend(), py::arg("what") = "collectives",
          "to_pandas(self, what='collectives')\n--\n\nA pandas.DataFrame of the collectives, the waits, the ranks or the groups, made "
          "by column: texts are\ncategories, an interval is low_seconds and high_seconds. ImportError without pandas.")
      .def(
          "to_polars", [](const py::object& self, const std::string& what) { return by_python("to_polars", self, what); },
          py::arg("what") = "collectives",
          "to_polars(self, what='collectives')\n--\n\nThe same as a polars.DataFrame. ImportError without polars.")
      .def(
          "to_arrow", [](const py::object& self, const std::string& what) { return by_python("to_arrow", self, what); },
          py::arg("what") = "collectives",
          "to_arrow(self, what='collectives')\n--\n\nThe same as a pyarrow.Table. ImportError without pyarrow.")
      .def(
          "save_html", [](const TraceAnswer& a, const py::object& path) { io::write_file(path_of(path, "path"), page_of(a), "path"); },
          py::arg("path"),
          "save_html(self, path)\n--\n\nWrites one HTML page: tables, who waits for whom, a timeline; nothing is loaded from elsewhere.")
      .def(
          "save_perfetto",
          [](const TraceAnswer& a, const py::object& path) { io::write_file(path_of(path, "path"), perfetto_of(a), "path"); },
          py::arg("path"),
          "save_perfetto(self, path)\n--\n\nWrites a file for ui.perfetto.dev: for each group a track of what was measured and one of what "
          "was predicted.")
      .def("__repr__", [](const TraceAnswer& a) {
        return fmt::format("<TraceReport: {}, a step of {:.4g} s, {}>", counted(static_cast<double>(a.ranks.size()), "rank"),
                           a.step_seconds, counted(static_cast<double>(a.findings.size()), "finding"));
      });
  add_face<TraceRequest>(module, "read_trace", 1,
                         R"(Reads the traces of a job (PyTorch's profiler, one file a rank, packed or not, or a folder of them): which
groups there are, what moved in them, who waited for whom, and what the machine should take for it. A TraceReport.

The same call is matched across ranks, and the ranks' clocks are aligned by the ends of collectives. wire_seconds is
last start to last end; of a call that not all ranks of its group show, it is an upper bound, with their waiting.

Raises SpecError with file, line and remedy for a file that is no trace, RequestError for an unknown system.)",
                         "");
}

}  // namespace python
}  // namespace fabricost
