/// Collectives that run at once: fc.Grouped and fc.share.

#include "answers/job_verdict.hpp"
#include "bindings.hpp"
#include "core/operations.hpp"
#include "question.hpp"

#include <fabricost/plan/answers/share.hpp>

namespace py = pybind11;

namespace fabricost::plan {

static void from_object(py::handle given, std::string_view name, const Range&, Over& out) {
  if (PyUnicode_Check(given.ptr()) == 0)
    out.size = python::whole(given, name);
  else if (out.axis = python::text(given, name); out.axis == "all")
    out.axis.clear();
}

/// {"tp": 8, "dp": None}, or the same as text: "tp=8,dp".
static void from_object(py::handle given, std::string_view name, const Range&, LayoutAxes& out) {
  if (PyUnicode_Check(given.ptr()) != 0) {
    out = layout_from(python::text(given, name), name);
    return;
  }
  if (PyDict_Check(given.ptr()) == 0) python::throw_type(name, "a dict of axis and size, as in {\"tp\": 8, \"dp\": None},", given);
  for (const auto& [axis, size] : py::reinterpret_borrow<py::dict>(given))
    out.axes.push_back({.name = python::text(axis, name), .size = size.is_none() ? 0 : python::whole(size, name)});
}

static void from_object(py::handle given, std::string_view name, const Range& range, std::vector<GroupedRequest>& out) {
  if (PyUnicode_Check(given.ptr()) != 0) {
    out.push_back(grouped_from(python::text(given, name)));
    return;
  }
  if (!py::isinstance<py::sequence>(given)) python::throw_type(name, "a list of Grouped", given);
  for (const py::handle one : given) {
    if (py::isinstance<GroupedRequest>(one))
      out.push_back(one.cast<const GroupedRequest&>());
    else if (py::isinstance<python::OperationRequest>(one))
      python::from_object(one, name, range, out.emplace_back().operation);
    else if (PyUnicode_Check(one.ptr()) != 0)
      out.push_back(grouped_from(python::text(one, name)));
    else
      python::throw_type(name, "a list of Grouped", one);
  }
  if (out.empty()) throw RequestError("collectives: which? As in [fc.Grouped(fc.AllReduce(bytes=2**30), over=\"dp\")]");
}

}  // namespace fabricost::plan

namespace fabricost::python {

void add_sharing(py::module_& module) {
  add_argument_type<Over>("Any");
  add_argument_type<LayoutAxes>("dict[str, int | None] | str");
  add_argument_type<std::vector<GroupedRequest>>("Sequence[Grouped | Operation | str]", false, &no_items);
  using G = GroupedRequest;
  const std::string doc = "One collective that every group of a machine runs, for share.\n\n" + lines_of(arguments_of<G>());
  PyClass<G>(module, "Grouped", doc.c_str())
      .def(py::init([](const py::args& args, const py::kwargs& kwargs) {
             return spelled_out([&] {
               if (args.empty() && !kwargs.contains("operation")) throw RequestError("operation: which? As in fc.AllReduce(bytes=2**30)");
               auto out = request_of<G>("Grouped", 1, args, kwargs);
               check(out);
               out.name = name_of(out);
               return out;
             });
           }),
           "__init__(self, operation, *, over=None, every=1, algorithm=None, protocol=None, weight=1.0, name=None)\n--\n\nArguments as the "
           "class says.")
      .property(
          "operation", [](const G& g) { return operation_object({.scalar = g.operation, .bytes = {}, .ranks = {}, .nodes = {}}); },
          "What each group runs.", "Operation")
      .property("name", &G::name, "For people, as in `all_reduce 1 GiB over dp`.")
      .property("every", &G::every, "From member to member.")
      .property("weight", &G::weight, "Its part of a link it shares.")
      .def("__repr__", [](const G& g) { return "Grouped: " + g.name; });
  add_answer<Sharer>(module, "Sharer", "Groups of one collective that cross a link.").def("__repr__", [](const Sharer& s) {
    return fmt::format("{} groups of {}", s.groups, s.name);
  });
  using S = SharedCollective;
  add_answer<S>(module, "SharedCollective",
                "One of the collectives that run at once: of its groups the one slowed down most. Made by share.")
      .def("__repr__", [](const S& s) {
        return fmt::format("{}: {:.4g} us alone, ends after {:.4g} us; wire slowed {:.2f} x while all run", s.name, s.alone.seconds * 1e6,
                           s.end.value() * 1e6, s.slow_down);
      });
  using R = ShareAnswer;
  add_answer_of_rows<R>(module, "SharedRun", "Collectives that run at once, in the order asked: `run[0]`, `for one in run`. Made by share.",
                        &R::collectives)
      .def("__repr__", [](const R& r) {
        std::string out = verdict_of(r);
        for (const S& s : r.collectives) out += "\n  " + repr_of(s);
        return out;
      });
  add_question<ShareRequest>(module, "share", 2,
                         R"(Collectives that run at once: how much each is slowed down, on which link and by whom, a SharedRun.

A collective is one flow that loads each link it crosses; flows share links max-min fairly; only wire time is slowed. end_seconds is until
it ends: links are shared anew whenever another ends. seconds is as long as all run: alone + (slow-down - 1) x wire terms.

collectives is a list of Grouped, of operations that all GPUs run, or of texts; layout a dict, {"tp": 8, "dp": None}, or text.)",
                         R"(Other Python threads run meanwhile.

>>> import fabricost as fc
>>> run = fc.share("aws-p4d", [fc.Grouped(fc.AllReduce(bytes=fc.GiB), over="dp")], nodes=8, layout={"tp": 8, "dp": None})
>>> run[0].groups, run[0].ranks, run[0].slow_down
(8, 8, 2.0)
)");
}

}  // namespace fabricost::python
