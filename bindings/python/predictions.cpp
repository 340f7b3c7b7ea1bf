/// \file predictions.cpp
/// Arrays of answers: seconds at once, the rest when it is asked for.

#include "predictions.hpp"

#include "asked.hpp"
#include "bindings.hpp"
#include "choices.hpp"
#include "grid.hpp"

#include <fabricost/predict/curve_threads.hpp>
#include <fabricost/predict/predict.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

/// An array of float64 in C order that nobody writes to any more.
[[nodiscard]] py::array sealed(py::array array) {
  array.attr("flags").attr("writeable") = false;
  return array;
}

/// The curve of this element's ranks and nodes. \throws RequestError saying which element
[[nodiscard]] const Curve& curve_of(PerShape<Curve>& curves, const Predictions& p, const System& system, const Operation& op,
                                    std::int64_t at) {
  return curves.of(op, [&](const Operation& asked) {
    try {
      return compile(system, asked, p.choice);
    } catch (const RequestError& error) {
      if (!p.operation.ranks && !p.operation.nodes) throw;
      throw RequestError(fmt::format("ranks {}, nodes {} at {}: {}", asked.ranks, asked.nodes, place_text(p.shape, at), error.what()));
    }
  });
}

/// element(at, bytes, curve, operation) for each, other Python threads running meanwhile.
template <class Element>
void for_each_element(const Predictions& p, Element&& element) {
  const Grid grid = grid_of(p.operation, p.shape);
  const System& system = p.machine();
  const py::gil_scoped_release released;
  PerShape<Curve> curves;
  for_each_run(grid, p.operation, p.shape,
               [&](std::int64_t first, std::int64_t count, const char* bytes, std::int64_t stride, const Operation& op) {
                 const Curve& curve = curve_of(curves, p, system, op, first);
                 for (std::int64_t i = 0; i < count; ++i) element(first + i, number_at<double>(bytes + i * stride), curve, op);
               });
}

/// Sizes that lie `stride` bytes of memory apart, as they lie where they are neighbours, else copied.
[[nodiscard]] std::span<const double> sizes_of(const char* bytes, std::int64_t stride, std::int64_t count, std::vector<double>& copy) {
  const auto size = static_cast<std::size_t>(count);
  if (stride == sizeof(double) && reinterpret_cast<std::uintptr_t>(bytes) % alignof(double) == 0)
    return {reinterpret_cast<const double*>(bytes), size};
  copy.resize(size);
  for (std::size_t i = 0; i < size; ++i) copy[i] = number_at<double>(bytes + static_cast<std::int64_t>(i) * stride);
  return copy;
}

[[noreturn]] void throw_bad_size(const Predictions& p, std::span<const double> sizes, std::int64_t first) {
  const std::size_t bad = fabricost::detail::first_bad_size(sizes);
  throw RequestError(
      fmt::format("bytes{}: {} is not between 0 and 10^18 bytes", place_text(p.shape, first + static_cast<std::int64_t>(bad)), sizes[bad]));
}

[[nodiscard]] py::array_t<double> empty_like(const Predictions& p) { return py::array_t<double>(p.shape); }

/// What was worked out before under this name, or `make()`, kept.
template <class Make>
[[nodiscard]] py::object kept(Predictions& p, const char* name, Make&& make) {
  if (!p.kept.contains(name)) p.kept[name] = make();
  return p.kept[name];
}

