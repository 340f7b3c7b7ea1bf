/// \file predict.cpp
/// Answers: one question, many sizes of one question, and why.

#include "bindings.hpp"

#include <fabricost/io/explain.hpp>
#include <fabricost/predict/predict.hpp>

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cmath>
#include <optional>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

using Name = std::optional<std::string>;
constexpr std::array<std::string_view, 2> rule_names{"nccl", "fastest"};

[[nodiscard]] Choice choice_of(const Name& algorithm, const Name& protocol, const std::string& rule) {
  Choice out;
  out.rule = named(
      rule, "a choice", [](std::string_view text) { return detail::parse_enum<Choice::Rule>(text, rule_names); }, rule_names);
  if (algorithm) out.algorithm = named(*algorithm, "an algorithm", parse_algorithm, algorithm_names);
  if (protocol) out.protocol = named(*protocol, "a protocol", parse_protocol, protocol_names);
  return out;
}

void check_sized(const Operation& op) {
  if (std::isnan(op.bytes.value())) throw RequestError("how much? Give the operation its bytes, as in AllReduce(bytes=256 * MiB)");
}

[[nodiscard]] Prediction predict_one(const System& system, const Operation& op, const Name& algorithm, const Name& protocol,
                                     const std::string& rule) {
  check_sized(op);
  return predict(system, op, choice_of(algorithm, protocol, rule));
}

[[nodiscard]] std::string explain_one(const System& system, const Operation& op, const Name& algorithm, const Name& protocol,
                                      const std::string& rule) {
  check_sized(op);
  return explain(system, op, choice_of(algorithm, protocol, rule));
}

using Doubles = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// Whole or real numbers of any width; text, flags and complex numbers are no sizes.
[[nodiscard]] Doubles sizes_of(const py::object& given) {
  const py::array array = py::array::ensure(given);
  if (!array) throw py::type_error("sizes: not an array of numbers (bytes)");
  const char kind = array.dtype().kind();
  if (kind != 'i' && kind != 'u' && kind != 'f')
    throw py::type_error("sizes: numbers of bytes are wanted, not " +
                         py::str(static_cast<const py::object&>(array.dtype())).cast<std::string>());
  return Doubles(array);
}

[[nodiscard]] py::array_t<double> sweep_sizes(const System& system, const Operation& op, const py::object& given, const Name& algorithm,
                                              const Name& protocol, const std::string& rule) {
  const Doubles sizes = sizes_of(given);
  const Choice choice = choice_of(algorithm, protocol, rule);
  py::array_t<double> seconds(std::vector<py::ssize_t>(sizes.shape(), sizes.shape() + sizes.ndim()));
  const std::span<const double> in{sizes.data(), static_cast<std::size_t>(sizes.size())};
  double* out = seconds.mutable_data();
  const py::gil_scoped_release released;
  const Curve curve = compile(system, op, choice);
  for (const double bytes : in) {
    if (!(bytes >= 0 && bytes < 1e18)) throw RequestError(fmt::format("sizes: {} is not between 0 and 10^18 bytes", bytes));
    *out++ = curve(bytes);
  }
  return seconds;
}

void add_term(py::module_& module) {
  py::class_<Term>(module, "Term", "One contribution to a predicted time.")
      .def_property_readonly(
          "name", [](const Term& t) { return t.name.view(); },
          "launch, serial steps, protocol floor, latency growth, wire or local copies.")
      .def_property_readonly(
          "tier", [](const Term& t) { return t.tier.view(); }, "Name of the tier it is spent in; `gpu` for the launch.")
      .def_property_readonly(
          "seconds", [](const Term& t) { return t.time.value(); }, "Its share of the time, s.")
      .def("__repr__", [](const Term& t) { return fmt::format("{} ({}): {:.4g} us", t.name.view(), t.tier.view(), t.time.value() * 1e6); });
}

[[nodiscard]] std::vector<std::string> extrapolated(const Prediction& p) {
  std::vector<std::string> out;
  if (p.extrapolated.sizes) out.emplace_back("sizes");
  if (p.extrapolated.ranks) out.emplace_back("ranks");
  if (p.extrapolated.nodes) out.emplace_back("nodes");
  return out;
}

