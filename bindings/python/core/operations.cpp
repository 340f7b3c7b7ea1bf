/// The request classes, one per collective, in the conventions of nccl-tests. Every number may be an array.

#include "core/operations.hpp"

#include "bindings.hpp"
#include "core/predictions.hpp"
#include "question.hpp"

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

/// Whether it is nothing, or one plain number; anything else fabricost/_given.py looks at.
[[nodiscard]] bool is_plain(const py::object& given) {
  PyObject* const object = given.ptr();
  return object == nullptr || PyFloat_Check(object) || PyLong_Check(object) || PyComplex_Check(object) || given.is_none();
}

[[nodiscard]] double size_of(const py::object& given) {
  if (given.is_none()) return std::numeric_limits<double>::quiet_NaN();
  const double bytes = number_of(given, "bytes");
  if (!(bytes >= 0 && bytes < max_bytes)) throw RequestError(fmt::format("bytes: {} is not between 0 and 10^18 bytes", bytes));
  return bytes;
}

/// Names of the arguments of a collective's class.
template <Collective C>
inline constexpr std::array<std::string_view, 4> argument_names_of{"bytes", "ranks", "nodes", "dtype"};
template <>
inline constexpr std::array<std::string_view, 3> argument_names_of<Collective::send_recv>{"bytes", "path", "ranks"};
/// Objects for them, null where nothing was given.
template <Collective C>
using GivenArguments = std::array<py::object, argument_names_of<C>.size()>;

[[nodiscard]] int usual_ranks(Path path) { return static_cast<Operation>(SendRecv{.path = path}).ranks; }

/// \throws TypeError, RequestError
template <Collective C>
[[nodiscard]] CollectiveRequest<C> collective_request(const GivenArguments<C>& given) {
  CollectiveRequest<C> out;
  out.scalar.collective = C;
  std::array<py::object, 3> fields{given[0], given[1], given[2]};  // bytes, ranks, nodes
  if constexpr (C == Collective::send_recv) {
    Path path = Path::gpu_gpu;
    if (given[1]) read_object(given[1], "path", path);
    out.scalar = SendRecv{.path = path};
    fields = {given[0], given[2], py::object{}};
  }
  if (!std::all_of(fields.begin(), fields.end(), is_plain)) {
    const auto or_none = [](const py::object& one) { return one ? one : py::none(); };
    const py::tuple found = by_python("_given", "operation", or_none(fields[0]), or_none(fields[1]), or_none(fields[2]));
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (fields[i]) fields[i] = found[i];
    if (!found[fields.size()].is_none()) out.axes = found[fields.size()];
  }
  const auto take = [](const py::object& one, py::object& array, auto read) {
    if (one && py::isinstance<py::array>(one))
      array = one;
    else if (one)
      read(one);
  };
  out.scalar.bytes = Bytes::from_value(std::numeric_limits<double>::quiet_NaN());
  take(fields[0], out.bytes, [&](const py::object& one) { out.scalar.bytes = Bytes::from_value(size_of(one)); });
  take(fields[1], out.ranks, [&](const py::object& one) { out.scalar.ranks = count_of(one, "ranks"); });
  take(fields[2], out.nodes, [&](const py::object& one) { out.scalar.nodes = count_of(one, "nodes"); });
  if constexpr (C != Collective::send_recv)
    if (given[3]) read_object(given[3], "dtype", out.scalar.dtype);
  return out;
}

template <Collective C>
[[nodiscard]] CollectiveRequest<C> collective_request_of(const py::args& args, const py::kwargs& kwargs) {
  std::array<py::handle, argument_names_of<C>.size()> given{};
  place_arguments(class_names[static_cast<std::size_t>(C)], argument_names_of<C>, C == Collective::send_recv ? 2 : 1, args, kwargs, given);
  GivenArguments<C> objects;
  for (std::size_t i = 0; i < given.size(); ++i) objects[i] = py::reinterpret_borrow<py::object>(given[i]);
  return collective_request<C>(objects);
}

/// The text of an array: "array of float64, shape (4, 1)".
[[nodiscard]] std::string shown(const py::object& array) {
  return fmt::format("<array of {}, shape {}>", py::str(array.attr("dtype")).cast<std::string>(),
                     py::str(array.attr("shape")).cast<std::string>());
}

