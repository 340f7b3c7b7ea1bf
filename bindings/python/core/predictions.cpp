/// Arrays of answers: seconds computed at once, the rest on demand.

#include "core/predictions.hpp"

#include "arguments.hpp"
#include "bindings.hpp"
#include "core/grid.hpp"
#include "fields.hpp"
#include "question.hpp"

#include <fabricost/predict/compile.hpp>
#include <fabricost/predict/complete.hpp>
#include <fabricost/predict/curve_threads.hpp>
#include <fabricost/predict/predict.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

/// Sizes that lie `stride` bytes of memory apart, as they lie where they are neighbours, else copied.
[[nodiscard]] std::span<const double> sizes_of(const char* bytes, std::int64_t stride, std::int64_t count, std::vector<double>& copy) {
  const auto size = static_cast<std::size_t>(count);
  if (stride == sizeof(double) && reinterpret_cast<std::uintptr_t>(bytes) % alignof(double) == 0)
    return {reinterpret_cast<const double*>(bytes), size};
  copy.resize(size);
  for (std::size_t i = 0; i < size; ++i) copy[i] = number_at<double>(bytes + static_cast<std::int64_t>(i) * stride);
  return copy;
}

[[noreturn]] void throw_bad_size(const Predictions& p, const Stretch& stretch, std::span<const double> sizes) {
  const std::size_t bad = first_bad_size(sizes);
  throw RequestError(fmt::format("bytes{}: {} is not between 0 and 10^18 bytes",
                                 place_text(p.shape, stretch.place(static_cast<std::int64_t>(bad))), sizes[bad]));
}

/// Seconds of the sizes of a stretch, put where they belong.
void evaluate_stretch(const Predictions& p, const Curve& curve, const Stretch& stretch, std::span<const double> sizes, int threads,
                      std::vector<double>& times, double* seconds, const LaunchCost& launched) {
  const bool in_place = stretch.at.empty();
  if (!in_place) times.resize(sizes.size());
  double* const to = in_place ? seconds + stretch.first : times.data();
  if (evaluate_some(curve, sizes, to, threads) < sizes.size()) throw_bad_size(p, stretch, sizes);
  if (launched.any()) std::transform(to, to + sizes.size(), to, [&](double gpu) { return launched(gpu); });
  if (in_place) return;
  double* const from = seconds + stretch.first;
  for (std::size_t i = 0; i < times.size(); ++i) from[stretch.at[i]] = times[i];
}

/// The element or the part that `key` selects, with NumPy's rules for keys.
[[nodiscard]] py::object selected(const Predictions& p, const py::object& key) {
  OperationRequest op = p.operation;
  const py::object seconds = p.seconds[key];
  const bool one = !py::isinstance<py::array>(seconds) || seconds.attr("ndim").cast<int>() == 0;
  const auto select = [&](py::object& field, auto set) {
    if (!field) return;
    const py::object part = stretched(field, p)[key];
    field = py::object{};
    if (one)
      set(part);
    else
      field = sealed(py::array(part));
  };
  select(op.bytes, [&](const py::object& v) { op.scalar.bytes = Bytes::from_value(v.cast<double>()); });
  select(op.ranks, [&](const py::object& v) { op.scalar.ranks = v.cast<int>(); });
  select(op.nodes, [&](const py::object& v) { op.scalar.nodes = v.cast<int>(); });
  op.axes = py::object{};  // which of them are left, NumPy's keys do not say
  const System& system = p.machine();
  if (one && p.choice.rule == Choice::Rule::nccl) return py::cast(answer_of(system, predict(system, op.scalar, p.choice)));
  if (one) {
    const Curve curve = compile_lines(system, op.scalar, p.choice);
    return py::cast(answer_of(system, answer_at(system, op.scalar, p.choice, curve, op.scalar.bytes.value())));
  }
  Predictions out{p.system, op, p.choice, {}, sealed(py::array(numpy().attr("ascontiguousarray")(seconds))), {}};
  for (py::ssize_t i = 0; i < out.seconds.ndim(); ++i) out.shape.push_back(out.seconds.shape(i));
  if (!op.has_arrays()) throw py::index_error("this index selects no element");
  return py::cast(std::move(out));
}

[[nodiscard]] std::string predictions_text(const Predictions& p) {
  const auto* const seconds = static_cast<const double*>(p.seconds.data());
  std::string range;
  if (p.size() > 0) {
    const auto [min, max] = std::minmax_element(seconds, seconds + p.size());
    range = fmt::format(": {:.4g} to {:.4g} us", *min * 1e6, *max * 1e6);
  }
  return fmt::format("<{} predictions of {} on {}, shape {}{}>", p.size(), name(p.operation.scalar.collective), p.machine().name,
                     py::str(py::tuple(py::cast(p.shape))).cast<std::string>(), range);
}

/// Pickles hold the question, the choice of what runs, and the seconds.
[[nodiscard]] py::tuple pickled(const Predictions& p) {
  return py::make_tuple(p.system, operation_object(p.operation), py::bytes(bytes_of(p.choice)), p.seconds);
}

[[nodiscard]] Predictions from_state(const py::tuple& s) {
  if (s.size() != 4) throw py::value_error("a pickle of another version of this class");
  const auto operation = s[1].cast<OperationRequest>();
  Predictions out{s[0], operation, value_of<Choice>(s[2].cast<std::string>()), broadcast_shape(operation), sealed(py::array(s[3])), {}};
  if (!out.has_shape_of_seconds()) throw py::value_error("the pickled seconds have another shape than the question");
  return out;
}

}  // namespace