void add_prediction(py::module_& module) {
  py::class_<Prediction>(module, "Prediction",
                         "How long, what ran, the terms that sum to the time, what binds and how sure. str() is a table.")
      .def_readonly("seconds", &Prediction::seconds, "The time, s: the sum of terms[i].seconds.")
      .def_readonly("ranks", &Prediction::ranks, "GPUs that took part.")
      .def_readonly("nodes", &Prediction::nodes, "Nodes they sit on.")
      .def_property_readonly(
          "algorithm", [](const Prediction& p) { return p.algorithm.view(); }, "What ran, as in `ring`, `tree`, `nvls`.")
      .def_property_readonly(
          "protocol", [](const Prediction& p) { return p.protocol.view(); }, "What it ran under: ll, ll128 or simple.")
      .def_property_readonly(
          "algorithm_bytes_per_second", [](const Prediction& p) { return p.algorithm_bandwidth().value(); },
          "algbw = bytes / seconds, byte/s.")
      .def_property_readonly(
          "bus_bytes_per_second", [](const Prediction& p) { return p.bus_bandwidth().value(); },
          "busbw, byte/s: algbw x 2(n-1)/n for all_reduce, x (n-1)/n for all_gather, reduce_scatter and all_to_all, x 1 for the rest.")
      .def_property_readonly(
          "terms", [](const Prediction& p) { return std::vector<Term>(p.terms.begin(), p.terms.end()); }, "List of Term.")
      .def_property_readonly(
          "bottleneck", [](const Prediction& p) { return p.bottleneck(); }, "The largest Term.")
      .def_property_readonly(
          "basis", [](const Prediction& p) { return name(p.basis); },
          "What the constants rest on: calibrated (runs on this machine), sibling (on one like it) or datasheet.")
      .def_property_readonly("extrapolated", &extrapolated, "Which of sizes, ranks, nodes lie outside what was measured.")
      .def_property_readonly(
          "interval_seconds", [](const Prediction& p) { return py::make_tuple(p.low, p.high); },
          "(low, high), s: nine in ten measurements fall between; low = seconds / w, high = seconds x w.")
      .def("__str__", [](const Prediction& p) { return explain(p); })
      .def("__repr__", [](const Prediction& p) {
        return fmt::format("{}: {:.4g} us over {} ranks on {} nodes, {} {}, mostly {}", name(p.operation.collective), p.seconds * 1e6,
                           p.ranks, p.nodes, p.algorithm.view(), p.protocol.view(), p.bottleneck().tier.view());
      });
}

}  // namespace

void add_predict(py::module_& module) {
  add_term(module);
  add_prediction(module);
  const auto add = [&module](const char* name, auto function, const char* doc, auto... more) {
    module.def(name, function, "system"_a, "operation"_a, more..., py::kw_only(), "algorithm"_a = py::none(), "protocol"_a = py::none(),
               "choice"_a = "nccl", doc);
  };
  add("predict", &predict_one, R"(predict(system, operation, *, algorithm=None, protocol=None, choice='nccl')
--

Time of one operation, a Prediction: seconds = sum of its terms' seconds.

algorithm, protocol: force one, as NCCL_ALGO and NCCL_PROTO do.
choice: 'nccl' runs what NCCL's tuner picks, 'fastest' what has the lowest predicted time.

Raises RequestError when the ranks do not fit the machine or nothing allowed can run.

>>> import fabricost as fc
>>> p = fc.predict(fc.load_system("dgx-h100"), fc.AllReduce(bytes=256 * fc.MiB, ranks=64))
>>> p.ranks, p.nodes, p.bottleneck.tier
(64, 8, 'nic')
>>> abs(sum(term.seconds for term in p.terms) / p.seconds - 1) < 1e-12
True
>>> round(p.bus_bytes_per_second * p.seconds / (256 * fc.MiB), 6)  # 2 (n-1)/n
1.96875
)");
  add("sweep", &sweep_sizes, R"(sweep(system, operation, sizes, *, algorithm=None, protocol=None, choice='nccl')
--

Seconds at each of many sizes in bytes, an array shaped like `sizes`; each predict(...).seconds at that size.

What runs between which sizes is worked out once, so a size costs tens of nanoseconds; other Python threads run meanwhile.
The operation's own bytes do not matter. The rest as in predict.

>>> import fabricost as fc, numpy as np
>>> seconds = fc.sweep(fc.load_system("dgx-h100"), fc.AllReduce(ranks=8), 2.0 ** np.arange(10, 34))
>>> seconds.shape, bool((np.diff(seconds) > 0).all())
((24,), True)
)",
      "sizes"_a);
  add("explain", &explain_one, R"(explain(system, operation, *, algorithm=None, protocol=None, choice='nccl')
--

The whole story of one prediction as text: the schedule, the arithmetic with numbers put in (s, byte, byte/s), where each
constant comes from, which tier binds, and what would change the answer. Arguments as in predict.

>>> import fabricost as fc
>>> "nvlink" in fc.explain(fc.load_system("dgx-h100"), fc.AllReduce(bytes=64 * fc.MiB))
True
)");
}

}  // namespace fabricost::python
