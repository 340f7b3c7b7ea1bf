/// \file tuning.cpp
/// fc.tune: where NCCL's own choice of algorithm and protocol loses time, and a file for its tuner plugin.

#include "asked.hpp"
#include "bindings.hpp"
#include "machine.hpp"
#include "plain.hpp"

#include <cli/write_file.hpp>
#include <fabricost/tune/tune.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

[[nodiscard]] TuneReport tuned(const py::object& system, const py::object& nodes, const py::object& ranks, const py::object& dtype,
                               const py::object& operation) {
  if (!py::isinstance<System>(system)) throw_type("system", "a System", system);
  TuneOptions options{.ranks = count_of(ranks, "ranks"), .dtype = enum_of(dtype, "dtype", "a data type", parse_data_type, data_type_names)};
  if (PyLong_Check(nodes.ptr())) {
    if (const int one = count_of(nodes, "nodes"); one > 0) options.nodes.push_back(one);
  } else if (py::isinstance<py::iterable>(nodes) && !PyUnicode_Check(nodes.ptr()) && !PyBytes_Check(nodes.ptr())) {
    for (const py::handle one : nodes) options.nodes.push_back(count_of(one, "nodes", 1));
  } else {
    throw_type("nodes", "a whole number or a list of them", nodes);
  }
  if (!operation.is_none()) options.collective = enum_of(operation, "operation", "an operation", parse_collective, collective_names);
  const System& machine = system.cast<const System&>();
  const py::gil_scoped_release released;
  return tune(machine, options);
}

void add_range(py::module_& module) {
  py::class_<SlowRange> type(module, "SlowRange", "Sizes over which NCCL runs one pair and another is faster.");
  type.def_property_readonly(
          "operation", [](const SlowRange& r) { return name(r.collective); }, "As in `all_reduce`.")
      .def_readonly("nodes", &SlowRange::nodes, "Nodes that take part.")
      .def_readonly("ranks", &SlowRange::ranks, "GPUs that take part.")
      .def_readonly("first_bytes", &SlowRange::first, "Smallest size, byte, as nccl-tests counts it.")
      .def_readonly("last_bytes", &SlowRange::last, "Largest size, byte, included.")
      .def_property_readonly(
          "algorithm", [](const SlowRange& r) { return name(r.now.algorithm); }, "What NCCL picks.")
      .def_property_readonly(
          "protocol", [](const SlowRange& r) { return name(r.now.protocol); }, "Under what.")
      .def_property_readonly(
          "better_algorithm", [](const SlowRange& r) { return name(r.better.algorithm); }, "What is faster.")
      .def_property_readonly(
          "better_protocol", [](const SlowRange& r) { return name(r.better.protocol); }, "Under what.")
      .def_readonly("bytes", &SlowRange::bytes, "Size at which most time is lost, byte.")
      .def_readonly("seconds", &SlowRange::now_seconds, "NCCL's pair there, s.")
      .def_readonly("better_seconds", &SlowRange::better_seconds, "The better pair there, s.")
      .def_property_readonly("lost_seconds", &SlowRange::lost_seconds, "seconds - better_seconds.")
      .def_property_readonly("lost_share", &SlowRange::lost_share, "Share of NCCL's time that is lost: 1 - better_seconds / seconds.")
      .def_property_readonly("least_share", &SlowRange::least_share, "The share that nineteen in twenty measurements lose at least.")
      .def_readonly("sure", &SlowRange::sure, "The intervals leave no doubt.")
      .def_property_readonly(
          "basis", [](const SlowRange& r) { return name(r.basis); }, "The weaker of the two: calibrated, sibling or datasheet.")
      .def("__repr__", [](const SlowRange& r) {
        return fmt::format("{} over {} ranks, {:.0f} to {:.0f} B: {} {} loses {:.0f} % to {} {}{}", name(r.collective), r.ranks, r.first,
                           r.last, name(r.now.algorithm), name(r.now.protocol), 100 * r.lost_share(), name(r.better.algorithm),
                           name(r.better.protocol), r.sure ? "" : " (not sure)");
      });
  add_value_semantics(type);
}

[[nodiscard]] py::object frame_of(const TuneReport& report) {
  py::list rows;
  for (const SlowRange& r : report.ranges) {
    const py::object one = py::cast(r);
    py::dict row;
    for (const char* field : {"operation", "nodes", "ranks", "first_bytes", "last_bytes", "algorithm", "protocol", "better_algorithm",
                              "better_protocol", "bytes", "seconds", "better_seconds", "lost_share", "least_share", "sure", "basis"})
      row[field] = one.attr(field);
    rows.append(row);
  }
  return pandas().attr("DataFrame")(rows);
}

}  // namespace

void add_tuning(py::module_& module) {
  add_range(module);
  py::class_<TuneReport>(module, "Tuning", "Where NCCL's own choice is slower than another it could be made to run.")
      .def_readonly("system", &TuneReport::system, "Name of the machine.")
      .def_readonly("ranges", &TuneReport::ranges, "List of SlowRange: sure ones first, each by time lost.")
      .def_readonly("doubts", &TuneReport::doubts, "What keeps a whole question from being sure.")
      .def("config", &plugin_config,
           "config(self)\n--\n\nThe sure ranges as the CSV that NCCL's example tuner plugin reads (NVIDIA/nccl, ext-tuner/example).")
      .def(
          "save", [](const TuneReport& r, const py::object& path) { cli::write_file(path_of(path, "path"), plugin_config(r), "path"); },
          "path"_a, "save(self, path)\n--\n\nWrites config() to a file.")
      .def("to_pandas", &frame_of, "to_pandas(self)\n--\n\nA pandas.DataFrame with a row for each range.")
      .def(
          "__len__", [](const TuneReport& r) { return r.ranges.size(); }, "Number of ranges.")
      .def("__repr__", [](const TuneReport& r) {
        return fmt::format("<Tuning of {}: {} ranges, {} sure>", r.system, r.ranges.size(),
                           std::count_if(r.ranges.begin(), r.ranges.end(), [](const SlowRange& one) { return one.sure; }));
      });
  module.def("tune", &tuned, "system"_a, py::kw_only(), "nodes"_a = py::tuple(), "ranks"_a = 0, "dtype"_a = "half",
             "operation"_a = py::none(),
             R"(tune(system, *, nodes=(), ranks=0, dtype='half', operation=None)
--

Compares NCCL's choice with every pair it could be made to run, from 1 KiB to 8 GiB: a range is listed when log(t_now / t_better) > 0.05
and is sure when it exceeds the square root of both intervals' squares. A Tuning.

nodes: one or several; () for one node (or one scale-up domain). operation: one of all_reduce, all_gather, reduce_scatter, broadcast,
reduce; None for all.

Raises RequestError for an operation without a table, a library that takes no such orders, ranks that do not fit.

>>> import fabricost as fc
>>> found = fc.tune(fc.load_system("dgx-b200"), operation="all_reduce")
>>> all(r.better_seconds < r.seconds for r in found.ranges)
True
)");
}

}  // namespace fabricost::python