std::int64_t Predictions::size() const {
  std::int64_t out = 1;
  for (const py::ssize_t count : shape) out *= count;
  return out;
}

bool Predictions::has_shape_of_seconds() const {
  return py::isinstance<py::array_t<double, py::array::c_style>>(seconds) && static_cast<std::size_t>(seconds.ndim()) == shape.size() &&
         std::equal(shape.begin(), shape.end(), seconds.shape());
}

py::array sealed(py::array array) {
  array.attr("flags").attr("writeable") = false;
  return array;
}

py::object stretched(const py::object& field, const Predictions& p) {
  return numpy().attr("broadcast_to")(field, py::tuple(py::cast(p.shape)));
}

Prediction answer_at(const System& system, const Operation& op, const Choice& choice, const Curve& curve, double bytes) {
  Operation one = op;
  one.bytes = Bytes::from_value(bytes);
  Prediction out =
      prediction_at(curve, system, one, choice, pieces_of(system, curve.fabric(), one, choice));
  if (choice.launch.mode >= LaunchMode::process) add_launches(out, system, choice.launch);
  return out;
}

const Curve& curve_of(PerShape<Curve>& curves, const Predictions& p, const System& system, const Operation& op, const Stretch& stretch) {
  constexpr std::int64_t pays_for_a_table = 64;
  return curves.of(op, [&](const Operation& one) {
    try {
      check_ranks(system, one);
      return stretch.count < pays_for_a_table ? compile_lines(system, one, p.choice) : compile(system, one, p.choice);
    } catch (const RequestError& error) {
      if (!p.operation.ranks && !p.operation.nodes) throw;
      throw RequestError(
          fmt::format("ranks {}, nodes {} at {}: {}", one.ranks, one.nodes, place_text(p.shape, stretch.place(0)), error.what()));
    }
  });
}

Predictions predict_all(py::object system, const OperationRequest& operation, const Choice& choice, int threads) {
  Predictions out{std::move(system), operation, choice, broadcast_shape(operation), {}, {}};
  if (!operation.bytes && std::isnan(operation.scalar.bytes.value()))
    throw RequestError("how much? Give the operation its bytes, as in AllReduce(bytes=256 * MiB)");
  py::array_t<double> seconds(out.shape);
  double* const to = seconds.mutable_data();
  const Grid grid = grid_of(operation, out.shape);
  const System& machine = out.machine();
  {
    const py::gil_scoped_release released;
    PerShape<Curve> curves;
    std::vector<double> gathered, times;
    for_each_stretch(grid, operation, out.shape, [&](const Stretch& stretch, const Operation& op) {
      const auto sizes = sizes_of(stretch.bytes, stretch.stride, stretch.count, gathered);
      const Curve& curve = curve_of(curves, out, machine, op, stretch);
      out.uses_nics = out.uses_nics || (curve.fabric().domains() > 1 && !is_host_copy(op));
      evaluate_stretch(out, curve, stretch, sizes, threads, times, to, {machine, curve.fabric(), op.collective, choice.launch});
    });
  }
  out.seconds = sealed(seconds);
  return out;
}

void add_predictions(py::module_& module) {
  PyClass<Predictions> type(
      module, "Predictions",
      "Answers to a question whose fields are arrays, shaped as they broadcast. An index gives a Prediction or, as NumPy\n"
      "does it, a part. seconds are there at once; the rest is worked out when it is asked for. Arrays cannot be written to.");
  add_columns(type);
  type.property("system", &Predictions::system, "The System they are for.", "System")
      .property(
          "operation", [](const Predictions& p) { return operation_object(p.operation); }, "The question, an Operation with arrays.",
          "Operation[Predictions]")
      .property(
          "shape", [](const Predictions& p) { return py::tuple(py::cast(p.shape)); }, "What the fields of the operation broadcast to.",
          "tuple[int, ...]")
      .property("size", &Predictions::size, "Number of predictions.")
      .property(
          "ndim", [](const Predictions& p) { return p.shape.size(); }, "Number of axes.")
      .property("seconds", &Predictions::seconds, "Times, s.", numbers_array)
      .def(
          "__len__", [](const Predictions& p) { return p.shape.front(); }, "Length of the first axis.")
      .def("__getitem__", &selected, "key"_a, "A Prediction, or Predictions of a part.")
      .def(
          "__iter__", [](const py::object& self) { return py::reinterpret_steal<py::object>(PySeqIter_New(self.ptr())); },
          "Along the first axis.")
      .def(
          "__eq__",
          [](const Predictions& a, const py::object& b) -> py::object {
            if (!py::isinstance<Predictions>(b)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
            return py::bool_(pickled(a)[py::slice(0, 3, 1)].equal(pickled(b.cast<const Predictions&>())[py::slice(0, 3, 1)]) &&
                             numpy().attr("array_equal")(a.seconds, b.cast<const Predictions&>().seconds).cast<bool>());
          },
          "other"_a, "Same machine, question, choice and seconds.")
      .def(
          "__copy__", [](const py::object& self) { return self; }, "Itself: it cannot be changed.")
      .def("__repr__", &predictions_text)
      .def(py::pickle(&pickled, &from_state))
      .attr("__hash__") = py::none();
  hint_at_names(type, names_in_json(fields_of<PredictAnswer>()));
}

}  // namespace fabricost::python
