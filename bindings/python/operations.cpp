/// \file operations.cpp
/// The questions: one small class per collective, in the conventions of nccl-tests.

#include "bindings.hpp"

#include <fabricost/error.hpp>
#include <fabricost/operation.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <limits>
#include <optional>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

/// A type of its own per collective, so that Python has a class of its own.
template <Collective C>
struct Asked : Operation {};

constexpr std::array<const char*, 7> class_names{"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "AllToAll", "SendRecv"};

/// No size (a sweep brings its own) is kept as not-a-number, which nothing else is.
[[nodiscard]] Bytes size_of(std::optional<double> bytes) {
  if (!bytes) return Bytes::from_value(std::numeric_limits<double>::quiet_NaN());
  if (!(*bytes >= 0 && *bytes < 1e18)) throw RequestError(fmt::format("bytes: {} is not between 0 and 10^18 bytes", *bytes));
  return Bytes::from_value(*bytes);
}

[[nodiscard]] int count(int value, std::string_view what) {
  if (value < 0) throw RequestError(fmt::format("{}: {} is negative; 0 leaves it to the machine", what, value));
  return value;
}

template <Collective C>
[[nodiscard]] Asked<C> ask(std::optional<double> bytes, int ranks, int nodes, const std::string& dtype) {
  return {{.collective = C,
           .bytes = size_of(bytes),
           .ranks = count(ranks, "ranks"),
           .nodes = count(nodes, "nodes"),
           .dtype = named(dtype, "a data type", parse_data_type, data_type_names)}};
}

[[nodiscard]] Asked<Collective::send_recv> ask_pair(std::optional<double> bytes, const std::string& path) {
  return {SendRecv{.bytes = size_of(bytes), .path = named(path, "a path", parse_path, path_names)}};
}

[[nodiscard]] std::string shown(const Operation& op) {
  std::string out = class_names[static_cast<std::size_t>(op.collective)];
  out += op.bytes.value() >= 0 ? fmt::format("(bytes={}", op.bytes.value()) : "(bytes=None";
  if (op.collective == Collective::send_recv) return out + fmt::format(", path='{}')", name(op.path));
  if (op.ranks > 0) out += fmt::format(", ranks={}", op.ranks);
  if (op.nodes > 0) out += fmt::format(", nodes={}", op.nodes);
  return out + fmt::format(", dtype='{}')", name(op.dtype));
}

/// \param bytes what `bytes` counts; \param factor busbw / algbw over n ranks
template <Collective C>
void add_collective(py::module_& module, const char* what, const char* bytes, const char* factor) {
  const char* const title = class_names[static_cast<std::size_t>(C)];
  const std::string doc = fmt::format(
      "{0}\n\n"
      "bytes: {1}; a number of bytes, left out for sweep.\n"
      "ranks: GPUs that take part; 0 for all of `nodes`.\n"
      "nodes: nodes they sit on; 0 for as few as hold the ranks.\n"
      "dtype: int8, half, bfloat16, fp8, float or double, or NumPy's and nccl-tests' names of them.\n\n"
      "algbw = bytes / seconds; busbw = algbw x {2}.",
      what, bytes, factor);
  py::class_<Asked<C>, Operation>(module, title, doc.c_str())
      .def(py::init(&ask<C>), "bytes"_a = py::none(), py::kw_only(), "ranks"_a = 0, "nodes"_a = 0, "dtype"_a = "half",
           "__init__(self, bytes=None, *, ranks=0, nodes=0, dtype='half')\n--\n\nArguments as the class says.");
}

void add_operation(py::module_& module) {
  py::class_<Operation>(module, "Operation", "A question: what moves, how much, over how many ranks. Made as AllReduce, AllGather, ...")
      .def_property_readonly(
          "collective", [](const Operation& op) { return name(op.collective); }, "all_reduce, all_gather, ..., send_recv")
      .def_property_readonly(
          "bytes", [](const Operation& op) { return op.bytes.value() >= 0 ? std::optional<double>{op.bytes.value()} : std::nullopt; },
          "Size in bytes as nccl-tests counts it; None where it was left out.")
      .def_readonly("ranks", &Operation::ranks, "GPUs asked for; 0: all of the nodes.")
      .def_readonly("nodes", &Operation::nodes, "Nodes asked for; 0: as few as hold the ranks.")
      .def_property_readonly(
          "dtype", [](const Operation& op) { return name(op.dtype); }, "Element type: int8, half, bfloat16, fp8, float or double.")
      .def_property_readonly(
          "path", [](const Operation& op) { return name(op.path); }, "Wires of a SendRecv: gpu-gpu, gpu-host or nic.")
      .def("__repr__", &shown);
}

}  // namespace

void add_operations(py::module_& module) {
  add_operation(module);
  constexpr const char* own = "the buffer of one rank";
  constexpr const char* held = "everything a rank holds at the start";
  add_collective<Collective::all_reduce>(module, "Every rank ends with the sum of all ranks' buffers.", own, "2 (n-1)/n");
  add_collective<Collective::all_gather>(module, "Every rank ends with the parts of all.",
                                         "everything a rank has at the end, n times its own part", "(n-1)/n");
  add_collective<Collective::reduce_scatter>(module, "Every rank ends with one part of the sum.", held, "(n-1)/n");
  add_collective<Collective::broadcast>(module, "One rank's buffer to all.", own, "1");
  add_collective<Collective::reduce>(module, "The sum of all ranks' buffers to one rank.", own, "1");
  add_collective<Collective::all_to_all>(module, "Every rank sends a part of its own to every other.", held, "(n-1)/n");
  py::class_<Asked<Collective::send_recv>, Operation>(module, "SendRecv",
                                                      R"(From one rank to another.

bytes: the buffer of one rank, a number of bytes; left out for sweep.
path: gpu-gpu over the scale-up tier, gpu-host between a GPU and its host, nic to another node.

algbw = busbw = bytes / seconds.)")
      .def(py::init(&ask_pair), "bytes"_a = py::none(), "path"_a = "gpu-gpu",
           "__init__(self, bytes=None, path='gpu-gpu')\n--\n\nArguments as the class says.");
}

}  // namespace fabricost::python
