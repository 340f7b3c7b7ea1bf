/// \file prediction.cpp
/// The answer to one question: how long, what ran, the terms that sum to the time, what binds, how sure; and the whole story as text.

#include "asked.hpp"
#include "bindings.hpp"
#include "choices.hpp"
#include "operations.hpp"
#include "plain.hpp"

#include <fabricost/explain/assumed.hpp>
#include <fabricost/explain/explain.hpp>
#include <fabricost/pictures/picture.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <type_traits>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost {

// Found by fields.hpp. Types with constructors or a base have their fields named here; one that is added there stops the build here.
template <class F, class Visit>
static void each_field_of_fabric(F& fabric, Visit&& visit) {
  static_assert(sizeof(Fabric) == 312, "a field was added to Fabric or taken from it: here, too, then write its new size");
  auto& base = static_cast<std::conditional_t<std::is_const_v<F>, const Connectivity, Connectivity>&>(fabric);
  auto& [levels, in_switch, sharp, neighbours_only, wrap, torus_axes, torus] = base;
  [&visit](auto&... each) {
    (visit(each), ...);
  }(levels.sizes, levels.count, fabric.nodes, fabric.inner_rate, fabric.inner_latency, fabric.full_rate, fabric.inner_exchanges,
    fabric.outer_rate, fabric.outer_latency, fabric.nics, fabric.streams, fabric.exchanges, fabric.inner_tier, fabric.outer_tier,
    fabric.held_tier, fabric.streams_tier, fabric.exchanges_tier, fabric.usable_per_gpu, fabric.channels, fabric.host_link_rate,
    fabric.host_latency, fabric.pcie_rate, fabric.over_pcie, fabric.per_socket, fabric.peer_to_peer, in_switch, fabric.switched,
    neighbours_only, fabric.host_bridge, fabric.gpu_direct, sharp, wrap, torus_axes, torus, fabric.generation, fabric.library, fabric.tuner,
    fabric.cpu, fabric.ll128);
}
static void write_fields(python::FieldWriter& out, const Fabric& fabric) { each_field_of_fabric(fabric, out); }
static void read_fields(python::FieldReader& in, Fabric& fabric) { each_field_of_fabric(fabric, in); }

}  // namespace fabricost

namespace fabricost::python {
namespace {

void add_term(py::module_& module) {
  py::class_<Term> type(module, "Term", "One contribution to a predicted time.");
  type.def_property_readonly(
          "name", [](const Term& t) { return t.name.view(); },
          "launch, serial steps, protocol floor, latency growth, wire or local copies.")
      .def_property_readonly(
          "tier", [](const Term& t) { return t.tier.view(); }, "Name of the tier it is spent in; `gpu` for the launch.")
      .def_property_readonly(
          "seconds", [](const Term& t) { return t.time.value(); }, "Its share of the time, s.")
      .def("__repr__", [](const Term& t) { return fmt::format("{} ({}): {:.4g} us", t.name.view(), t.tier.view(), t.time.value() * 1e6); });
  add_value_semantics(type);
}

[[nodiscard]] std::string explain_one(const py::object& system, const AskedOperation& op, const py::object& algorithm,
                                      const py::object& protocol, const py::object& rule, const py::object& library,
                                      const py::object& version, const py::object& launch) {
  return explain(system_from(system), op.one(), engine_choice_of(choice_of(algorithm, protocol, rule), op.one(), library, version, launch));
}

/// Of a prediction that is there: nothing is predicted again.
[[nodiscard]] std::string explain_made(const py::object& system, const Prediction& prediction) {
  return explain(system_from(system), prediction);
}

}  // namespace

void add_prediction(py::module_& module) {
  add_term(module);
  py::class_<Prediction> type(module, "Prediction",
                              "How long, what ran, the terms that sum to the time, what binds and how sure. str() is a table.");
  type.def_readonly("seconds", &Prediction::seconds, "The time, s: the sum of terms[i].seconds.")
      .def_property_readonly(
          "operation", [](const Prediction& p) { return operation_object({.scalar = p.operation, .bytes = {}, .ranks = {}, .nodes = {}}); },
          "The question, an Operation.")
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
      .def_property_readonly(
          "extrapolated", [](const Prediction& p) { return names_of(p.extrapolated); },
          "Which of sizes, ranks, nodes lie outside what was measured.")
      .def_readonly("low_seconds", &Prediction::low, "Lower end of the interval, s.")
      .def_readonly("high_seconds", &Prediction::high, "Upper end of the interval, s.")
      .def_property_readonly(
          "interval_seconds", [](const Prediction& p) { return py::make_tuple(p.low, p.high); },
          "(low, high), s: nine in ten measurements fall between; low = seconds / w, high = seconds x w.")
      .def(
          "explain",
          [](const Prediction& p, const py::object& system) { return system.is_none() ? explain_alone(p) : explain_made(system, p); },
          "system"_a = py::none(),
          "explain(self, system=None)\n--\n\nThe story of this prediction as text: its own terms, arithmetic and what ran; nothing is "
          "predicted "
          "again.\nWith the system it was made for also why that ran, what naive arithmetic says, what would change it, and where the\n"
          "constants come from, as fc.explain.")
      .def("__str__", [](const Prediction& p) { return explain(p); })
      .def("__repr__", [](const Prediction& p) {
        return fmt::format("{}: {:.4g} us over {} on {}, {} {}, mostly {}", name(p.operation.collective), p.seconds * 1e6,
                           counted(p.ranks, "rank"), counted(p.nodes, "node"), p.algorithm.view(), p.protocol.view(),
                           p.bottleneck().tier.view());
      });
  add_value_semantics(type);
  module.def("explain", &explain_one, "system"_a, "operation"_a, py::kw_only(), "algorithm"_a = py::none(), "protocol"_a = py::none(),
             "choice"_a = "nccl", "library"_a = py::none(), "version"_a = py::none(), "launch"_a = py::none(),
             R"(explain(system, operation, *, algorithm=None, protocol=None, choice='nccl', library=None, version=None, launch=None)
--

The whole story of one prediction as text: the schedule, the arithmetic with numbers put in (s, byte, byte/s), where each
constant comes from, which tier binds, and what would change the answer.

system: a System, or its name or path. operation: an Operation without arrays, a Prediction made for this system (told as it is, nothing
is predicted again), or MoeDispatch, MoeCombine, MoePrepare or their MoePrediction.
algorithm, protocol, choice as in predict; library, version, launch as in predict_inference. Raises RequestError as those.

>>> import fabricost as fc
>>> system = fc.load_system("dgx-h100")
>>> "nvlink" in fc.explain(system, fc.AllReduce(bytes=64 * fc.MiB))
True
>>> p = fc.predict_inference(system, fc.AllReduce(bytes=64 * fc.KiB), library="vllm")
>>> fc.explain(system, p) == fc.explain(system, fc.AllReduce(bytes=64 * fc.KiB), library="vllm")
True
)");
  module.def("explain", &explain_made, "system"_a, "operation"_a, "");
}

}  // namespace fabricost::python