/// Names as an array of text as wide as its longest. \param name_of (bytes, curve, operation) to a Label
template <class NameOf>
[[nodiscard]] py::array names_array(const Predictions& p, NameOf&& name_of) {
  std::vector<unsigned char> codes(static_cast<std::size_t>(p.size()));
  std::vector<Label> labels;
  for_each_element(p, [&](std::int64_t at, double bytes, const Curve& curve, const Operation& op) {
    const Label label = name_of(bytes, curve, op);
    const auto found = std::find(labels.begin(), labels.end(), label);
    codes[static_cast<std::size_t>(at)] = static_cast<unsigned char>(found - labels.begin());
    if (found == labels.end()) labels.push_back(label);
  });
  std::size_t width = 1;
  for (const Label& label : labels) width = std::max(width, label.view().size());
  std::vector<char32_t> wide(labels.size() * width, U'\0');  // names are ASCII
  for (std::size_t i = 0; i < labels.size(); ++i)
    std::copy(labels[i].view().begin(), labels[i].view().end(), wide.begin() + static_cast<std::ptrdiff_t>(i * width));
  py::array out(py::dtype(fmt::format("=U{}", width)), p.shape);
  auto* to = static_cast<char32_t*>(out.mutable_data());
  {
    const py::gil_scoped_release released;
    for (const unsigned char code : codes) to = std::copy_n(wide.begin() + static_cast<std::ptrdiff_t>(code * width), width, to);
  }
  return sealed(out);
}

[[nodiscard]] py::object algorithms(Predictions& p) {
  return kept(p, "algorithm", [&] {
    return names_array(p, [](double bytes, const Curve& curve, const Operation&) {
      return fabricost::detail::algorithm_labels[static_cast<std::size_t>(curve.ran(bytes).algorithm)];
    });
  });
}

[[nodiscard]] py::object protocols(Predictions& p) {
  return kept(p, "protocol", [&] {
    return names_array(p, [](double bytes, const Curve& curve, const Operation&) {
      return fabricost::detail::protocol_labels[static_cast<std::size_t>(curve.ran(bytes).protocol)];
    });
  });
}

/// The whole answer at one size of a curve.
[[nodiscard]] Prediction answer(const System& system, const Operation& op, const Choice& choice, const Curve& curve, double bytes) {
  Operation one = op;
  one.bytes = Bytes::from_value(bytes);
  return fabricost::detail::finish(system, one, curve.fabric(), curve.ran(bytes), curve.line(bytes),
                                   fabricost::detail::decided_by_price(system, op, choice));
}

[[nodiscard]] py::object bottlenecks(Predictions& p) {
  return kept(p, "bottleneck", [&] {
    const System& system = p.machine();
    return names_array(p, [&](double bytes, const Curve& curve, const Operation& op) {
      return answer(system, op, p.choice, curve, bytes).bottleneck().tier;
    });
  });
}

/// Both ends of the intervals.
[[nodiscard]] py::object interval(Predictions& p) {
  return kept(p, "interval", [&] {
    py::array_t<double> low = empty_like(p), high = empty_like(p);
    double *to_low = low.mutable_data(), *to_high = high.mutable_data();
    const System& system = p.machine();
    for_each_element(p, [&](std::int64_t at, double bytes, const Curve& curve, const Operation& op) {
      const Prediction one = answer(system, op, p.choice, curve, bytes);
      to_low[at] = one.low;
      to_high[at] = one.high;
    });
    return py::make_tuple(sealed(low), sealed(high));
  });
}

/// bytes / seconds, by the bus factor where asked for.
[[nodiscard]] py::array rates(const Predictions& p, bool bus) {
  py::array_t<double> out = empty_like(p);
  double* const to = out.mutable_data();
  const auto* const seconds = static_cast<const double*>(p.seconds.data());
  const Grid grid = grid_of(p.operation, p.shape);
  const System& system = p.machine();
  const py::gil_scoped_release released;
  PerShape<double> factors;
  for_each_run(grid, p.operation, p.shape,
               [&](std::int64_t first, std::int64_t count, const char* bytes, std::int64_t stride, const Operation& op) {
                 const double factor = !bus ? 1 : factors.of(op, [&](const Operation& asked) {
                   return bus_factor(asked.collective, static_cast<int>(fabric_of(system, asked).ranks()));
                 });
                 for (std::int64_t i = 0; i < count; ++i)
                   to[first + i] = number_at<double>(bytes + i * stride) / seconds[first + i] * factor;
               });
  return out;
}

/// One field, stretched over the shape without a copy.
[[nodiscard]] py::object stretched(const py::object& field, const Predictions& p) {
  return numpy().attr("broadcast_to")(field, py::tuple(py::cast(p.shape)));
}