/// A size as short as it can be written: 268435456, 1e+15, 0.5.
[[nodiscard]] std::string shown(const OperationRequest& op) {
  std::string out = class_names[static_cast<std::size_t>(op.scalar.collective)];
  const double bytes = op.scalar.bytes.value();
  out += op.bytes ? "(bytes=" + shown(op.bytes) : bytes >= 0 ? fmt::format("(bytes={}", bytes) : "(bytes=None";
  if (op.scalar.collective == Collective::send_recv) {
    const bool more = op.ranks || op.scalar.ranks != usual_ranks(op.scalar.path);
    const std::string ranks = !more ? "" : ", ranks=" + (op.ranks ? shown(op.ranks) : std::to_string(op.scalar.ranks));
    return out + fmt::format(", path='{}'{})", name(op.scalar.path), ranks);
  }
  if (op.ranks || op.scalar.ranks > 0) out += ", ranks=" + (op.ranks ? shown(op.ranks) : std::to_string(op.scalar.ranks));
  if (op.nodes || op.scalar.nodes > 0) out += ", nodes=" + (op.nodes ? shown(op.nodes) : std::to_string(op.scalar.nodes));
  return out + fmt::format(", dtype='{}')", name(op.scalar.dtype));
}

[[nodiscard]] py::object bytes_field(const OperationRequest& op) {
  if (op.bytes) return op.bytes;
  const double bytes = op.scalar.bytes.value();
  return bytes >= 0 ? py::object(py::float_(bytes)) : py::none();
}
[[nodiscard]] py::object ranks_field(const OperationRequest& op) { return op.ranks ? op.ranks : py::int_(op.scalar.ranks); }
[[nodiscard]] py::object nodes_field(const OperationRequest& op) { return op.nodes ? op.nodes : py::int_(op.scalar.nodes); }

[[nodiscard]] bool same(const py::object& a, const py::object& b) {
  if (!a || !b) return !a && !b;
  return numpy().attr("array_equal")(a, b).cast<bool>();
}
[[nodiscard]] bool same(const OperationRequest& a, const OperationRequest& b) {
  const double x = a.scalar.bytes.value(), y = b.scalar.bytes.value();
  return a.scalar.collective == b.scalar.collective && (x == y || (x != x && y != y)) && a.scalar.ranks == b.scalar.ranks &&
         a.scalar.nodes == b.scalar.nodes && a.scalar.dtype == b.scalar.dtype && a.scalar.path == b.scalar.path && same(a.bytes, b.bytes) &&
         same(a.ranks, b.ranks) && same(a.nodes, b.nodes);
}

/// The arguments that recreate the object, for pickling.
[[nodiscard]] py::tuple state_of(const OperationRequest& op) {
  const py::object axes = op.axes ? op.axes : py::none();
  if (op.scalar.collective == Collective::send_recv)
    return py::make_tuple(bytes_field(op), py::str(std::string{name(op.scalar.path)}), ranks_field(op), axes);
  return py::make_tuple(bytes_field(op), ranks_field(op), nodes_field(op), py::str(std::string{name(op.scalar.dtype)}), axes);
}

/// The class of an operation. \param signature of its __init__
template <Collective C>
void add_class(py::module_& module, const std::string& doc, const char* signature) {
  PyClass<CollectiveRequest<C>, OperationRequest>(module, class_names[static_cast<std::size_t>(C)], doc.c_str())
      .def(py::init(&collective_request_of<C>), signature)
      .def(py::pickle([](const CollectiveRequest<C>& op) { return state_of(op); },
                      [](const py::tuple& state) {
                        GivenArguments<C> given;
                        if (state.size() != given.size() + 1) throw py::value_error("a pickle of another version of this class");
                        for (std::size_t i = 0; i < given.size(); ++i) given[i] = state[i];
                        auto out = collective_request<C>(given);
                        if (!state[given.size()].is_none()) out.axes = state[given.size()];
                        return out;
                      }));
}

/// \param bytes the quantity that `bytes` counts; \param factor busbw / algbw over n ranks
template <Collective C>
void add_collective(py::module_& module, const char* what, const char* bytes, const char* factor) {
  const std::string doc = fmt::format(
      "{0}\n\n"
      "bytes: {1}; may be fractional, and is left out where a function brings sizes of its own.\n"
      "ranks: GPUs that take part; 0 for all of `nodes`.\n"
      "nodes: nodes they sit on; 0 for as few as hold the ranks.\n"
      "dtype: int8, half, bfloat16, fp8, float or double, or NumPy's and nccl-tests' names of them.\n\n"
      "Each number may be an array; arrays broadcast as NumPy's do, xarray's by name, and predict answers with Predictions. The operation\n"
      "keeps a copy. What has units (pint, astropy, ...) is converted to bytes, or refused; so are masked elements.\n\n"
      "algbw = bytes / seconds; busbw = algbw x {2} (NVIDIA/nccl-tests, doc/PERFORMANCE.md).\n\n"
      "Raises TypeError and RequestError, naming the field, for what is no such number.",
      what, bytes, factor);
  add_class<C>(module, doc, "__init__(self, bytes=None, *, ranks=0, nodes=0, dtype='half')\n--\n\nArguments as the class says.");
}

