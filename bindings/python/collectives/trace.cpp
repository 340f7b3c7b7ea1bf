/// \file trace.cpp
/// fc.read_trace: what a job's traces say of its collectives, with predictions beside.

#include "bindings.hpp"
#include "face.hpp"

#include <fabricost/answers/trace.hpp>
#include <fabricost/explain/assumed.hpp>

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
  add_answer<TraceSkipped>(module, "TraceSkipped", "Events of traces that were left out.").def("__repr__", [](const TraceSkipped& s) {
    return fmt::format("{} x {}", s.events, s.reason);
  });
  add_answer_of_rows(module, "TraceReport", "What a job's traces say: a sequence of its collectives, with all else. Made by read_trace.",
                     &TraceAnswer::collectives)
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