/// The element or the part that `key` selects, with NumPy's rules for keys.
[[nodiscard]] py::object selected(const Predictions& p, const py::object& key) {
  AskedOperation op = p.operation;
  const py::object seconds = p.seconds[key];
  const bool one = !py::isinstance<py::array>(seconds) || seconds.attr("ndim").cast<int>() == 0;
  const auto select = [&](py::object& field, auto set) {
    if (!field) return;
    const py::object part = stretched(field, p)[key];
    field = py::object{};
    if (one)
      set(part);
    else
      field = part;
  };
  select(op.bytes, [&](const py::object& v) { op.scalar.bytes = Bytes::from_value(v.cast<double>()); });
  select(op.ranks, [&](const py::object& v) { op.scalar.ranks = v.cast<int>(); });
  select(op.nodes, [&](const py::object& v) { op.scalar.nodes = v.cast<int>(); });
  const System& system = p.machine();
  if (one && p.choice.rule == Choice::Rule::nccl) return py::cast(predict(system, op.scalar, p.choice));
  if (one)
    return py::cast(
        answer(system, op.scalar, p.choice, fabricost::detail::compile_lines(system, op.scalar, p.choice), op.scalar.bytes.value()));
  Predictions out{p.system, op, p.choice, {}, sealed(py::array(numpy().attr("ascontiguousarray")(seconds))), {}};
  for (py::ssize_t i = 0; i < out.seconds.ndim(); ++i) out.shape.push_back(out.seconds.shape(i));
  if (!op.has_arrays()) throw py::index_error("this index selects no element");
  return py::cast(std::move(out));
}

[[nodiscard]] py::object data_frame_of(const py::object& self) {
  Predictions& p = self.cast<Predictions&>();
  py::dict columns;
  const auto flat = [](const py::object& array) { return array.attr("reshape")(-1); };
  const py::object op = operation_object(p.operation);
  for (const char* name : {"bytes", "ranks", "nodes"}) columns[name] = flat(stretched(op.attr(name), p));
  for (const char* name : {"seconds", "low_seconds", "high_seconds", "algorithm_bytes_per_second", "bus_bytes_per_second", "algorithm",
                           "protocol", "bottleneck"})
    columns[name] = flat(self.attr(name));
  return py::module_::import("pandas").attr("DataFrame")(columns);
}

[[nodiscard]] std::string predictions_text(const Predictions& p) {
  const auto* const seconds = static_cast<const double*>(p.seconds.data());
  std::string range;
  if (p.size() > 0) {
    const auto [least, most] = std::minmax_element(seconds, seconds + p.size());
    range = fmt::format(": {:.4g} to {:.4g} us", *least * 1e6, *most * 1e6);
  }
  return fmt::format("<{} predictions of {} on {}, shape {}{}>", p.size(), name(p.operation.scalar.collective), p.machine().name,
                     py::str(py::tuple(py::cast(p.shape))).cast<std::string>(), range);
}

/// Pickles hold the question, what was to run, and the seconds.
[[nodiscard]] py::tuple pickled(const Predictions& p) {
  const auto or_none = [](const auto& chosen) { return chosen ? py::object(py::str(std::string{name(*chosen)})) : py::none(); };
  return py::make_tuple(p.system, operation_object(p.operation), or_none(p.choice.algorithm), or_none(p.choice.protocol),
                        py::str(std::string{rule_names[static_cast<std::size_t>(p.choice.rule)]}), p.seconds);
}