void add_operation(py::module_& module) {
  constexpr const char* counts = "int | NDArray[np.int64]";
  PyClass<OperationRequest>(module, "Operation", "A question: what moves, how much, over how many ranks. Made as AllReduce, AllGather, ...")
      .property(
          "collective", [](const OperationRequest& op) { return op.scalar.collective; }, "What the command calls it, as in `all_reduce`.")
      .property("bytes", &bytes_field, "Size as nccl-tests counts it, byte: a number, an array, or None.",
                "float | NDArray[np.float64] | None")
      .property("ranks", &ranks_field, "GPUs that take part; 0: all of the nodes. A number or an array.", counts)
      .property("nodes", &nodes_field, "Nodes they sit on; 0: as few as hold the ranks. A number or an array.", counts)
      .property(
          "dtype", [](const OperationRequest& op) { return op.scalar.dtype; }, "Element type.")
      .property(
          "path", [](const OperationRequest& op) { return op.scalar.path; }, "Which wires a send_recv uses; gpu-gpu for the rest.")
      .def(
          "__eq__",
          [](const OperationRequest& a, const py::object& b) -> py::object {
            if (!py::isinstance<OperationRequest>(b)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
            return py::bool_(same(a, b.cast<const OperationRequest&>()));
          },
          "other"_a, "Equal in every field; arrays as numpy.array_equal has it.")
      .def(
          "__hash__",
          [](const OperationRequest& op) {
            if (op.has_arrays()) throw py::type_error("an operation with arrays has no hash");
            return py::hash(py::make_tuple(py::str(std::string{name(op.scalar.collective)}), state_of(op)));
          },
          "Of every field. TypeError when one is an array.")
      .def(
          "__copy__", [](const py::object& self) { return self; }, "Itself: its fields cannot be changed.")
      .def("__repr__", [](const OperationRequest& op) { return shown(op); });
}

}  // namespace

const OperationRequest& GivenOperation::operation() const {
  if (!value) throw py::type_error("which operation? As in fc.AllReduce(bytes=256 * fc.MiB)");
  if (request == nullptr) throw_type("operation", "an Operation", value);
  return *request;
}

const Operation& OperationRequest::one() const {
  if (has_arrays()) throw RequestError("one question is wanted here, but bytes, ranks or nodes of the operation is an array");
  if (scalar.bytes.value() != scalar.bytes.value())
    throw RequestError("how much? Give the operation its bytes, as in AllReduce(bytes=256 * MiB)");
  return scalar;
}

py::object operation_object(const OperationRequest& request) {
  const auto as = [&]<Collective C>() { return py::cast(CollectiveRequest<C>{request}); };
  switch (request.scalar.collective) {
    case Collective::all_reduce: return as.operator()<Collective::all_reduce>();
    case Collective::all_gather: return as.operator()<Collective::all_gather>();
    case Collective::reduce_scatter: return as.operator()<Collective::reduce_scatter>();
    case Collective::broadcast: return as.operator()<Collective::broadcast>();
    case Collective::reduce: return as.operator()<Collective::reduce>();
    case Collective::all_to_all: return as.operator()<Collective::all_to_all>();
    case Collective::send_recv: break;
  }
  return as.operator()<Collective::send_recv>();
}

void add_operations(py::module_& module) {
  add_argument_type<GivenOperation>("Operation");
  py::tuple names(algorithm_names.size());
  for (std::size_t i = 0; i < algorithm_names.size(); ++i) names[i] = py::str(std::string{algorithm_names[i]});
  module.attr("_algorithm_names") = names;
  module.def("_bus_factor", [](const std::string& operation, int ranks) { return bus_factor(parse_collective(operation).value(), ranks); });
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
  add_class<Collective::send_recv>(module, R"(From one rank to another.

bytes: the buffer of one rank, a number of bytes or an array of them; left out where a function brings sizes of its own.
path: gpu-gpu over the scale-up tier, nic to another node; to-gpu, from-gpu, both-ways between a GPU and its host, gpu-host either way.
ranks: of the communicator; they set the channels of a peer, and all of them launch.

algbw = busbw = bytes / seconds.)",
                                   "__init__(self, bytes=None, path='gpu-gpu', *, ranks=2)\n--\n\nArguments as the class says.");
}

}  // namespace fabricost::python

void fabricost::python::from_object(py::handle given, std::string_view name, const Range&, GivenOperation& out) {
  out.value = given;
  out.request = python::held<python::OperationRequest>(given);
  if (out.request == nullptr && !py::isinstance<PredictAnswer>(given) && !py::isinstance<MoeAnswer>(given) &&
      !python::exchange_request(given))
    python::throw_type(name, "an Operation", given);
}

void fabricost::core::from_object(py::handle given, std::string_view name, const Range&, Inference& out) {
  out = engine_named(python::text(given, name), name);
}