[[nodiscard]] Predictions from_state(const py::tuple& s) {
  const auto operation = s[1].cast<AskedOperation>();
  Predictions out{s[0], operation, choice_of(s[2], s[3], s[4]), broadcast_shape(operation), sealed(py::array(s[5])), {}};
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

Predictions predict_all(py::object system, const AskedOperation& operation, const Choice& choice, int threads) {
  Predictions out{std::move(system), operation, choice, broadcast_shape(operation), {}, {}};
  if (!operation.bytes && std::isnan(operation.scalar.bytes.value()))
    throw RequestError("how much? Give the operation its bytes, as in AllReduce(bytes=256 * MiB)");
  py::array_t<double> seconds = empty_like(out);
  double* const to = seconds.mutable_data();
  const Grid grid = grid_of(operation, out.shape);
  const System& machine = out.machine();
  {
    const py::gil_scoped_release released;
    PerShape<Curve> curves;
    std::vector<double> gathered;
    for_each_run(grid, operation, out.shape,
                 [&](std::int64_t first, std::int64_t count, const char* bytes, std::int64_t stride, const Operation& op) {
                   const auto sizes = sizes_of(bytes, stride, count, gathered);
                   const std::size_t done =
                       fabricost::detail::evaluate_some(curve_of(curves, out, machine, op, first), sizes, to + first, threads);
                   if (done < sizes.size()) throw_bad_size(out, sizes, first);
                 });
  }
  out.seconds = sealed(seconds);
  return out;
}

void add_predictions(py::module_& module) {
  py::class_<Predictions>(
      module, "Predictions",
      "Answers to a question whose fields are arrays, shaped as they broadcast. An index gives a Prediction or, as NumPy\n"
      "does it, a part. seconds are there at once; the rest is worked out when it is asked for. Arrays cannot be written to.")
      .def_readonly("system", &Predictions::system, "The System they are for.")
      .def_property_readonly(
          "operation", [](const Predictions& p) { return operation_object(p.operation); }, "The question, an Operation with arrays.")
      .def_property_readonly(
          "shape", [](const Predictions& p) { return py::tuple(py::cast(p.shape)); }, "What the fields of the operation broadcast to.")
      .def_property_readonly("size", &Predictions::size, "Number of predictions.")
      .def_property_readonly(
          "ndim", [](const Predictions& p) { return p.shape.size(); }, "Number of axes.")
      .def_readonly("seconds", &Predictions::seconds, "Times, s.")
      .def_property_readonly(
          "bytes", [](const Predictions& p) { return stretched(operation_object(p.operation).attr("bytes"), p); }, "Sizes, byte.")
      .def_property_readonly(
          "algorithm_bytes_per_second", [](const Predictions& p) { return rates(p, false); }, "algbw = bytes / seconds, byte/s.")
      .def_property_readonly(
          "bus_bytes_per_second", [](const Predictions& p) { return rates(p, true); },
          "busbw, byte/s: algbw x 2(n-1)/n for all_reduce, x (n-1)/n for all_gather, reduce_scatter and all_to_all, x 1 for the rest.")
      .def_property_readonly(
          "low_seconds", [](Predictions& p) { return py::object(interval(p)[py::int_(0)]); }, "Lower ends of the intervals, s.")
      .def_property_readonly(
          "high_seconds", [](Predictions& p) { return py::object(interval(p)[py::int_(1)]); },
          "Upper ends, s: nine in ten measurements fall between low and high.")
      .def_property_readonly("algorithm", &algorithms, "What runs, as in `ring`: an array of text.")
      .def_property_readonly("protocol", &protocols, "What it runs under: ll, ll128 or simple.")
      .def_property_readonly("bottleneck", &bottlenecks, "Name of the tier of the largest term.")
      .def("to_pandas", &data_frame_of,
           "to_pandas(self)\n--\n\nA pandas.DataFrame with a row for each prediction in C order; columns are named as the fields here.")
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
            return py::bool_(pickled(a)[py::slice(0, 5, 1)].equal(pickled(b.cast<const Predictions&>())[py::slice(0, 5, 1)]) &&
                             numpy().attr("array_equal")(a.seconds, b.cast<const Predictions&>().seconds).cast<bool>());
          },
          "other"_a, "Same machine, question, choice and seconds.")
      .def(
          "__copy__", [](const py::object& self) { return self; }, "Itself: it cannot be changed.")
      .def("__repr__", &predictions_text)
      .def(py::pickle(&pickled, &from_state))
      .attr("__hash__") = py::none();
}

}  // namespace fabricost::python
